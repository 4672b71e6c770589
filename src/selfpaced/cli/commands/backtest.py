"""`selfpaced backtest`: train and test in the order of time, as in production."""

from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from statistics import fmean
from typing import Any

import numpy as np

from selfpaced.backtesting import Budget, Fold, FoldResult, JudgedRows, RollingTimeSplit, SkipFoldError, run_backtest
from selfpaced.cli.columns import Floats
from selfpaced.cli.commands.train import calibration_for, fit_on, model_for
from selfpaced.cli.opening import OpenedSource, check_output, open_source
from selfpaced.cli.output import Talk, kept_warnings, records
from selfpaced.cli.request import TrainRequest, numbers_in, times_in
from selfpaced.ensembles.auto import columns_of
from selfpaced.exceptions import TableError
from selfpaced.model import named_among
from selfpaced.predicting import scores_of
from selfpaced.report import FOLD_COLUMNS, backtest_page, html
from selfpaced.storage import write_whole
from selfpaced.tables import Moments, column_groups, zone_of
from selfpaced.thresholds import AlertsPerPeriod, Decision, cost_text, parse_decision, parse_rule


@dataclass(frozen=True)
class FileCourse:
    model: str
    n_folds: int  # the number of folds with figures
    aucprc: float | None  # the mean AUCPRC over folds with rare rows
    expected: float | None  # the sum of the probabilities and the number of rare rows, in the same folds
    n_rare: int
    alerts: int | None
    precision: float | None
    recall: float | None
    group_precision: float | None
    cost: float | None
    cost_without: float | None


@dataclass(frozen=True)
class Backtested:
    """All folds of all models, in the order of time, and the course of each model."""

    folds: list[FoldResult]
    courses: list[FileCourse]
    warnings: list[str]


def backtest_file(options: Namespace, on_result: Callable[[FoldResult], None] = lambda one: None) -> Backtested:
    """Train and test, fold by fold. `on_result` is called with each result as soon as it is known."""
    _budget(options)
    # The delay is that of the folds, not of rows held out, and the rule is not one for a threshold.
    given = {**vars(options), "delay": None, "rule": "f1"}
    asked = {base: TrainRequest.of(Namespace(**{**given, "base": base})) for base in options.base}
    for each in asked.values():
        each.check()
    decision = None if options.decide is None else parse_decision(options.decide)

    def first_test(moments: Moments) -> Any:
        return next(iter(_splitter(options, moments).folds())).begin

    also = () if decision is None else decision.columns
    source = open_source(asked[options.base[0]], also=also, first_test=first_test)
    whole = _whole(options, source, decision)
    warned: list[str] = []
    trials = {base: partial(_fold_scores, each, source, whole, warned) for base, each in asked.items()}
    results = []
    for result in run_backtest(whole, _splitter(options, whole.moments).folds(), trials):
        results.append(result)
        on_result(result)
    courses = [course_of(base, [one for one in results if one.model == base]) for base in options.base]
    return Backtested(results, courses, list(dict.fromkeys(warned)))


def _budget(options: Namespace, zone: str | None = None) -> Budget | None:
    """The budget of the options, by a rule or by numbers. Wrong ones are refused."""
    for name in ("per", "timezone"):
        value = getattr(options, name)
        if value is not None and options.top is None and (options.rule is None or name == "per"):
            raise TableError(
                f"--{name} {value} needs a number of alerts, for instance --top 100 --per day, or --rule "
                "'alerts<=100/day', which has its period."
            )
    if options.top is not None and options.top < 1:
        raise TableError(f"--top must be at least 1; got {options.top}.")
    if options.rule is None:
        return None if options.top is None else Budget(options.top, options.per or "day", zone)
    rule = parse_rule(options.rule)
    if not isinstance(rule, AlertsPerPeriod) or rule.alerts != int(rule.alerts):
        raise TableError(
            f"A backtest takes the best rows of each period, so its rule is a number of alerts such as "
            f"'alerts<=200/day'; got --rule {options.rule!r}."
        )
    return Budget(int(rule.alerts), rule.period, zone)


