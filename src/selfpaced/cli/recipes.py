"""The recipes of a model as a table of text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from selfpaced.cli.talk import table
from selfpaced.ensembles import AutoSelfPacedClassifier
from selfpaced.ensembles.choosing import RecipeResult

HEADER = ["recipe", "AUCPRC", "weight", "seconds", ""]
NOTE = HEADER.index("")
WHAT_THEY_ARE = "Recipes, with their cross-fitted AUCPRC (± standard error) on training rows:"


def recipes_of(model: Any) -> list[RecipeResult]:
    """Print the results of all recipes; print nothing for a model without recipes."""
    return model.recipes_ if isinstance(model, AutoSelfPacedClassifier) else []


def recipe_table(recipes: Sequence[RecipeResult]) -> str:
    """A table of the recipes, those with the largest weight first. Recipes without a weight have a reason.

    >>> linear = RecipeResult("linear", 0.61, 0.03, seconds_judging=0.5, note="no weight: the others are better")
    >>> print(recipe_table([linear, RecipeResult("trees", 0.8, 0.02, 1.0, 2.0, 3.0)]))
    recipe         AUCPRC  weight  seconds
    trees   0.800 ± 0.020    1.00      5.0
    linear  0.610 ± 0.030    0.00      0.5  no weight: the others are better
    """
    ordered = sorted(recipes, key=lambda one: (-one.weight, -(one.aucprc or 0.0)))
    return table([_row(one) for one in ordered], header=HEADER, text=(0, NOTE))


def _row(one: RecipeResult) -> list[str]:
    is_judged = one.aucprc is not None and one.standard_error is not None
    judged = f"{one.aucprc:.3f} ± {one.standard_error:.3f}" if is_judged else ""
    return [one.name, judged, f"{one.weight:.2f}", f"{one.seconds_judging + one.seconds_fitting:.1f}", one.note or ""]
