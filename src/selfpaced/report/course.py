"""Results in the course of time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.monitoring import figure_at
from selfpaced.report import html
from selfpaced.report.html import Frame, Html, Point, decimals, moment_text, percent, plural, whole
from selfpaced.tables import PERIODS, Moments, checked_moments, periods_of
from selfpaced.thresholds import AlertsPerPeriod, Rule, best_rows, period_of

FEWEST_PERIODS, MOST_PERIODS = 6, 60
N_PARTS = 20  # of times that are numbers


@dataclass(frozen=True)
class PeriodFacts:
    """The figures of a period: rows, rare rows, the sum of scores, alerts at the suggested threshold, right alerts."""

    name: str
    n_rows: int
    n_cases: int
    expected: float
    n_alerts: int
    found: int
    n_best: int | None = None  # the best rows of the period, as many as the rule allows, and the rare ones among them
    found_best: int | None = None

    @property
    def precision(self) -> float | None:
        return self.found / self.n_alerts if self.n_alerts else None

    @property
    def recall(self) -> float | None:
        return self.found / self.n_cases if self.n_cases else None

    @property
    def precision_best(self) -> float | None:
        return self.found_best / self.n_best if self.n_best and self.found_best is not None else None

    @property
    def recall_best(self) -> float | None:
        return self.found_best / self.n_cases if self.n_cases and self.found_best is not None else None


@dataclass(frozen=True)
class Course:
    """The periods in the order of time. `period` is their length, such as a day."""

    period: str
    periods: tuple[PeriodFacts, ...]
    timezone: str | None = None  # None for UTC
    budget: float | None = None  # the most alerts of a period, by the rule


def course_facts(
    times: Any,
    is_case: NDArray[np.bool_],
    scores: NDArray[np.floating],
    threshold: float,
    rule: Rule | None = None,
    timezone: str | None = None,
) -> Course | None:
    """The figures of each period; None if all rows have the same time. A rule may say which periods."""
    if times is None:
        return None
    moments = checked_moments(times)
    if moments.size != is_case.size:
        raise ValueError(f"times must have a value for each row: there are {is_case.size}; got {moments.size}.")
    asked = None if rule is None else period_of(rule)
    period, names, numbers = _divided(moments, timezone) if asked is None else _by_period(moments, asked, timezone)
    if len(names) < 2 and asked is None:
        return None
    alerts, budget = scores >= threshold, rule.alerts if isinstance(rule, AlertsPerPeriod) else None
    sums = [
        np.bincount(numbers, weights=values, minlength=len(names)).tolist()
        for values in (np.ones(is_case.size), is_case, scores, alerts, alerts & is_case)
    ]
    best: list[list[Any]] = [[None] * len(names)] * 2
    if budget is not None:
        chosen = best_rows(scores, int(budget), periods=numbers)
        best = [np.bincount(numbers[some], minlength=len(names)).tolist() for some in (chosen, chosen & is_case)]
    periods = tuple(
        PeriodFacts(name, int(n_rows), int(n_cases), total, int(n_alerts), int(found), *of_best)
        for name, n_rows, n_cases, total, n_alerts, found, *of_best in zip(names, *sums, *best, strict=True)
    )
    return Course(period, periods, timezone, budget)


def _by_period(moments: Moments, period: str, timezone: str | None) -> tuple[str, list[str], NDArray[np.intp]]:
    names, numbers = np.unique(periods_of(moments, period, timezone), return_inverse=True)
    return period, [moment_text(name) for name in names], numbers.astype(np.intp)


def _divided(moments: Moments, timezone: str | None = None) -> tuple[str, list[str], NDArray[np.intp]]:
    """The kind of period, the names of the periods, and the number of each row's period. Long periods are preferred."""
    if moments.dtype.kind == "M":
        for kind in reversed(PERIODS):
            period, names, numbers = _by_period(moments, kind, timezone)
            if len(names) >= FEWEST_PERIODS or kind == PERIODS[0]:
                break
        if len(names) <= MOST_PERIODS:
            return period, names, numbers
    ends = np.linspace(moments.astype(np.float64).min(), moments.astype(np.float64).max(), N_PARTS + 1)
    numbers = np.clip(np.searchsorted(ends, moments.astype(np.float64), side="right") - 1, 0, N_PARTS - 1)
    used, numbers = np.unique(numbers, return_inverse=True)
    return "part of the time", [f"{ends[place]:,.6g}" for place in used.tolist()], numbers.astype(np.intp)


