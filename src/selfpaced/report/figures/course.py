"""Figures over time: lines of one or several series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, floor, log10

from selfpaced.report.figures.svg import Axis, Frame, Point, dot, drawing, grid, line, path, text
from selfpaced.report.html import Html, element, joined

WIDTH, HEIGHT = 460, 260
LEFT, RIGHT, TOP, BOTTOM = 48, 16, 30, 24
COLOURS = ("case", "other", "quiet", "noise")
MOST_LABELS = 5
MOST_DOTS = 60
CHARACTER = 6.5  # the approximate width of a letter

Series = Mapping[str, Sequence[float | None]]


def course_lines(title: str, labels: Sequence[str], series: Series, highest: float | None = None) -> Html:
    """Lines over the periods that `labels` name. A value that is None interrupts its line.

    `highest` is the end of the axis; by default the largest value, rounded up.
    """
    known = [value for values in series.values() for value in values if value is not None]
    top = highest if highest is not None else _rounded_up(max(known, default=1.0))
    last = max(len(labels) - 1, 1)
    frame = Frame(Axis(0, last, LEFT, WIDTH - RIGHT), Axis(0, top, HEIGHT - BOTTOM, TOP))
    step = max(1, ceil(len(labels) / MOST_LABELS))
    x_ticks = {float(place): labels[place] for place in range(0, len(labels), step)}
    y_ticks = {top * part / 4: _tick(top * part / 4) for part in range(5)}
    said = ", ".join(f"{name}: {_range_text(values)}" for name, values in series.items())
    return drawing(
        title,
        f"{len(labels)} periods from {labels[0]} to {labels[-1]}. {said}.",
        WIDTH,
        HEIGHT,
        grid(frame, x_ticks, y_ticks, "", ""),
        _legend(list(series)),
        [
            _line(frame, labels, name, values, COLOURS[place % len(COLOURS)])
            for place, (name, values) in enumerate(series.items())
        ],
    )


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
            dots.append(dot(at, 3.5, f"point {colour}", element("title", words)))
    return joined([*(path(part, f"curve {colour}") for part in parts if len(part) > 1), *dots])


def _legend(names: Sequence[str]) -> Html:
    """The names of the series above the drawing, each behind a piece of its line."""
    if len(names) < 2:
        return joined([])
    drawn, x = [], 4.0
    for place, name in enumerate(names):
        colour = COLOURS[place % len(COLOURS)]
        drawn += [line((x, 8), (x + 18, 8), f"curve {colour}"), text(x + 24, 12, name, "tick")]
        x += 44 + CHARACTER * len(name)
    return joined(drawn)


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
