"""What a report says of a model. The only module of the report that reads models."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.callbacks import Round
from selfpaced.ensembles import AveragingEnsemble, bases_of
from selfpaced.exceptions import NewCategoryWarning
from selfpaced.explaining import is_blend
from selfpaced.metrics import aucprc
from selfpaced.model import TrainedOn
from selfpaced.reasons import Reason
from selfpaced.report.html import shortened
from selfpaced.storage import versions_of as installed

LONGEST_PARAMETER = 120


@dataclass(frozen=True)
class ModelFacts:
    """The model and its training. `training_rows` are the counts of the classes, as far as they are known."""

    kind: str
    base: str
    n_members: int | None
    n_features: int | None
    parameters: dict[str, str]
    training_rows: dict[str, int]
    training_seconds: float | None
    calibration: str | None = None


@dataclass(frozen=True)
class RecipeFacts:
    """A recipe that the model was chosen from, and its result."""

    name: str
    aucprc: float | None  # on training rows that it had not seen; None if the recipe was not judged
    standard_error: float | None
    weight: float  # in the model; 0 if the recipe is not a part of it
    seconds: float  # of judging the recipe and of training it on the whole table
    note: str | None  # why the recipe is not a part of the model, or was not judged


def _steps(model: Any) -> list[Any]:
    return [step for _, step in model.steps] if hasattr(model, "steps") else [model]


def ensemble_of(model: Any) -> Any:
    """The last step of a pipeline; any other model itself."""
    return _steps(model)[-1]


def is_blended(model: Any) -> bool:
    """Whether the model, or the last step of a pipeline, is a blend of several ensembles."""
    return is_blend(ensemble_of(model))


def trained_on(model: Any) -> TrainedOn | None:
    ensemble = ensemble_of(model)
    return ensemble.trained_on_ if isinstance(ensemble, AveragingEnsemble) else None


def score_label(model: Any, labels: NDArray[Any]) -> Any:
    """The label whose probability is the score: the model's own, or else the rarest of its classes in `labels`."""
    known = trained_on(model)
    if known is not None:
        return known.score_label
    return min(model.classes_.tolist(), key=lambda label: int((labels == label).sum()))


def score_column(model: Any, label: Any) -> int:
    known = trained_on(model)
    if known is not None and label == known.score_label:
        return known.score_column
    column: int = model.classes_.tolist().index(label)
    return column


def rounds_of(model: Any) -> list[Round]:
    """The rounds of the fit. For ensembles that boost or over-sample, only the number of rows of each is known.

    A blend has the rounds of several ensembles, which are not one series.
    """
    if is_blended(model):
        return []
    ensemble = ensemble_of(model)
    rounds: list[Round] = getattr(ensemble, "rounds_", [])
    n_rows = getattr(ensemble, "n_training_rows_", [])
    return rounds or [Round(number, None, {}, n, 0.0, 0.0, 0.0, None) for number, n in enumerate(n_rows, 1)]


def gives_reasons(model: Any) -> bool:
    """Whether a model is an ensemble that knows what common rows are like."""
    return isinstance(model, AveragingEnsemble) and model.model_.usual is not None


def reasons_of(model: Any, rows: Any, top: int) -> Sequence[Sequence[Reason]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NewCategoryWarning)  # the scores of these rows have warned of them
        found: Sequence[Sequence[Reason]] = model.reasons(rows, top)
    return found


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


def has_stages(model: Any) -> bool:
    """Whether the AUCPRC after each member is to be measured: the fit has not done so on an eval_set.

    A blend has stages after each ensemble only, which are not shown.
    """
    return not eval_scores_of(model) and not is_blended(model) and hasattr(ensemble_of(model), "staged_predict_proba")


def scores_by_stage(
    model: Any, X: Any, is_case: NDArray[np.bool_], column: int
) -> tuple[list[float] | None, NDArray[np.float64]]:
    """The AUCPRC after each member, if the model has stages, and the scores."""
    if not has_stages(model):
        return None, model.predict_proba(X)[:, column]
    ensemble, stage_scores = ensemble_of(model), []
    for probabilities in ensemble.staged_predict_proba(X if ensemble is model else model[:-1].transform(X)):
        scores = probabilities[:, column].copy()
        stage_scores.append(aucprc(is_case, scores))
    return stage_scores, scores


def model_facts(model: Any, y_train: Any) -> ModelFacts:
    """The model and its training rows, counted in `y_train` or taken from the model, the rarest class first."""
    ensemble, known = ensemble_of(model), trained_on(model)
    parameters = ensemble.get_params(deep=False) if hasattr(ensemble, "get_params") else {}
    members = getattr(ensemble, "estimators_", None)
    seconds = sum(note.seconds for note in rounds_of(model)) + sum(recipe.seconds for recipe in recipes_of(model))
    if y_train is not None:
        counts = dict(zip(*(part.tolist() for part in np.unique(np.asarray(y_train), return_counts=True)), strict=True))
    else:
        # The training rows of a model that was trained elsewhere are not known.
        is_known = known is not None and getattr(ensemble, "n_training_rows_", None) != []
        counts = (
            {} if known is None or not is_known else dict(sorted(known.counts.items(), key=lambda counted: counted[1]))
        )
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
        training_rows={str(label): int(count) for label, count in counts.items()},
        training_seconds=seconds or None,
        calibration=getattr(ensemble, "calibration_", None),
    )


def versions_of(model: Any) -> dict[str, str]:
    """The versions of Python and of the packages that made the scores."""
    ensemble = ensemble_of(model)
    bases = bases_of(ensemble) if is_blended(model) else [getattr(ensemble, "estimator", None)]
    packages = {type(part).__module__.partition(".")[0] for base in bases for part in _steps(base)}
    return installed({"selfpaced", "sklearn", "numpy"} | packages)
