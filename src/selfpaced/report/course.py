"""Results in the course of time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.report import html
from selfpaced.report.html import Frame, Html, Point, decimals, moment_text, percent, plural, whole
from selfpaced.tables import PERIODS, Moments, checked_moments, periods_of

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

    @property
    def precision(self) -> float | None:
        return self.found / self.n_alerts if self.n_alerts else None

    @property
    def recall(self) -> float | None:
        return self.found / self.n_cases if self.n_cases else None


@dataclass(frozen=True)
class Course:
    """The periods in the order of time. `period` is their length, such as a day."""

    period: str
    periods: tuple[PeriodFacts, ...]


def course_facts(
    times: Any, is_case: NDArray[np.bool_], scores: NDArray[np.floating], threshold: float
) -> Course | None:
    """The figures of each period; None if all rows have the same time."""
    if times is None:
        return None
    moments = checked_moments(times)
    if moments.size != is_case.size:
        raise ValueError(f"times must have a value for each row: there are {is_case.size}; got {moments.size}.")
    period, names, numbers = _divided(moments)
    if len(names) < 2:
        return None
    alerts = scores >= threshold
    sums = [
        np.bincount(numbers, weights=values, minlength=len(names)).tolist()
        for values in (np.ones(is_case.size), is_case, scores, alerts, alerts & is_case)
    ]
    return Course(
        period,
        tuple(
            PeriodFacts(name, int(n_rows), int(n_cases), total, int(n_alerts), int(found))
            for name, n_rows, n_cases, total, n_alerts, found in zip(names, *sums, strict=True)
        ),
    )


def _divided(moments: Moments) -> tuple[str, list[str], NDArray[np.intp]]:
    """The kind of period, the names of the periods, and the number of each row's period. Long periods are preferred."""
    if moments.dtype.kind == "M":
        for period in reversed(PERIODS):
            names, numbers = np.unique(periods_of(moments, period), return_inverse=True)
            if names.size >= FEWEST_PERIODS or period == PERIODS[0]:
                break
        if names.size <= MOST_PERIODS:
            return period, [moment_text(name) for name in names], numbers.astype(np.intp)
    ends = np.linspace(moments.astype(np.float64).min(), moments.astype(np.float64).max(), N_PARTS + 1)
    numbers = np.clip(np.searchsorted(ends, moments.astype(np.float64), side="right") - 1, 0, N_PARTS - 1)
    used, numbers = np.unique(numbers, return_inverse=True)
    return "part of the time", [f"{ends[place]:,.6g}" for place in used.tolist()], numbers.astype(np.intp)


HEIGHT = 270
COLOURS = ("case", "other", "quiet", "noise")
MOST_DOTS = 60
LEGEND_LINE, LONGEST_SERIES = 18, 50

Series = Mapping[str, Sequence[float | None]]


def course_lines(title: str, labels: Sequence[str], series: Series, highest: float | None = None) -> Html:
    """Lines over the periods that `labels` name. A value that is None interrupts its line.

    `highest` is the end of the axis; by default the largest value, rounded up.
    """
    known = [value for values in series.values() for value in values if value is not None]
    top = highest if highest is not None else _rounded_up(max(known, default=1.0))
    legend, below_legend = _legend(list(series))
    last = max(len(labels) - 1, 1)
    frame = Frame.of((0, last), (0, top), HEIGHT + round(below_legend), top=below_legend + 12)
    y_ticks = {top * part / 4: _tick(top * part / 4) for part in range(5)}
    said = ", ".join(f"{name}: {_range_text(values)}" for name, values in series.items())
    return frame.drawing(
        title,
        f"{len(labels)} periods from {labels[0]} to {labels[-1]}. {said}.",
        html.grid(frame, _some_labels(labels, frame.x.stop - frame.x.start), y_ticks, "", ""),
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


def _range_text(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{_tick(min(known))} to {_tick(max(known))}" if known else "no values"


def course_figure(
    title: str, labels: Sequence[str], series: Series, caption: str, highest: float | None = None
) -> Html | None:
    """A figure of the series that have values; None if none has."""
    known = {name: values for name, values in series.items() if any(value is not None for value in values)}
    return html.figure(title, course_lines(title, labels, known, highest), caption) if known else None


PERIOD_COLUMNS: html.Columns = {
    "Begins": ("name", str),
    "Rows": ("n_rows", whole),
    "Rare": ("n_cases", whole),
    "Sum of scores": ("expected", lambda value: decimals(value, 1)),
    "Alerts": ("n_alerts", whole),
    "Right": ("found", whole),
    "Precision": ("precision", percent),
}


def course(found: Course) -> html.Section:
    labels = [one.name for one in found.periods]
    expected: dict[str, Sequence[float]] = {
        "rare": [one.n_cases for one in found.periods],
        "sum of scores": [one.expected for one in found.periods],
    }
    shares = {
        "precision": [one.precision for one in found.periods],
        "recall": [one.recall for one in found.periods],
    }
    about_sums = "If scores are probabilities, their sum is the number of rare rows that they expect."
    about_shares = "At the suggested threshold. A period without alerts has no precision."
    return html.section(
        "course",
        "Over time",
        "Over time",
        html.paragraph(
            f"The rows of this report by {found.period}, in UTC: {plural(len(labels), 'period')}.", class_="lead"
        ),
        html.columns(
            course_figure("Rare rows and the sum of scores", labels, expected, about_sums),
            course_figure("Precision and recall", labels, shares, about_shares, 1.0),
        ),
        html.unfolding("All periods", html.records(PERIOD_COLUMNS, found.periods)),
    )
