"""The recipes of a blend."""

from __future__ import annotations

from collections.abc import Sequence

from selfpaced.report.facts import Facts, RecipeFacts
from selfpaced.report.html import (
    Axis,
    Html,
    columns,
    dot,
    drawing,
    element,
    figure,
    joined,
    label,
    line,
    named,
    paragraph,
    section,
    table,
    text,
)
from selfpaced.report.words import decimals, percent, plural, shortened
from selfpaced.thresholds import Interval

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


LONGEST_NOTE = 60


def recipes(facts: Facts) -> Html | None:
    found = facts.recipes
    if not found:
        return None
    return section(
        "recipes",
        "Which recipes the model is made of",
        _lead(found),
        columns(_picture(found), element("div", _explained(found), class_="prose")),
        _table(found),
    )


def _lead(found: Sequence[RecipeFacts]) -> Html:
    blended, first = [one for one in found if one.weight > 0], found[0]
    return paragraph(
        f"The model is a blend of {len(blended)} of {plural(len(found), 'recipe')}. ",
        label(first.name),
        f" has the largest weight, {percent(first.weight)}.",
        class_="lead",
    )


def _picture(found: Sequence[RecipeFacts]) -> Html | None:
    if all(one.aucprc is None for one in found):
        return None
    return figure(
        "AUCPRC and weight of each recipe",
        recipe_dots(found),
        "Lines are 90% intervals. Recipes in grey are not a part of the model.",
    )


def _explained(found: Sequence[RecipeFacts]) -> Html:
    if all(one.aucprc is None for one in found):
        return paragraph(
            "There were too few rare rows to compare the recipes, so all of them have the same weight. The scores are "
            "not calibrated."
        )
    return paragraph(
        "A recipe is an ensemble with its own kind of members. Each was judged on a sample of the training rows, by "
        "models that had not seen the rows that they scored. These figures compare the recipes with each other, with "
        "fewer members than the model has: see the other sections for the quality of the model. A recipe that ranks "
        "less well can have a weight, because its errors are on other rows."
    )


def _table(found: Sequence[RecipeFacts]) -> Html:
    return table(
        ["Recipe", "AUCPRC", "Standard error", "Weight", "Seconds", ""],
        [
            [
                named(one.name),
                "" if one.aucprc is None else decimals(one.aucprc),
                "" if one.standard_error is None else decimals(one.standard_error),
                percent(one.weight),
                decimals(one.seconds, 1),
                named(one.note or "", LONGEST_NOTE),
            ]
            for one in found
        ],
        numbers=range(1, 5),
    )