def _whole(options: Namespace, source: OpenedSource, decision: Decision | None) -> JudgedRows:
    """All rows as test rows."""
    table, labels, group = source.table, source.table.labels(), options.group
    rare = named_among(labels.names, labels.score_label(table.roles.pos_label))
    moments = times_in(table, options.time_column, options.time_unit)
    zone = options.timezone or zone_of(table.column(options.time_column))
    budget = _budget(options, zone)
    if budget is not None:
        budget.periods(moments[:1])  # refuses times without days before an hour of work
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
            fit_on(model, train, source.facts)
        except ValueError as error:  # the result has the reason, and the other folds continue
            failure = " ".join(str(error).split())
        else:
            scores = scores_of(model.model_, test, model.n_jobs)
    warned += warned_of
    if scores is None:
        raise SkipFoldError(failure)
    return scores, model.calibrator_ is not None


def course_of(model: str, folds: Sequence[FoldResult]) -> FileCourse:
    done = [one for one in folds if one.reached.expected is not None or one.reached.aucprc is not None]
    alerts = sum(one.reached.alerts or 0 for one in done)
    right = sum(period.found for one in done for period in one.reached.by_period)
    n_rare = sum(one.n_rare for one in done)

    def over(statistic: Callable[[list[float]], float], name: str) -> float | None:
        known = [value for one in done if (value := getattr(one.reached, name)) is not None]
        return statistic(known) if known else None

    return FileCourse(
        model,
        len(done),
        over(fmean, "aucprc"),
        over(sum, "expected"),
        sum(one.n_rare for one in [one for one in done if one.reached.expected is not None] or done),
        alerts or None,
        right / alerts if alerts else None,
        right / n_rare if alerts and n_rare else None,
        over(fmean, "group_precision"),
        over(sum, "cost"),
        over(sum, "cost_without"),
    )


def run(options: Namespace) -> None:
    talk = Talk(options)
    page = None if options.html is None else check_output(options.html, [".html"])

    def tell(one: FoldResult) -> None:
        what = f"AUCPRC {one.reached.aucprc:.3f}" if one.reached.aucprc is not None else one.note or "no AUCPRC"
        talk.say(f"{html.moment_text(one.begin)}, {one.model}: {what} in {one.seconds:.1f} s")

    found = backtest_file(options, tell)
    for warning in found.warnings:
        talk.warn(warning)
    talk.say(f"\n{records(FOLD_COLUMNS, found.folds)}\n")
    for course in found.courses:
        talk.say(course_text(course))
    if page is not None:
        how = (_splitter(options, options.time_column), _budget(options, options.timezone), options.decide)
        write_whole(page, backtest_page(found.folds, found.courses, options.target, *how))
        talk.say(f"The report is in {page}.")
    talk.result(
        {
            "folds": [one.as_row() for one in found.folds],
            "courses": [asdict(course) for course in found.courses],
            "periods": [row for one in found.folds for row in one.period_rows()],
            "html": None if page is None else str(page),
            "warnings": found.warnings,
        }
    )


def _splitter(options: Namespace, times: Any) -> RollingTimeSplit:
    spans = {name: getattr(options, name) for name in ("every", "delay", "window", "first")}
    return RollingTimeSplit(times, **spans)


def course_text(course: FileCourse) -> str:
    """The figures of a model over all folds, in a sentence.

    >>> course_text(FileCourse("tree", 3, 0.5, 10.2, 12, 30, 0.25, 0.625, None, None, None))[24:]
    'over 3 folds; 10 rare rows expected, 12 found; 30 alerts with a precision of 0.250 and a recall of 0.625.'
    """
    aucprc = "" if course.aucprc is None else f"mean AUCPRC {course.aucprc:.3f} over "
    parts = [f"{aucprc}{course.n_folds} folds"]
    if course.expected is not None:
        parts.append(f"{course.expected:,.0f} rare rows expected, {course.n_rare:,} found")
    if course.alerts is not None:
        recall = "" if course.recall is None else f" and a recall of {course.recall:.3f}"
        parts.append(f"{course.alerts:,} alerts with a precision of {course.precision:.3f}{recall}")
    if course.group_precision is not None:
        parts.append(f"group precision {course.group_precision:.3f}")
    if course.cost is not None and course.cost_without is not None:
        parts.append(f"a cost of {cost_text(course.cost)}, against {cost_text(course.cost_without)} without alerts")
    return f"{course.model}: {'; '.join(parts)}."
