"""The methods of a comparison: our ensembles, other ensembles for rare classes, and single models."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from selfpaced._jobs.making import N_BINS, N_MEMBERS, auto_model
from selfpaced._jobs.request import AUTO, TrainRequest
from selfpaced.bases import Columns, base_model, catboost, lightgbm, numbered_columns, with_codes
from selfpaced.ensembles import (
    BalanceCascadeClassifier,
    EasyEnsembleClassifier,
    RUSBoostClassifier,
    SelfPacedEnsembleClassifier,
    UnderBaggingClassifier,
)

# The method that all others are compared with.
CHOSEN = "AutoSelfPaced"
# The usual numbers. Three times as many are three times as slow and hardly better.
N_TREES = N_ROUNDS = 100
N_CATBOOST_ROUNDS = 300


@dataclass(frozen=True)
class Task:
    """Rows to train on and test rows, as frames or arrays; y says which rows are rare.

    `groups` are those of the rows to train on, for models whose `fit` takes groups.
    """

    X: Any
    y: NDArray[np.bool_]
    X_test: Any
    y_test: NDArray[np.bool_]
    groups: NDArray[Any] | None = None


@dataclass(frozen=True)
class Method:
    """A model, its name, and the positions of its training rows; None for all rows."""

    name: str
    model: Any
    rows: NDArray[np.intp] | None = None


def methods_for(request: TrainRequest, columns: Columns, task: Task) -> Iterator[Method]:
    """All methods, made one by one as they are tried."""
    name = _kind_of_members(request.base)
    base = base_model(name, columns)
    yield Method(CHOSEN, auto_model(request, calibration=None))  # a calibration does not change the ranking
    yield from _ensembles(request, base)
    if request.base != AUTO:
        yield from single_models(name, base, task, request.seed)
    for method in _alternatives(columns, request.seed):
        yield Method(method.name, seeded(with_threads(method.model, request.n_jobs), request.seed))


def _kind_of_members(base: str) -> str:
    if base != AUTO:
        return base
    return "lightgbm" if find_spec("lightgbm") is not None else "gbdt"


def _ensembles(request: TrainRequest, base: Any) -> Iterator[Method]:
    n_members = N_MEMBERS if request.members is None else request.members
    settings: dict[str, Any] = {"n_estimators": n_members, "random_state": request.seed}
    threads: dict[str, Any] = {"n_jobs": request.n_jobs}
    n_bins = N_BINS if request.bins is None else request.bins
    yield Method("Self-paced Ensemble", SelfPacedEnsembleClassifier(base, n_bins=n_bins, **settings, **threads))
    yield Method("BalanceCascade", BalanceCascadeClassifier(base, **settings, **threads))
    yield Method("under-bagging", UnderBaggingClassifier(base, **settings, **threads))
    yield Method("EasyEnsemble", OnNumbers(EasyEnsembleClassifier(**settings, **threads)))
    yield Method("RUSBoost", OnNumbers(RUSBoostClassifier(_last_step(base), **settings)))


def single_models(name: str, base: Any, task: Task, seed: int) -> Iterator[Method]:
    """Ways to train one base model: on all rows, with class weights if it has them, and on a random under-sample."""
    alone = seeded(clone(base), seed)
    yield Method(f"{name}, all rows", alone)
    balanced = with_class_weights(clone(alone))
    if balanced is not None:
        yield Method(f"{name}, class weights", balanced)
    yield Method(f"{name}, random under-sample", clone(alone), _under_sample(task.y, seed))


def _alternatives(columns: Columns, seed: int) -> Iterator[Method]:
    """Models that are often trained on all rows of such tables, as far as their packages are installed."""
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

    if find_spec("lightgbm") is not None:
        plain = lightgbm(columns, n_estimators=N_ROUNDS)
        yield Method(f"LightGBM, {N_ROUNDS} rounds", plain)
        yield Method("LightGBM, class weights", with_class_weights(clone(plain)))
    for name, forest in (("extra trees", ExtraTreesClassifier), ("random forest", RandomForestClassifier)):
        yield Method(f"{name}, {N_TREES} trees", with_codes(forest(N_TREES), columns.categorical))
    if find_spec("xgboost") is not None:
        yield Method(f"XGBoost, {N_ROUNDS} rounds", _xgboost())
    if find_spec("catboost") is not None:
        yield Method(f"CatBoost, {N_CATBOOST_ROUNDS} rounds", _catboost(columns, seed))


def _catboost(columns: Columns, seed: int) -> Any:
    return catboost(columns, iterations=N_CATBOOST_ROUNDS, random_seed=seed)


def _xgboost() -> Any:
    """XGBoost on numbers. It refuses some characters in the names of columns, so these are numbers too."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer
    from xgboost import XGBClassifier

    return OnNumbers(make_pipeline(FunctionTransformer(numbered_columns), XGBClassifier(n_estimators=N_ROUNDS)))


class OnNumbers:
    """A model that reads categories by their codes. A pipeline cannot be used: boosting could not weight its rows."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Any, y: Any) -> OnNumbers:
        self.model.fit(_as_numbers(X), y)
        return self

    def predict_proba(self, X: Any) -> Any:
        return self.model.predict_proba(_as_numbers(X))


def _as_numbers(frame: Any) -> Any:
    categorical = frame.select_dtypes("category").columns
    return frame.assign(**{name: frame[name].cat.codes.astype(float) for name in categorical})


def _last_step(base: Any) -> Any:
    return base[-1] if hasattr(base, "steps") else base


def seeded(model: Any, seed: int) -> Any:
    """The model with every random_state in it set."""
    inner = model.model if isinstance(model, OnNumbers) else model
    inner.set_params(**dict.fromkeys(_parameters(inner, "random_state"), seed))
    return model


def with_threads(model: Any, n_jobs: int) -> Any:
    """The model with a number of threads, if it has such a parameter. Encoders before it need no threads."""
    last = _last_step(model.model if isinstance(model, OnNumbers) else model)
    if "n_jobs" in last.get_params():
        last.set_params(n_jobs=n_jobs)
    return model


def with_class_weights(model: Any) -> Any:
    """The model with balanced class weights; None if it does not support them."""
    names = _parameters(model, "class_weight")
    return model.set_params(**dict.fromkeys(names, "balanced")) if names else None


def _parameters(model: Any, parameter: str) -> list[str]:
    """The parameters of a name in a model and in its parts."""
    return [name for name in model.get_params() if name.rpartition("__")[2] == parameter]


def _under_sample(is_rare: NDArray[np.bool_], seed: int) -> NDArray[np.intp]:
    rare, common = np.flatnonzero(is_rare), np.flatnonzero(~is_rare)
    drawn = np.random.default_rng(seed).choice(common, size=min(rare.size, common.size), replace=False)
    return np.sort(np.concatenate([rare, drawn]))
