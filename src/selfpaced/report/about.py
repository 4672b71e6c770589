"""What a report says of a model. The only module of the report that reads models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.callbacks import Round
from selfpaced.ensembles import AveragingEnsemble, bases_of
from selfpaced.explaining import is_blend
from selfpaced.metrics import aucprc
from selfpaced.model import TrainedOn
from selfpaced.report.answer import ModelFacts, RecipeFacts
from selfpaced.report.html import shortened
from selfpaced.storage import versions_of as installed

LONGEST_PARAMETER = 120


def ensemble_of(model: Any) -> Any:
    """The last step of a pipeline; any other model itself."""
    return _steps(model)[-1]


def _steps(model: Any) -> list[Any]:
    return [step for _, step in model.steps] if hasattr(model, "steps") else [model]


def trained_on(model: Any) -> TrainedOn | None:
    """What an ensemble of ours was trained on."""
    ensemble = ensemble_of(model)
    return ensemble.trained_on_ if isinstance(ensemble, AveragingEnsemble) else None


def score_label(model: Any, labels: NDArray[Any]) -> Any:
    """The label whose probability is the score: the model's own, or else the rarest of its classes in `labels`."""
    known = trained_on(model)
    if known is not None:
        return known.score_label
    classes: list[Any] = model.classes_.tolist()
    return min(classes, key=lambda label: int((labels == label).sum()))


def score_column(model: Any, label: Any) -> int:
    """The column of a label in `predict_proba`."""
    known = trained_on(model)
    if known is not None and label == known.score_label:
        return known.score_column
    column: int = model.classes_.tolist().index(label)
    return column


def target_of(model: Any) -> Any:
    """The name of the column of labels."""
    known = trained_on(model)
    return None if known is None else known.target


def rounds_of(model: Any) -> list[Round]:
    """The rounds of the fit. For ensembles that boost or over-sample, only the number of rows of each is known.

    A blend has the rounds of several ensembles, which are not one series.
    """
    ensemble = ensemble_of(model)
    if is_blended(model):
        return []
    rounds: list[Round] = getattr(ensemble, "rounds_", [])
    n_rows = getattr(ensemble, "n_training_rows_", [])
    return rounds or [Round(number, None, {}, n, 0.0, 0.0, 0.0, None) for number, n in enumerate(n_rows, 1)]


def is_blended(model: Any) -> bool:
    """Whether the model, or the last step of a pipeline, is a blend of several ensembles."""
    return is_blend(ensemble_of(model))


def recipes_of(model: Any) -> tuple[RecipeFacts, ...]:
    """The recipes that a model was chosen from, those with the largest weight first."""
    found = [
        RecipeFacts(
            one.name, one.aucprc, one.standard_error, one.weight, one.seconds_judging + one.seconds_fitting, one.note
        )
        for one in getattr(ensemble_of(model), "recipes_", ())
    ]
    return tuple(sorted(found, key=lambda one: (-one.weight, -(one.aucprc or 0.0))))


def eval_scores_of(model: Any) -> list[float]:
    """The AUCPRC on the eval_set after each member. Empty with more than two classes, where it is a mean of classes."""
    scores = [note.score for note in rounds_of(model) if note.number > 0]
    known = [score for score in scores if score is not None]
    return known if len(known) == len(scores) and len(getattr(ensemble_of(model), "classes_", ())) == 2 else []


def _training_rows(model: Any) -> dict[str, int]:
    """Rows of each class that the ensemble was trained on, the rarest class first."""
    known = trained_on(model)
    counts = {} if known is None else known.counts
    return {str(label): counts[label] for label in sorted(counts, key=lambda label: counts[label])}


def importances_of(model: Any) -> NDArray[np.float64] | None:
    """The importance of each feature, the mean over the members."""
    try:
        return np.asarray(model.feature_importances_, dtype=np.float64)
    except AttributeError:  # the members have no importances
        return None


def stages_of(model: Any, X: Any) -> Iterator[NDArray[np.float64]] | None:
    """The probabilities after each member. A blend has them after each ensemble only."""
    ensemble = ensemble_of(model)
    if not hasattr(ensemble, "staged_predict_proba") or is_blended(model):
        return None
    stages: Iterator[NDArray[np.float64]] = ensemble.staged_predict_proba(
        X if ensemble is model else model[:-1].transform(X)
    )
    return stages


def model_facts(model: Any, y_train: Any) -> ModelFacts:
    """The model and its training rows, counted in `y_train` or taken from the model."""
    ensemble = ensemble_of(model)
    parameters = ensemble.get_params(deep=False) if hasattr(ensemble, "get_params") else {}
    members = getattr(ensemble, "estimators_", None)
    seconds = sum(note.seconds for note in rounds_of(model))
    seconds += sum(recipe.seconds for recipe in recipes_of(model))
    return ModelFacts(
        kind=" → ".join(type(step).__name__ for step in _steps(model)),
        base=type(members[0]).__name__ if "estimator" in parameters and members else "",
        n_members=None if members is None else len(members),
        n_features=getattr(model, "n_features_in_", None),
        parameters={
            name: shortened(" ".join(repr(value).split()), LONGEST_PARAMETER)
            for name, value in parameters.items()
            if name not in ("callbacks", "n_jobs")
        },
        training_rows=_training_rows(model) if y_train is None else _counts(y_train),
        training_seconds=seconds or None,
        calibration=getattr(ensemble, "calibration_", None),
    )


def _counts(labels: Any) -> dict[str, int]:
    counted = np.unique(np.asarray(labels), return_counts=True)
    return {str(label): int(count) for label, count in zip(*counted, strict=True)}


def versions_of(model: Any) -> dict[str, str]:
    """The versions of Python and of the packages that made the scores."""
    ensemble = ensemble_of(model)
    bases = bases_of(ensemble) if is_blended(model) else [getattr(ensemble, "estimator", None)]
    packages = {type(part).__module__.partition(".")[0] for base in bases for part in _steps(base)}
    return installed({"selfpaced", "sklearn", "numpy"} | packages)


def scores_by_stage(
    model: Any, X: Any, is_case: NDArray[np.bool_], column: int
) -> tuple[list[float] | None, NDArray[np.float64]]:
    """The scores, with the AUCPRC after each member unless the fit measured it on an eval_set."""
    stages = None if eval_scores_of(model) else stages_of(model, X)
    if stages is None:
        return None, model.predict_proba(X)[:, column]
    stage_scores = []
    for probabilities in stages:
        scores = probabilities[:, column].copy()
        stage_scores.append(aucprc(is_case, scores))
    return stage_scores, scores
