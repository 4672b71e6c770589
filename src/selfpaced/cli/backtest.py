"""`selfpaced backtest`"""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict

from selfpaced._jobs.backtest import BacktestRequest, Course, backtest_file
from selfpaced._jobs.request import TrainRequest
from selfpaced.backtesting import FoldResult, Rolling
from selfpaced.cli.data import check_output, data_in
from selfpaced.cli.talk import Talk, table
from selfpaced.report.words import moment_text
from selfpaced.thresholds import cost_text

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
    extra = columns_of(request)
    talk.say(f"\n{table([_row(one, extra) for one in found.folds], header=[*HEADER, *extra], text=(0, 1))}\n")
    for course in found.courses:
        talk.say(course_text(course))
    if page is not None:
        from selfpaced.report.backtest import backtest_page
        from selfpaced.whole_files import write_whole

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
        options.positive,
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


def columns_of(request: BacktestRequest) -> list[str]:
    """The optional columns of the table of results."""
    budget = [*BUDGET, *(CARDS if request.training.group else [])] if request.top is not None else []
    return [*budget, *(COST if request.decide is not None else [])]


def _row(one: FoldResult, extra: list[str]) -> list[str]:
    found = one.reached
    values = {
        "alerts": "" if found.alerts is None else f"{found.alerts:,}",
        "precision": _decimals(found.precision),
        "card precision": _decimals(found.card_precision),
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


def course_text(course: Course) -> str:
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
    if course.card_precision is not None:
        parts.append(f"card precision {course.card_precision:.3f}")
    if course.cost is not None and course.cost_without is not None:
        parts.append(f"a cost of {cost_text(course.cost)}, against {cost_text(course.cost_without)} without alerts")
    return f"{course.model}: {'; '.join(parts)}."