HEIGHT = 270
COLOURS = ("case", "other", "quiet", "noise")
MOST_DOTS = 60
LEGEND_LINE, LONGEST_SERIES = 18, 50

Series = Mapping[str, Sequence[float | None]]


def course_lines(
    title: str, labels: Sequence[str], series: Series, highest: float | None = None, lowest: float = 0.0
) -> Html:
    """Lines over the periods or rounds that `labels` name. A value that is None interrupts its line.

    `lowest` and `highest` are the ends of the axis; by default 0, and the largest value, rounded up.
    """
    ranges = {name: [value for value in values if value is not None] for name, values in series.items()}
    top = highest if highest is not None else _rounded_up(max(map(max, filter(None, ranges.values())), default=1.0))
    legend, legend_height = _legend(list(series))
    ends = (0, max(len(labels) - 1, 1)), (lowest, top)
    y_ticks = {value: _tick(value) for value in (lowest + (top - lowest) * part / 4 for part in range(5))}
    left = 12 + html.CHARACTER * max(map(len, y_ticks.values()))
    frame = Frame.of(*ends, HEIGHT + round(legend_height), left, legend_height + 12, bottom=24)
    said = ", ".join(f"{name}: {_tick(min(own))} to {_tick(max(own))}" for name, own in ranges.items() if own)
    return frame.drawing(
        title,
        f"From {labels[0]} to {labels[-1]}: {said}.",
        html.grid(frame, _some_labels(labels, frame.x.stop - frame.x.start), y_ticks),
        legend,
        [
            _line(frame, labels, name, values, COLOURS[place % len(COLOURS)])
            for place, (name, values) in enumerate(series.items())
        ],
    )


def _some_labels(labels: Sequence[str], width: float) -> dict[float, str]:
    """As many labels as there is space for, by their places."""
    most = max(2, floor(width / (html.CHARACTER * max(map(len, labels)) + 16)))
    return {float(place): labels[place] for place in range(0, len(labels), max(1, ceil(len(labels) / most)))}


def _line(frame: Frame, labels: Sequence[str], name: str, values: Sequence[float | None], colour: str) -> Html:
    parts: list[list[Point]] = [[]]
    dots = []
    for place, value in enumerate(values):
        if value is None:
            parts.append([])
            continue
        at = frame.point(place, min(value, frame.y.high))
        parts[-1].append(at)
        if len(values) <= MOST_DOTS:
            words = f"{labels[place]}: {name} {_tick(value)}"
            dots.append(html.dot(at, 3.5, f"point {colour}", html.element("title", words)))
    return html.joined(*(html.path(part, f"curve {colour}") for part in parts if len(part) > 1), *dots)


def _legend(names: Sequence[str]) -> tuple[Html, float]:
    """The names of the series above the drawing, each behind a piece of its line, and the height that they need."""
    if len(names) < 2:
        return html.joined(), 0.0
    drawn, x, y = [], 4.0, 8.0
    for place, name in enumerate(names):
        words = html.shortened(name, LONGEST_SERIES)
        width = 24 + html.CHARACTER * len(words)
        if x > 4 and x + width > html.WIDTH:
            x, y = 4.0, y + LEGEND_LINE
        colour = COLOURS[place % len(COLOURS)]
        drawn += [html.line((x, y), (x + 18, y), f"curve {colour}"), html.text(x + 24, y + 4, words)]
        x += width + 16
    return html.joined(drawn), y + 10


