"""`selfpaced backtest`"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from selfpaced.backtesting import Budget, Fold, FoldResult, JudgedRows, Rolling, SkipFoldError, run_backtest
from selfpaced.cli.commands.train import calibration_for, model_for, open_for
from selfpaced.cli.data.cautions import kept_warnings
from selfpaced.cli.data.deciding import numbers_in
from selfpaced.cli.data.opening import OpenedSource, check_output, data_in
from selfpaced.cli.data.request import TrainRequest, check_options
from selfpaced.cli.output import Talk, table
from selfpaced.ensembles import FEWEST_MINORITY_ROWS
from selfpaced.ensembles.auto import columns_of
from selfpaced.exceptions import TableError
from selfpaced.model import named_among
from selfpaced.predicting import scores_of
from selfpaced.report import moment_text
from selfpaced.tables import Moments, column_groups, moments_in, zone_of
from selfpaced.thresholds import cost_text, parse_decision


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
class FileCourse:
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
    group_precision: float | None
    cost: float | None
    cost_without: float | None


@dataclass(frozen=True)
class Backtested:
    """All folds of all models, in the order of time, and the course of each model."""

    request: BacktestRequest
    folds: list[FoldResult]
    courses: list[FileCourse]
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
    results, warned = [], []

    def trial(base: str, fold: Fold) -> tuple[NDArray[np.float64], bool]:
        with kept_warnings() as warned_of:
            found = _scored(_with_base(asked, base), source, whole, fold)
        warned.extend(warned_of)
        return found

    trials = {base: partial(trial, base) for base in request.bases}
    for result in run_backtest(whole, request.rolling.folds(moments), trials):
        results.append(result)
        on_result(result)
    courses = [course_of(base, [one for one in results if one.model == base]) for base in request.bases]
    return Backtested(request, results, courses, list(dict.fromkeys(warned)))


def _with_base(asked: TrainRequest, base: str) -> TrainRequest:
    return replace(asked, base=base)


def _whole(request: BacktestRequest, source: OpenedSource, moments: Moments, zone: str | None) -> JudgedRows:
    """All rows as test rows."""
    table, labels, group = source.table, source.labels, request.training.group
    rare = named_among(labels.names, labels.score_label(table.roles.pos_label))
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


def _scored(
    asked: TrainRequest, source: OpenedSource, whole: JudgedRows, fold: Fold
) -> tuple[NDArray[np.float64], bool]:
    """The scores of the test rows, and whether they are probabilities."""
    is_rare = whole.is_rare[fold.train]
    if is_rare.sum() < FEWEST_MINORITY_ROWS or is_rare.all():
        raise SkipFoldError(f"{is_rare.sum()} rare rows to train on")
    train = source.table.part(_chosen(fold.train, whole.is_rare.size))
    model = model_for(asked, columns_of(None, source.table.schema), calibration_for(asked, train))
    try:
        model.fit_table(train)
    except ValueError as error:  # the result has the reason, and the other folds continue
        raise SkipFoldError(" ".join(str(error).split())) from error
    test = source.table.part(_chosen(fold.test, whole.is_rare.size))
    return scores_of(model.model_, test, model.n_jobs), model.calibrator_ is not None


def _chosen(rows: NDArray[np.intp], n_rows: int) -> NDArray[np.bool_]:
    chosen = np.zeros(n_rows, dtype=bool)
    chosen[rows] = True
    return chosen


def course_of(model: str, folds: Sequence[FoldResult]) -> FileCourse:
    """The figures of a model over its folds."""
    done = [one for one in folds if one.reached.expected is not None or one.reached.aucprc is not None]
    expected = [one for one in done if one.reached.expected is not None]
    alerts = sum(one.reached.alerts or 0 for one in done)
    found = sum((one.reached.alerts or 0) * (one.reached.precision or 0) for one in done)
    return FileCourse(
        model,
        len(done),
        _mean([one.reached.aucprc for one in done]),
        sum(one.reached.expected or 0 for one in expected) if expected else None,
        sum(one.n_rare for one in expected or done),
        alerts or None,
        found / alerts if alerts else None,
        _mean([one.reached.group_precision for one in done]),
        _sum([one.reached.cost for one in done]),
        _sum([one.reached.cost_without for one in done]),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


HEADER = ["test begins", "base", "trained on", "rare", "tested", "rare", "expected", "AUCPRC"]
BUDGET, CARDS, COST = ["alerts", "precision"], ["card precision"], ["cost", "without"]


def run(options: Namespace) -> None:
    talk = Talk(options)
    page = None if options.html is None else check_output(options.html, [".html"])
    request = request_of(options)

    def tell(one: FoldResult) -> None:
        what = f"AUCPRC {one.reached.aucprc:.3f}" if one.reached.aucprc is not None else one.note or "no AUCPRC"
        talk.say(f"{moment_text(one.begin)}, {one.model}: {what} in {one.seconds:.1f} s")

    found = backtest_file(request, tell)
    for warning in found.warnings:
        talk.warn(warning)
    extra = columns_named(request)
    talk.say(f"\n{table([_row(one, extra) for one in found.folds], header=[*HEADER, *extra], text=(0, 1))}\n")
    for course in found.courses:
        talk.say(course_text(course))
    if page is not None:
        from selfpaced.report import backtest_page
        from selfpaced.storage import write_whole

        write_whole(page, backtest_page(found.folds, request.training.target))
        talk.say(f"The report is in {page}.")
    talk.result(
        {
            "folds": [one.as_row() for one in found.folds],
            "courses": [asdict(course) for course in found.courses],
            "html": None if page is None else str(page),
            "warnings": found.warnings,
        }
    )


def request_of(options: Namespace) -> BacktestRequest:
    """The options of the command as those of the job."""
    training = TrainRequest(
        data_in(options),
        options.target,
        options.pos_label,
        members=options.members,
        bins=options.bins,
        time_column=options.time_column,
        group=options.group,
        exclude=options.exclude,
        seed=options.seed,
        calibration=options.calibration,
    )
    rolling = Rolling(options.every, options.delay, options.window, options.first)
    budget = options.top, options.per, options.timezone
    return BacktestRequest(training, options.base, rolling, *budget, options.decide)


def columns_named(request: BacktestRequest) -> list[str]:
    """The optional columns of the table of results."""
    budget = [*BUDGET, *(CARDS if request.training.group else [])] if request.top is not None else []
    return [*budget, *(COST if request.decide is not None else [])]


def _row(one: FoldResult, extra: list[str]) -> list[str]:
    found = one.reached
    values = {
        "alerts": "" if found.alerts is None else f"{found.alerts:,}",
        "precision": _decimals(found.precision),
        "card precision": _decimals(found.group_precision),
        "cost": "" if found.cost is None else cost_text(found.cost),
        "without": "" if found.cost_without is None else cost_text(found.cost_without),
    }
    return [
        moment_text(one.begin),
        one.model,
        f"{one.n_train:,}",
        f"{one.n_train_rare:,}",
        f"{one.n_test:,}",
        f"{one.n_rare:,}",
        "" if found.expected is None else f"{found.expected:,.1f}",
        _decimals(found.aucprc),
        *(values[name] for name in extra),
    ]


def _decimals(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def course_text(course: FileCourse) -> str:
    """The figures of a model over all folds, in a sentence.

    >>> course_text(Course("tree", 3, 0.5, 10.2, 12, 30, 0.25, None, None, None))
    'tree: mean AUCPRC 0.500 over 3 folds; 10 rare rows expected, 12 found; 30 alerts with a precision of 0.250.'
    """
    aucprc = "" if course.aucprc is None else f"mean AUCPRC {course.aucprc:.3f} over "
    parts = [f"{aucprc}{course.n_folds} folds"]
    if course.expected is not None:
        parts.append(f"{course.expected:,.0f} rare rows expected, {course.n_rare:,} found")
    if course.alerts is not None:
        parts.append(f"{course.alerts:,} alerts with a precision of {course.precision:.3f}")
    if course.group_precision is not None:
        parts.append(f"card precision {course.group_precision:.3f}")
    if course.cost is not None and course.cost_without is not None:
        parts.append(f"a cost of {cost_text(course.cost)}, against {cost_text(course.cost_without)} without alerts")
    return f"{course.model}: {'; '.join(parts)}."
