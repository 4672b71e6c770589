"""`selfpaced backtest`: train and test in the order of time, as in production."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial

import numpy as np
from sklearn.base import clone

from selfpaced.backtesting import Budget, Fold, FoldResult, JudgedRows, RollingTimeSplit, SkipFoldError, run_backtest
from selfpaced.cli.commands.train import calibration_for, model_for
from selfpaced.cli.opening import OpenedSource, check_output, open_source
from selfpaced.cli.output import Talk, kept_warnings, table
from selfpaced.cli.request import Floats, TrainRequest, numbers_in
from selfpaced.ensembles.auto import columns_of
from selfpaced.exceptions import TableError
from selfpaced.model import named_among
from selfpaced.predicting import scores_of
from selfpaced.report import moment_text
from selfpaced.tables import column_groups, moments_in, zone_of
from selfpaced.thresholds import Decision, cost_text, parse_decision


@dataclass(frozen=True)
class BacktestRequest:
    """The options of a backtest."""

    training: TrainRequest  # the rows, and how models are trained on them; its `time_column` is needed
    bases: Sequence[str]  # the kinds of members to compare
    cv: RollingTimeSplit  # where the folds begin and end; its times are the name of a column
    # The budget of alerts: `top` alerts in each period, by default a day. None for no budget.
    top: int | None = None
    per: str | None = None
    timezone: str | None = None
    decide: str | None = None  # A rule by costs


@dataclass(frozen=True)
class FileCourse:
    """The figures of one kind of model over all folds."""

    model: str
    n_folds: int  # the number of folds with figures
    aucprc: float | None  # the mean AUCPRC over folds with rare rows
    expected: float | None  # the sum of the probabilities and the number of rare rows, in the same folds
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
    by_base = {base: replace(asked, base=base) for base in request.bases}
    for each in by_base.values():
        each.check()
    decision = None if request.decide is None else parse_decision(request.decide)
    source = open_source(asked, also=() if decision is None else decision.columns)
    whole = _whole(request, source, asked.time_column, decision)
    warned: list[str] = []
    trials = {base: partial(_fold_scores, each, source, whole, warned) for base, each in by_base.items()}
    results = []
    for result in run_backtest(whole, clone(request.cv).set_params(times=whole.moments).folds(), trials):
        results.append(result)
        on_result(result)
    courses = [course_of(base, [one for one in results if one.model == base]) for base in request.bases]
    return Backtested(request, results, courses, list(dict.fromkeys(warned)))


def _whole(request: BacktestRequest, source: OpenedSource, time_column: str, decision: Decision | None) -> JudgedRows:
    """All rows as test rows."""
    table, labels, group = source.table, source.labels, request.training.group
    rare = named_among(labels.names, labels.score_label(table.roles.pos_label))
    times = table.column(time_column)
    moments, zone = moments_in(times, time_column), request.timezone or zone_of(times)
    budget = None if request.top is None else Budget(request.top, request.per or "day", zone)
    if budget is not None and budget.top < 1:
        raise TableError(f"--top must be at least 1; got {budget.top}.")
    return JudgedRows(
        np.asarray(labels.codes == labels.names.index(rare)),
        moments,
        None if group is None else column_groups(table.column(group), f"The group column {group!r}"),
        budget,
        decision,
        numbers_in(table, decision),
    )


def _fold_scores(
    asked: TrainRequest, source: OpenedSource, whole: JudgedRows, warned: list[str], fold: Fold
) -> tuple[Floats, bool]:
    """The scores of the test rows of a fold, and whether they are probabilities. Warnings of the fit are added."""
    rows = np.arange(whole.is_rare.size)
    train, test = (source.table.part(np.isin(rows, some)) for some in (fold.train, fold.test))
    model = model_for(asked, columns_of(None, source.table.schema), calibration_for(asked, train))
    scores, failure = None, ""
    with kept_warnings() as warned_of:
        try:
            model.fit_table(train)
        except ValueError as error:  # the result has the reason, and the other folds continue
            failure = " ".join(str(error).split())
        else:
            scores = scores_of(model.model_, test, model.n_jobs)
    warned += warned_of
    if scores is None:
        raise SkipFoldError(failure)
    return scores, model.calibrator_ is not None


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
BUDGET, CARDS, COST = ["alerts", "precision"], ["group precision"], ["cost", "without"]


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

        budget = None if request.top is None else Budget(request.top, request.per or "day", request.timezone)
        how = (request.training.target, request.cv, budget, request.decide)
        write_whole(page, backtest_page(found.folds, found.courses, *how))
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
    """The options of the command."""
    training = TrainRequest.of(Namespace(**{**vars(options), "base": options.base[0], "delay": None}))
    spans = {name: getattr(options, name) for name in ("every", "delay", "window", "first")}
    budget = options.top, options.per, options.timezone
    return BacktestRequest(
        training, options.base, RollingTimeSplit(options.time_column, **spans), *budget, options.decide
    )


def columns_named(request: BacktestRequest) -> list[str]:
    """The optional columns of the table of results."""
    budget = [*BUDGET, *(CARDS if request.training.group else [])] if request.top is not None else []
    return [*budget, *(COST if request.decide is not None else [])]


def _row(one: FoldResult, extra: list[str]) -> list[str]:
    found = one.reached
    values = {
        "alerts": "" if found.alerts is None else f"{found.alerts:,}",
        "precision": _decimals(found.precision),
        "group precision": _decimals(found.group_precision),
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

    >>> course_text(FileCourse("tree", 3, 0.5, 10.2, 12, 30, 0.25, None, None, None))
    'tree: mean AUCPRC 0.500 over 3 folds; 10 rare rows expected, 12 found; 30 alerts with a precision of 0.250.'
    """
    aucprc = "" if course.aucprc is None else f"mean AUCPRC {course.aucprc:.3f} over "
    parts = [f"{aucprc}{course.n_folds} folds"]
    if course.expected is not None:
        parts.append(f"{course.expected:,.0f} rare rows expected, {course.n_rare:,} found")
    if course.alerts is not None:
        parts.append(f"{course.alerts:,} alerts with a precision of {course.precision:.3f}")
    if course.group_precision is not None:
        parts.append(f"group precision {course.group_precision:.3f}")
    if course.cost is not None and course.cost_without is not None:
        parts.append(f"a cost of {cost_text(course.cost)}, against {cost_text(course.cost_without)} without alerts")
    return f"{course.model}: {'; '.join(parts)}."