def _rounded_up(value: float) -> float:
    """The next number of one digit, or of two if that is much closer.

    >>> _rounded_up(0.31), _rounded_up(73), _rounded_up(104), _rounded_up(0)
    (0.4, 80.0, 120.0, 1.0)
    """
    if value <= 0:
        return 1.0
    unit = 10.0 ** floor(log10(value))
    steps = (1, 1.2, 1.6, 2, 3, 4, 5, 6, 8, 10)
    return round(next(step for step in steps if step * unit >= value * (1 - 1e-9)) * unit, 12)


def _tick(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"


def course_figure(
    title: str, labels: Sequence[str], series: Series, caption: str, highest: float | None = None, lowest: float = 0.0
) -> Html | None:
    """A figure of the series that have values; None if none has."""
    known = {name: values for name, values in series.items() if any(value is not None for value in values)}
    return html.figure(title, course_lines(title, labels, known, highest, lowest), caption) if known else None


# Figures over time: the title, the paths of the series in a record, the end of the axis, and the caption.
Followed = Sequence[tuple[str, Mapping[str, str], float | None, str]]


def followed(figures: Followed, records: Mapping[str, Any]) -> list[Html | None]:
    """Figures of the records of some periods, given by name."""
    return [
        course_figure(
            title,
            list(records),
            {name: [figure_at(one, path) for one in records.values()] for name, path in paths.items()},
            caption,
            highest,
        )
        for title, paths, highest, caption in figures
    ]


FOLLOWED: Followed = (
    (
        "Rare rows and the sum of scores",
        {"rare": "n_cases", "sum of scores": "expected"},
        None,
        "If scores are probabilities, their sum is the number of rare rows that they expect.",
    ),
    (
        "Precision and recall",
        {"precision": "precision", "recall": "recall"},
        1.0,
        "At the suggested threshold. A period without alerts has no precision.",
    ),
)
PERIOD_COLUMNS: html.Columns = {
    "Begins": ("name", str),
    "Rows": ("n_rows", whole),
    "Rare": ("n_cases", whole),
    "Sum of scores": ("expected", lambda value: decimals(value, 1)),
    "Alerts": ("n_alerts", whole),
    "Right": ("found", whole),
    "Precision": ("precision", percent),
}


# Beside them if the rule is a budget: the best rows of each period, as many as the budget allows.
WITHIN_BUDGET: Followed = (
    (
        "Precision and recall within the budget",
        {"precision": "precision_best", "recall": "recall_best"},
        1.0,
        "Of the best rows of each period, as many as the budget allows. Among equal scores, the first are taken.",
    ),
)
BUDGET_COLUMNS: html.Columns = {
    "Within the budget": ("n_best", whole),
    "Right within": ("found_best", whole),
    "Precision within": ("precision_best", percent),
    "Recall within": ("recall_best", percent),
}


def course(found: Course) -> html.Section:
    n_periods, by_budget = plural(len(found.periods), "period"), found.budget is not None
    zone = found.timezone or "UTC"
    return html.section(
        "course",
        "Over time",
        "Over time",
        html.lead(f"The rows of this report by {found.period}, in {zone}: {n_periods}."),
        html.lead(
            f"A budget of {found.budget:g} alerts per {found.period} can be kept in two ways: by the threshold, which "
            "no period of these rows exceeds, or by the best rows of each period, whatever their scores."
        )
        if by_budget
        else None,
        html.columns(
            followed((*FOLLOWED, *WITHIN_BUDGET) if by_budget else FOLLOWED, {one.name: one for one in found.periods})
        ),
        html.unfolding(
            "All periods", html.records({**PERIOD_COLUMNS, **(BUDGET_COLUMNS if by_budget else {})}, found.periods)
        ),
    )
