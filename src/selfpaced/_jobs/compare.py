"""Self-paced Ensemble, other ensembles and single models, compared on the same rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from selfpaced._jobs.opening import Source
from selfpaced._jobs.train import TrainRequest, check_enough, open_for, split_for
from selfpaced.bases import base_model, columns_of
from selfpaced.ensembles import (
    BalanceCascadeClassifier,
    EasyEnsembleClassifier,
    RUSBoostClassifier,
    SelfPacedEnsembleClassifier,
    UnderBaggingClassifier,
)
from selfpaced.exceptions import TableError
from selfpaced.metrics import aucprc


@dataclass(frozen=True)
class Compared:
    """A method: what it reaches on the test rows, and what it costs. One that failed says why.

    Attributes
    ----------
    seconds : for training and for scoring the test rows.
    n_rows : rows that its models were trained on, all together.
    """

    method: str
    aucprc: float | None
    seconds: float
    n_rows: int
    failure: str | None = None


@dataclass(frozen=True)
class Comparison:
    """All methods on one table, best first; `chance` is the share of rare rows."""

    methods: list[Compared]
    n_train: int
    n_test: int
    chance: float


@dataclass(frozen=True)
class Task:
    """Rows to train on and test rows, as frames or arrays; y says which rows are rare."""

    X: Any
    y: NDArray[np.bool_]
    X_test: Any
    y_test: NDArray[np.bool_]


@dataclass(frozen=True)
class Method:
    """A model, what it is called, and the positions of its training rows: None for all."""

    name: str
    model: Any
    rows: NDArray[np.intp] | None = None


def compare(request: TrainRequest, told: Callable[[Compared], None] = lambda one: None) -> Comparison:
    """Train and judge each method in turn, and call `told` with each result at once."""
    source = open_for(request)
    if not source.in_memory:
        raise TableError("The table is too large to be compared on in memory: give a part of it.")
    task = _task(request, source)
    methods = []
    for method in _methods(request, source, task):
        methods.append(_tried(method, task))
        told(methods[-1])
    best_first = sorted(methods, key=lambda one: -1 if one.aucprc is None else one.aucprc, reverse=True)
    return Comparison(best_first, len(task.y), len(task.y_test), float(task.y_test.mean()))


def _task(request: TrainRequest, source: Source) -> Task:
    labels = source.labels
    check_enough(labels, request.target)
    train, test = split_for(request, source)
    rare = labels.score_label(source.table.roles.positive)
    is_rare = [np.asarray(part.column(request.target)) == rare for part in (train, test)]
    return Task(train.features(), is_rare[0], test.features(), is_rare[1])


def _methods(request: TrainRequest, source: Source, task: Task) -> Iterator[Method]:
    base = base_model(request.base, columns_of(None, source.table.schema))
    settings: dict[str, Any] = {"n_estimators": request.members, "random_state": request.seed}
    threads: dict[str, Any] = {"n_jobs": request.n_jobs}
    self_paced = SelfPacedEnsembleClassifier(base, n_bins=request.bins, **settings, **threads)
    yield Method("Self-paced Ensemble", self_paced)
    yield Method("BalanceCascade", BalanceCascadeClassifier(base, **settings, **threads))
    yield Method("under-bagging", UnderBaggingClassifier(base, **settings, **threads))
    yield Method("EasyEnsemble", OnNumbers(EasyEnsembleClassifier(**settings, **threads)))
    yield Method("RUSBoost", OnNumbers(RUSBoostClassifier(_last_step(base), **settings)))
    yield from single_models(request.base, base, task, request.seed)


def single_models(name: str, base: Any, task: Task, seed: int) -> Iterator[Method]:
    """Ways to train one base model: on all rows, with class weights if it has them, and on a random under-sample."""
    alone = seeded(clone(base), seed)
    yield Method(f"{name}, all rows", alone)
    balanced = with_class_weights(clone(alone))
    if balanced is not None:
        yield Method(f"{name}, class weights", balanced)
    yield Method(f"{name}, random under-sample", clone(alone), _under_sample(task.y, seed))


class OnNumbers:
    """A model that gets words as the numbers of their categories: boosting cannot weigh the rows of a pipeline."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Any, y: Any) -> OnNumbers:
        self.model.fit(_as_numbers(X), y)
        return self

    def predict_proba(self, X: Any) -> Any:
        return self.model.predict_proba(_as_numbers(X))


def _as_numbers(frame: Any) -> Any:
    words = frame.select_dtypes("category").columns
    return frame.assign(**{name: frame[name].cat.codes.astype(float) for name in words})


def _last_step(base: Any) -> Any:
    return base[-1] if hasattr(base, "steps") else base


def seeded(model: Any, seed: int) -> Any:
    """The model with every random_state in it set."""
    names = [name for name in model.get_params() if name.rpartition("__")[2] == "random_state"]
    return model.set_params(**dict.fromkeys(names, seed))


def with_class_weights(model: Any) -> Any:
    """The model with balanced class weights, or None if it knows none."""
    names = [name for name in model.get_params() if name.rpartition("__")[2] == "class_weight"]
    return model.set_params(**dict.fromkeys(names, "balanced")) if names else None


def _under_sample(is_rare: NDArray[np.bool_], seed: int) -> NDArray[np.intp]:
    rare, common = np.flatnonzero(is_rare), np.flatnonzero(~is_rare)
    drawn = np.random.default_rng(seed).choice(common, size=min(rare.size, common.size), replace=False)
    return np.sort(np.concatenate([rare, drawn]))


def judged(method: Method, task: Task) -> Compared:
    """Train the method's model, and score the test rows."""
    X = task.X.iloc if hasattr(task.X, "iloc") else task.X
    rows = slice(None) if method.rows is None else method.rows
    begin = time.perf_counter()
    method.model.fit(X[rows], task.y[rows])
    scores = method.model.predict_proba(task.X_test)[:, 1]
    seconds = time.perf_counter() - begin
    n_rows = _rows_trained_on(method.model, len(task.y[rows]))
    return Compared(method.name, aucprc(task.y_test, scores), seconds, n_rows)


def _tried(method: Method, task: Task) -> Compared:
    begin = time.perf_counter()
    try:
        return judged(method, task)
    except (TypeError, ValueError) as error:
        return Compared(method.name, None, time.perf_counter() - begin, 0, " ".join(str(error).split()))


def _rows_trained_on(model: Any, n_rows: int) -> int:
    """Of an ensemble, the rows of all its members. RUSBoost keeps no rounds; its members have balanced rows."""
    model = model.model if isinstance(model, OnNumbers) else model
    if hasattr(model, "rounds_"):
        return sum(round.n_rows for round in model.rounds_)
    if isinstance(model, RUSBoostClassifier):
        return 2 * int(model.class_counts_.min()) * len(model.estimators_)
    return n_rows
