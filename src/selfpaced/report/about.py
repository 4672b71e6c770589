"""What a model is: its kind, its parameters, the rows it was trained on, the versions at work."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from selfpaced.report.columns import shortened
from selfpaced.report.facts import ModelFacts

LONGEST_PARAMETER = 120


def ensemble_of(model: Any) -> Any:
    """The last step of a pipeline; any other model itself."""
    return model.steps[-1][1] if hasattr(model, "steps") else model


def model_facts(model: Any, y_train: Any) -> ModelFacts:
    ensemble = ensemble_of(model)
    parameters = ensemble.get_params(deep=False) if hasattr(ensemble, "get_params") else {}
    members = getattr(ensemble, "estimators_", None)
    rounds = getattr(ensemble, "rounds_", [])
    seconds = sum(note.seconds_scoring + note.seconds_drawing + note.seconds_fitting for note in rounds)
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
        training_rows=training_rows(ensemble, y_train),
        training_seconds=seconds or None,
    )


def training_rows(ensemble: Any, y_train: Any) -> dict[str, int]:
    """Rows of each class that were trained on: counted, or from the notes of the first round."""
    if y_train is not None:
        labels, counts = np.unique(np.asarray(y_train), return_counts=True)
        return {str(label): int(count) for label, count in zip(labels.tolist(), counts, strict=True)}
    rounds = getattr(ensemble, "rounds_", [])
    if not rounds:
        return {}
    rows = {str(label): int(bins.counts.sum()) for label, bins in rounds[0].bins.items()}
    drawn = sum(int(bins.quota.sum()) for bins in rounds[0].bins.values())
    return {str(ensemble.minority_class_): rounds[0].n_rows - drawn, **rows}


def versions_of(model: Any) -> dict[str, str]:
    """Of Python and the packages that made the scores."""
    base = getattr(ensemble_of(model), "estimator", None)
    names = dict.fromkeys(["selfpaced", "scikit-learn", "numpy", type(base).__module__.partition(".")[0]])
    found = {name: _version(name) for name in names}
    return {"Python": platform.python_version(), **{name: number for name, number in found.items() if number}}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:  # known by another name, as sklearn is
        return None


def _steps(model: Any) -> list[Any]:
    return [step for _, step in model.steps] if hasattr(model, "steps") else [model]
