"""The AUCPRC and the weight of each recipe."""

from __future__ import annotations

from collections.abc import Sequence

from selfpaced.report.columns import shortened
from selfpaced.report.facts import Interval, RecipeFacts
from selfpaced.report.figures.svg import Axis, dot, drawing, line, text
from selfpaced.report.html import Html, element, joined
from selfpaced.report.words import decimals, percent

WIDTH, MARGIN, WEIGHTS = 460, 16, 72
HEAD, ROW, FOOT = 20, 38, 22
NAME_ABOVE = 9
LONGEST_NAME = 44


def recipe_dots(recipes: Sequence[RecipeFacts]) -> Html:
    """Below the name of each recipe a dot at its AUCPRC with its interval, and its weight on the right."""
    axis = _axis([one.interval for one in recipes if one.interval is not None])
    bottom = HEAD + ROW * len(recipes)
    ticks = (axis.low, (axis.low + axis.high) / 2, axis.high)
    return drawing(
        "Recipes by AUCPRC and weight",
        "; ".join(_said(one) for one in recipes) + ".",
        WIDTH,
        bottom + FOOT,
        text(0, 12, "AUCPRC", "axis-name"),
        text(WIDTH, 12, "weight", "axis-name", "end"),
        [line((axis(value), HEAD), (axis(value), bottom), "grid") for value in ticks],
        [text(axis(value), bottom + 16, decimals(value, 2), "tick", "middle") for value in ticks],
        [_row(one, axis, HEAD + ROW * (place + 0.7)) for place, one in enumerate(recipes)],
    )


def _axis(intervals: Sequence[Interval]) -> Axis:
    """An axis from the lowest to the highest end of the intervals, because differences between recipes are small."""
    low, high = min(one.low for one in intervals), max(one.high for one in intervals)
    return Axis(low, high, MARGIN, WIDTH - WEIGHTS)


def _row(one: RecipeFacts, axis: Axis, y: float) -> Html:
    kind = "case" if one.weight > 0 else "quiet"
    name = [shortened(one.name, LONGEST_NAME), element("title", one.name)]
    return joined(
        [
            text(0, y - NAME_ABOVE, name, "bar-name"),
            _score(one, axis, y, kind),
            text(WIDTH, y + 4, percent(one.weight), f"value {kind}", "end"),
        ]
    )


def _score(one: RecipeFacts, axis: Axis, y: float, kind: str) -> Html:
    if one.aucprc is None or one.interval is None:
        return text(axis.start, y + 4, "not judged", "tick")
    tooltip = element(
        "title", f"{decimals(one.aucprc)} ({decimals(one.interval.low)} to {decimals(one.interval.high)})"
    )
    whisker = line((axis(one.interval.low), y), (axis(one.interval.high), y), f"whisker {kind}")
    return joined([whisker, dot((axis(one.aucprc), y), 5, f"point {kind}", tooltip)])


def _said(one: RecipeFacts) -> str:
    judged = "not judged" if one.aucprc is None else f"AUCPRC {decimals(one.aucprc)}"
    return f"{one.name}: {judged}, weight {percent(one.weight)}"
