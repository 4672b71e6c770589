"""Checks whether the parts of a loaded model fit together.

An allow-list checks types, not contents. scikit-learn follows the numbers of a tree's nodes and features without
checking that they exist. Wrong numbers, by damage or by intent, would make it read other parts of the memory.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from selfpaced.exceptions import ModelFileError


def check_contents(model: Any) -> None:
    """Refuse a model with a tree whose nodes or features do not exist."""
    from selfpaced import trees  # imported with the first file

    checks: dict[str, Callable[[Any], None]] = {
        "BaseDecisionTree": trees.check_decision_tree,
        "HistGradientBoostingClassifier": trees.check_hist_gradient_boosting,
        "AveragingEnsemble": _check_ensemble,
        "BaseForest": _check_members,
        "BaseWeightBoosting": _check_members,
        "BaseGradientBoosting": _check_members,
    }
    for part in _estimators_in(model, set()):
        for check in filter(None, (checks.get(kind.__name__) for kind in type(part).__mro__)):
            try:
                check(part)
            except ValueError as error:
                raise ModelFileError(str(error)) from error


def _estimators_in(thing: Any, seen: set[int]) -> Iterator[Any]:
    """All estimators in an object, including itself."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, BaseEstimator):
        yield thing
    for part in _parts(thing):
        yield from _estimators_in(part, seen)


def _parts(thing: Any) -> Iterable[Any]:
    if isinstance(thing, dict):
        return thing.values()
    if isinstance(thing, list | tuple | set):
        return thing
    if isinstance(thing, np.ndarray):
        return thing.ravel() if thing.dtype == object else ()
    # Estimators, and objects of scikit-learn between them, such as calibrated classifiers.
    return vars(thing).values() if hasattr(thing, "__dict__") and not isinstance(thing, type) else ()


def _check_members(model: Any) -> None:
    """Refuse members with another number of features than the ensemble."""
    for member in _parts(getattr(model, "estimators_", [])):
        # A loaded CatBoost model has 0 features, and checks their number itself.
        n_features = getattr(member, "n_features_in_", 0)
        if n_features and n_features != model.n_features_in_:
            raise ValueError(
                f"a member has {member.n_features_in_} features, but the ensemble has {model.n_features_in_}."
            )


def _check_ensemble(model: Any) -> None:
    """Refuse a record of the training rows with other classes than those that the members predict."""
    if not hasattr(model, "estimators_"):  # a base model that is not fitted
        return
    _check_members(model)
    record, labels = model.trained_on_, model.classes_.tolist()
    if list(record.classes) != labels or len(record.class_counts) != len(labels) or len(labels) < 2:
        raise ValueError(f"its classes are {labels}, but its record of the training rows has others.")
    if record.pos_label is not None and record.pos_label not in labels and True not in labels:
        raise ValueError(f"its scores are about the label {record.pos_label!r}, which it does not know.")
