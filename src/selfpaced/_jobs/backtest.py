"""Backtests on the rows of a file: models are trained and tested in the order of time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from selfpaced._jobs.deciding import numbers_in
from selfpaced._jobs.making import model_for
from selfpaced._jobs.opening import Source
from selfpaced._jobs.request import TrainRequest, check_options
from selfpaced._jobs.train import calibration_for, open_for
from selfpaced._jobs.warned import kept_warnings
from selfpaced.backtesting import Budget, Fold, FoldResult, JudgedRows, Reached, Rolling, reached, result_of
from selfpaced.bases import columns_of
from selfpaced.ensembles.checks import FEWEST_MINORITY_ROWS
from selfpaced.ensembles.table_scoring import scores_of
from selfpaced.ensembles.trained_on import named_among
from selfpaced.exceptions import TableError
from selfpaced.tables.groups import column_groups
from selfpaced.tables.moments import Moments, moments_in, zone_of
from selfpaced.thresholds import parse_decision


@dataclass(frozen=True)
class BacktestRequest:
    """The options of a backtest.

    Attributes
    ----------
    training : TrainRequest
        The rows, and how models are trained on them; its `time_column` is needed.
    bases : Sequence[str]
        The kinds of members to compare.
    rolling : Rolling
        Where the folds begin and end.
    top, per, timezone
        The budget of alerts: `top` alerts in each period, by default a day. None for no budget.
    decide : str | None, default=None
        A rule by costs.
    """

    training: TrainRequest
    bases: Sequence[str]
    rolling: Rolling
    top: int | None = None
    per: str | None = None
    timezone: str | None = None
    decide: str | None = None


@dataclass(frozen=True)
class Course:
    """The figures of one kind of model over all folds.

    Attributes
    ----------
    n_folds : int
        The number of folds with figures.
    aucprc : float | None
        The mean AUCPRC over folds with rare rows.
    expected, n_rare
        The sum of the probabilities and the number of rare rows, in the same folds.
    """

    model: str
    n_folds: int
    aucprc: float | None
    expected: float | None
    n_rare: int
    alerts: int | None
    precision: float | None
    card_precision: float | None
    cost: float | None
    cost_without: float | None


@dataclass(frozen=True)
class Backtested:
    """All folds of all models, in the order of time, and the course of each model."""

    request: BacktestRequest
    folds: list[FoldResult]
    courses: list[Course]
    warnings: list[str] = field(default_factory=list)


def backtest_file(request: BacktestRequest, on_result: Callable[[FoldResult], None] = lambda one: None) -> Backtested:
    """Train and test, fold by fold. `on_result` is called with each result as soon as it is known."""
    asked = request.training
    if asked.time_column is None:
        raise TableError("A backtest needs the times of the rows. Name their column: --time-column COL.")
    if request.top is None and (request.per is not None or request.timezone is not None):
        raise TableError("--per and --timezone need a number of alerts, for instance --top 100 --per day.")
    for base in request.bases:
        check_options(_with_base(asked, base))
    decision = None if request.decide is None else parse_decision(request.decide)
    source = open_for(asked, also=() if decision is None else decision.columns)
    column = source.table.column(asked.time_column)
    moments = moments_in(column, asked.time_column)
    whole = _whole(request, source, moments, zone_of(column))
    folds, results, warned = request.rolling.folds(moments), [], []
    for number, fold in enumerate(folds, start=1):
        for base in request.bases:
            with kept_warnings() as warned_of:
                results.append(_fold(_with_base(asked, base), source, whole, (number, fold)))
            warned += warned_of
            on_result(results[-1])
    courses = [course_of(base, [one for one in results if one.model == base]) for base in request.bases]
    return Backtested(request, results, courses, list(dict.fromkeys(warned)))


def _with_base(asked: TrainRequest, base: str) -> TrainRequest:
    return replace(asked, base=base)


def _whole(request: BacktestRequest, source: Source, moments: Moments, zone: str | None) -> JudgedRows:
    """All rows as test rows."""
    table, labels, group = source.table, source.labels, request.training.group
    rare = named_among(labels.names, labels.score_label(table.roles.positive))
    budget = None if request.top is None else Budget(request.top, request.per or "day", request.timezone or zone)
    if budget is not None:
        if budget.top < 1:
            raise TableError(f"--top must be at least 1; got {budget.top}.")
        budget.periods(moments[:1])  # refuses times without days before an hour of work
    decision = None if request.decide is None else parse_decision(request.decide)
    return JudgedRows(
        np.asarray(labels.codes == labels.names.index(rare)),
        moments,
        None if group is None else column_groups(table.column(group), f"The group column {group!r}"),
        budget,
        decision,
        None if decision is None else numbers_in(table, decision),
    )


def _fold(asked: TrainRequest, source: Source, whole: JudgedRows, numbered: tuple[int, Fold]) -> FoldResult:
    fold, start = numbered[1], time.perf_counter()
    tested = _some(whole, fold.test)
    rare_rows = whole.is_rare[fold.train], tested.is_rare

    def result(found: Reached, note: str | None = None) -> FoldResult:
        made = result_of(asked.base, numbered, rare_rows, found, time.perf_counter() - start)
        return made if note is None else replace(made, note=note)

    if rare_rows[0].sum() < FEWEST_MINORITY_ROWS or rare_rows[0].all():
        return result(Reached(None, None), f"{rare_rows[0].sum()} rare rows to train on")
    train = source.table.part(_chosen(fold.train, whole.is_rare.size))
    model = model_for(asked, columns_of(None, source.table.schema), calibration_for(asked, train))
    try:
        model.fit_table(train)
    except ValueError as error:  # the result has the reason, and the other folds continue
        return result(Reached(None, None), " ".join(str(error).split()))
    scores = scores_of(model, source.table.part(_chosen(fold.test, whole.is_rare.size)))
    return result(reached(tested, scores, model.calibrator_ is not None))


def _some(whole: JudgedRows, rows: NDArray[np.intp]) -> JudgedRows:
    return JudgedRows(
        whole.is_rare[rows],
        whole.moments[rows],
        None if whole.groups is None else whole.groups[rows],
        whole.budget,
        whole.decision,
        None if whole.costs is None else {name: values[rows] for name, values in whole.costs.items()},
    )


def _chosen(rows: NDArray[np.intp], n_rows: int) -> NDArray[np.bool_]:
    chosen = np.zeros(n_rows, dtype=bool)
    chosen[rows] = True
    return chosen


def course_of(model: str, folds: Sequence[FoldResult]) -> Course:
    """The figures of a model over its folds."""
    done = [one for one in folds if one.reached.expected is not None or one.reached.aucprc is not None]
    expected = [one for one in done if one.reached.expected is not None]
    alerts = sum(one.reached.alerts or 0 for one in done)
    found = sum((one.reached.alerts or 0) * (one.reached.precision or 0) for one in done)
    return Course(
        model,
        len(done),
        _mean([one.reached.aucprc for one in done]),
        sum(one.reached.expected or 0 for one in expected) if expected else None,
        sum(one.n_rare for one in expected or done),
        alerts or None,
        found / alerts if alerts else None,
        _mean([one.reached.card_precision for one in done]),
        _sum([one.reached.cost for one in done]),
        _sum([one.reached.cost_without for one in done]),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
