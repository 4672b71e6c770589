"""Our ensembles, other ensembles and single models, compared on the same rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import has_fit_parameter

from selfpaced._jobs.methods import CHOSEN, Method, OnNumbers, Task, methods_for
from selfpaced._jobs.opening import Source
from selfpaced._jobs.paired import Interval, Resampled, resampled
from selfpaced._jobs.request import TrainRequest, check_time_limit
from selfpaced._jobs.splitting import split_for
from selfpaced._jobs.train import check_enough, open_for
from selfpaced._jobs.warned import kept_warnings
from selfpaced.bases import columns_of
from selfpaced.exceptions import TableError
from selfpaced.metrics import aucprc


@dataclass(frozen=True)
class Compared:
    """A method, its figures on the test rows and its cost, or the reason why it failed.

    Attributes
    ----------
    seconds : float
        The time for training and for scoring the test rows.
    n_rows : int
        The number of rows that its models were trained on, added up.
    interval : Interval | None, default=None
        The interval of the AUCPRC, over draws of the test rows.
    warnings : tuple[str, ...]
        The warnings of its training.
    ahead, ahead_interval
        How much higher its AUCPRC is than that of `AutoSelfPaced`, over the same draws for both.
    """

    method: str
    aucprc: float | None
    seconds: float
    n_rows: int
    failure: str | None = None
    warnings: tuple[str, ...] = ()
    interval: Interval | None = None
    ahead: float | None = None
    ahead_interval: Interval | None = None


@dataclass(frozen=True)
class Comparison:
    """All methods on one table, best first; `chance` is the share of rare rows."""

    methods: list[Compared]
    n_train: int
    n_test: int
    chance: float


def compare(request: TrainRequest, on_result: Callable[[Compared], None] = lambda one: None) -> Comparison:
    """Train and judge each method in turn. `on_result` is called with each result as soon as it is known."""
    check_time_limit(request.time_limit)
    source = open_for(request)
    if not source.in_memory:
        raise TableError("The table is too large for a comparison in memory. Give a smaller part of it.")
    task = _task(request, source)
    methods, scores = [], {}
    for method in methods_for(request, columns_of(None, source.table.schema), task):
        found, given = _tried(method, task)
        methods.append(found)
        if given is not None:
            scores[method.name] = given
        on_result(found)
    sure = with_intervals(methods, scores, task.y_test)
    best_first = sorted(sure, key=lambda one: -1 if one.aucprc is None else one.aucprc, reverse=True)
    return Comparison(best_first, len(task.y), len(task.y_test), float(task.y_test.mean()))


def _task(request: TrainRequest, source: Source) -> Task:
    labels = source.labels
    check_enough(labels, request.target)
    split = split_for(request, source)
    train, test = split.train, split.test
    rare = labels.score_label(source.table.roles.positive)
    is_rare = [np.asarray(part.column(request.target)) == rare for part in (train, test)]
    groups = None if request.group is None else np.asarray(train.column(request.group).to_pylist(), dtype=object)
    return Task(train.features(), is_rare[0], test.features(), is_rare[1], groups)


def with_intervals(
    methods: list[Compared], scores: Mapping[str, NDArray[np.float64]], is_rare: NDArray[np.bool_]
) -> list[Compared]:
    """The methods with the intervals of their AUCPRC, and of its difference to that of `AutoSelfPaced`."""
    draws = resampled(is_rare, scores)
    ours = next((one for one in methods if one.method == CHOSEN), None)
    return [one if one.aucprc is None else _with_interval(one, ours, draws) for one in methods]


def _with_interval(one: Compared, ours: Compared | None, draws: Mapping[str, Resampled]) -> Compared:
    own = draws[one.method]
    sure = replace(one, interval=own.interval())
    if one.aucprc is None or ours is None or ours.aucprc is None or one is ours:
        return sure
    return replace(sure, ahead=one.aucprc - ours.aucprc, ahead_interval=own.difference_to(draws[CHOSEN]))


def judged(method: Method, task: Task) -> Compared:
    """Train the method's model, and score the test rows."""
    return _judged(method, task)[0]


def _judged(method: Method, task: Task) -> tuple[Compared, NDArray[np.float64]]:
    X = task.X.iloc if hasattr(task.X, "iloc") else task.X
    rows = slice(None) if method.rows is None else method.rows
    takes_groups = task.groups is not None and has_fit_parameter(method.model, "groups")
    along = {} if task.groups is None or not takes_groups else {"groups": task.groups[rows]}
    begin = time.perf_counter()
    method.model.fit(X[rows], task.y[rows], **along)
    scores = np.asarray(method.model.predict_proba(task.X_test)[:, 1], dtype=np.float64)
    seconds = time.perf_counter() - begin
    n_rows = _rows_trained_on(method.model, len(task.y[rows]))
    return Compared(method.name, aucprc(task.y_test, scores), seconds, n_rows), scores


def _tried(method: Method, task: Task) -> tuple[Compared, NDArray[np.float64] | None]:
    begin = time.perf_counter()
    try:
        with kept_warnings() as warned_of:
            found, scores = _judged(method, task)
        return replace(found, warnings=tuple(warned_of)), scores
    except Exception as error:  # other libraries raise errors of all kinds; the other methods are compared nevertheless
        reason = " ".join(str(error).split())
        return Compared(method.name, None, time.perf_counter() - begin, 0, reason), None


def _rows_trained_on(model: Any, n_rows: int) -> int:
    """The number of training rows of a model. For an ensemble, the rows of all its members are added up."""
    model = model.model if isinstance(model, OnNumbers) else model
    if hasattr(model, "rounds_"):
        return sum(round.n_rows for round in model.rounds_)
    return sum(model.n_training_rows_) if hasattr(model, "n_training_rows_") else n_rows
