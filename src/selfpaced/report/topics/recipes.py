"""The recipes of a blend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

from selfpaced.report import html
from selfpaced.report.html import Axis, Html
from selfpaced.report.words import decimals, percent, plural, shortened
from selfpaced.thresholds import CONFIDENCE, Interval

if TYPE_CHECKING:
    from selfpaced.report.page import Facts

WIDTH, MARGIN, WEIGHTS = 460, 16, 72
HEAD, ROW, FOOT = 20, 38, 22
NAME_ABOVE = 9
LONGEST_NAME = 44


@dataclass(frozen=True)
class RecipeFacts:
    """A recipe that the model was chosen from, and its result."""

    name: str
    aucprc: float | None  # cross-fitted on training rows; None if the recipe was not judged
    standard_error: float | None
    weight: float  # in the model; 0 if the recipe is not a part of it
    seconds: float  # of judging the recipe and of training it on the whole table
    note: str | None  # why the recipe is not a part of the model, or was not judged

    @property
    def interval(self) -> Interval | None:
        """The 90% interval of the AUCPRC."""
        if self.aucprc is None or self.standard_error is None:
            return None
        reach = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * self.standard_error
        return Interval(max(0.0, self.aucprc - reach), min(1.0, self.aucprc + reach))


def recipe_dots(recipes: Sequence[RecipeFacts]) -> Html:
    """Below the name of each recipe a dot at its AUCPRC with its interval, and its weight on the right."""
    axis = _axis([one.interval for one in recipes if one.interval is not None])
    bottom = HEAD + ROW * len(recipes)
    ticks = (axis.low, (axis.low + axis.high) / 2, axis.high)
    return html.drawing(
        "Recipes by AUCPRC and weight",
        "; ".join(_said(one) for one in recipes) + ".",
        WIDTH,
        bottom + FOOT,
        html.text(0, 12, "AUCPRC", "axis-name"),
        html.text(WIDTH, 12, "weight", "axis-name", "end"),
        [html.line((axis(value), HEAD), (axis(value), bottom), "grid") for value in ticks],
        [html.text(axis(value), bottom + 16, decimals(value, 2), "tick", "middle") for value in ticks],
        [_row(one, axis, HEAD + ROW * (place + 0.7)) for place, one in enumerate(recipes)],
    )


def _axis(intervals: Sequence[Interval]) -> Axis:
    """An axis from the lowest to the highest end of the intervals, because differences between recipes are small."""
    low, high = min(one.low for one in intervals), max(one.high for one in intervals)
    return Axis(low, high, MARGIN, WIDTH - WEIGHTS)


def _row(one: RecipeFacts, axis: Axis, y: float) -> Html:
    kind = "case" if one.weight > 0 else "quiet"
    name = [shortened(one.name, LONGEST_NAME), html.element("title", one.name)]
    return html.joined(
        html.text(0, y - NAME_ABOVE, name, "bar-name"),
        _score(one, axis, y, kind),
        html.text(WIDTH, y + 4, percent(one.weight), f"value {kind}", "end"),
    )


def _score(one: RecipeFacts, axis: Axis, y: float, kind: str) -> Html:
    if one.aucprc is None or one.interval is None:
        return html.text(axis.start, y + 4, "not judged", "tick")
    tooltip = html.element(
        "title", f"{decimals(one.aucprc)} ({decimals(one.interval.low)} to {decimals(one.interval.high)})"
    )
    whisker = html.line((axis(one.interval.low), y), (axis(one.interval.high), y), f"whisker {kind}")
    return html.joined(whisker, html.dot((axis(one.aucprc), y), 5, f"point {kind}", tooltip))


def _said(one: RecipeFacts) -> str:
    judged = "not judged" if one.aucprc is None else f"AUCPRC {decimals(one.aucprc)}"
    return f"{one.name}: {judged}, weight {percent(one.weight)}"


LONGEST_NOTE = 60


def recipes(facts: Facts) -> Html | None:
    found = facts.recipes
    if not found:
        return None
    return html.section(
        "recipes",
        "Which recipes the model is made of",
        _lead(found),
        html.columns(_picture(found), html.prose(_explained(found))),
        _table(found),
    )


def _lead(found: Sequence[RecipeFacts]) -> Html:
    blended, first = [one for one in found if one.weight > 0], found[0]
    return html.paragraph(
        f"The model is a blend of {len(blended)} of {plural(len(found), 'recipe')}. ",
        html.label(first.name),
        f" has the largest weight, {percent(first.weight)}.",
        class_="lead",
    )


def _picture(found: Sequence[RecipeFacts]) -> Html | None:
    if all(one.aucprc is None for one in found):
        return None
    return html.figure(
        "AUCPRC and weight of each recipe",
        recipe_dots(found),
        "Lines are 90% intervals. Recipes in grey are not a part of the model.",
    )


def _explained(found: Sequence[RecipeFacts]) -> Html:
    if all(one.aucprc is None for one in found):
        return html.paragraph(
            "There were too few rare rows to compare the recipes, so all of them have the same weight. The scores are "
            "not calibrated."
        )
    return html.paragraph(
        "A recipe is an ensemble with its own kind of members. Each was judged on a sample of the training rows, by "
        "models that had not seen the rows that they scored. These figures compare the recipes with each other, with "
        "fewer members than the model has: see the other sections for the quality of the model. A recipe that ranks "
        "less well can have a weight, because its errors are on other rows."
    )


def _table(found: Sequence[RecipeFacts]) -> Html:
    return html.table(
        ["Recipe", "AUCPRC", "Standard error", "Weight", "Seconds", ""],
        [
            [
                html.named(one.name),
                "" if one.aucprc is None else decimals(one.aucprc),
                "" if one.standard_error is None else decimals(one.standard_error),
                percent(one.weight),
                decimals(one.seconds, 1),
                html.named(one.note or "", LONGEST_NOTE),
            ]
            for one in found
        ],
        numbers=range(1, 5),
    )
