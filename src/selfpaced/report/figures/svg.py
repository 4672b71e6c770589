"""The shapes of all drawings. Colours are CSS classes, defined in the stylesheet of the page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log10
from typing import Any

from selfpaced.report.html import Html, element, joined

Point = tuple[float, float]


@dataclass(frozen=True)
class Axis:
    """From values to coordinates."""

    low: float
    high: float
    start: float
    stop: float
    is_log: bool = False

    def __call__(self, value: float) -> float:
        low, high = self._stretched(self.low), self._stretched(self.high)
        share = (self._stretched(value) - low) / (high - low) if high > low else 0.5
        return self.start + share * (self.stop - self.start)

    def _stretched(self, value: float) -> float:
        return log10(max(value, self.low)) if self.is_log else value


@dataclass(frozen=True)
class Frame:
    """A pair of axes."""

    x: Axis
    y: Axis

    def point(self, x: float, y: float) -> Point:
        return self.x(x), self.y(y)


def drawing(title: str, description: str, width: int, height: int, *children: Any, **attributes: Any) -> Html:
    """An SVG with a title and a description for screen readers."""
    return element(
        "svg",
        element("title", title),
        element("desc", description),
        *children,
        viewBox=f"0 0 {width} {height}",
        role="img",
        aria_label=f"{title}. {description}",
        **attributes,
    )


def text(x: float, y: float, words: Any, class_: str = "tick", anchor: str = "start", **attributes: Any) -> Html:
    return element("text", words, x=x, y=y, class_=class_, text_anchor=anchor, **attributes)


def line(one: Point, other: Point, class_: str) -> Html:
    return element("line", x1=one[0], y1=one[1], x2=other[0], y2=other[1], class_=class_)


def rectangle(x: float, y: float, width: float, height: float, class_: str, *children: Any) -> Html:
    return element("rect", *children, x=x, y=y, width=max(width, 0.0), height=max(height, 0.0), class_=class_)


def dot(at: Point, radius: float, class_: str, *children: Any, **attributes: Any) -> Html:
    return element("circle", *children, cx=at[0], cy=at[1], r=radius, class_=class_, **attributes)


def path(points: Iterable[Point], class_: str) -> Html:
    return element("path", d="M" + "L".join(_pair(point) for point in points), class_=class_)


def area(points: Sequence[Point], floor: float, class_: str) -> Html:
    closed = [(points[0][0], floor), *points, (points[-1][0], floor)]
    return element("path", d="M" + "L".join(_pair(point) for point in closed) + "Z", class_=class_)


def grid(frame: Frame, x_ticks: dict[float, str], y_ticks: dict[float, str], x_name: str, y_name: str) -> Html:
    """Horizontal grid lines, ticks, and the names of the axes."""
    x, y = frame.x, frame.y
    across = [line((x.start, y(value)), (x.stop, y(value)), "grid") for value in y_ticks]
    left = [text(x.start - 7, y(value) + 4, words, anchor="end") for value, words in y_ticks.items()]
    below = [text(x(value), y.start + 17, words, anchor="middle") for value, words in x_ticks.items()]
    names = [
        text(x.stop, y.start + 35, x_name, "axis-name", "end"),
        text(0, y.stop - 14, y_name, "axis-name"),
    ]
    return joined([*across, *left, *below, *names])


def _pair(point: Point) -> str:
    return f"{point[0]:.1f} {point[1]:.1f}"
