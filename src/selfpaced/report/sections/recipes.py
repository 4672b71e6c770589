"""The recipes that the model was chosen from."""

from __future__ import annotations

from collections.abc import Sequence

from selfpaced.report.facts import Facts, RecipeFacts
from selfpaced.report.figures import recipe_dots
from selfpaced.report.html import Html, element, table
from selfpaced.report.sections.parts import columns, figure, label, named, paragraph, section
from selfpaced.report.words import decimals, percent, plural

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
