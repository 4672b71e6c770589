"""Models around an ensemble in a model file: pipelines, thresholds, decisions, calibrations of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from selfpaced.ensembles.averaging import AveragingEnsemble

# How to get the fitted model inside, by the name of a class. The allow-list decides which classes are loaded.
INSIDE: dict[str, Callable[[Any], Any]] = {
    "Pipeline": lambda model: model.steps[-1][1],
    "BaseSearchCV": lambda model: model.best_estimator_,
    "FixedThresholdClassifier": lambda model: model.estimator_,
    "TunedThresholdClassifierCV": lambda model: model.estimator_,
    "CostDecisionClassifier": lambda model: model.estimator_,
    "CalibratedClassifierCV": lambda model: model.calibrated_classifiers_[0].estimator,
    "FrozenEstimator": lambda model: model.estimator,
}


def ensemble_in(model: Any) -> AveragingEnsemble | None:
    """The fitted ensemble: the model itself, or the one inside it; None if there is none."""
    if isinstance(model, AveragingEnsemble):
        return model
    inside = next((INSIDE[kind.__name__] for kind in type(model).__mro__ if kind.__name__ in INSIDE), None)
    if inside is None:
        return None
    try:
        return ensemble_in(inside(model))
    except (AttributeError, IndexError, TypeError):  # it has not been fitted
        return None


def deployed(model: Any) -> Any:
    """The part of a model that is saved: the best estimator of a search, or else the model itself."""
    kinds = [kind.__name__ for kind in type(model).__mro__]
    return model.best_estimator_ if "BaseSearchCV" in kinds and hasattr(model, "best_estimator_") else model


def kind_of(model: Any) -> str:
    """The kind of a model in its card: its class, and the class of the ensemble in it.

    >>> from selfpaced import SelfPacedEnsembleClassifier
    >>> kind_of(SelfPacedEnsembleClassifier())
    'SelfPacedEnsembleClassifier'
    """
    ensemble = ensemble_in(model)
    own = type(model).__name__
    return own if ensemble is None or ensemble is model else f"{own} around {type(ensemble).__name__}"
