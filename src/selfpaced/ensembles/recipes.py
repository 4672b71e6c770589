"""Recipes: kinds of self-paced ensembles that differ in what they are good at.

No single one is best on all tables. Extra trees with many common rows lead where many weak numbers matter, boosted
trees where a few splits decide, a linear model where effects add up. `benchmarks/recipes.py` compares them.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from selfpaced.bases import Columns, base_model, catboost, lightgbm
from selfpaced.ensembles.choosing import RecipeResult
from selfpaced.ensembles.self_paced import SelfPacedEnsembleClassifier

Recipe = SelfPacedEnsembleClassifier


def _few_rounds(columns: Columns) -> Recipe:
    return Recipe(lightgbm(columns, n_estimators=50))


def _many_rows(columns: Columns) -> Recipe:
    return Recipe(lightgbm(columns, n_estimators=100), ratio=10)


def _true_shares(columns: Columns) -> Recipe:
    return Recipe(lightgbm(columns, n_estimators=100, learning_rate=0.05), ratio=3, weighting="inverse")


def _extra_trees(columns: Columns) -> Recipe:
    return Recipe(base_model("extra_trees", columns), ratio=10)


def _gbdt(columns: Columns) -> Recipe:
    return Recipe(base_model("gbdt", columns))


def _linear(columns: Columns) -> Recipe:
    return Recipe(base_model("logistic", columns), ratio=10)


def _catboost(columns: Columns) -> Recipe:
    return Recipe(catboost(columns, iterations=200), ratio=5)


# The cheapest first: a time limit may leave out the others. By name, with the package that each needs.
RECIPES: dict[str, tuple[str, Callable[[Columns], Recipe]]] = {
    "LightGBM": ("lightgbm", _few_rounds),
    "linear": ("sklearn", _linear),
    "LightGBM, many common rows": ("lightgbm", _many_rows),
    "LightGBM, true shares": ("lightgbm", _true_shares),
    "extra trees": ("sklearn", _extra_trees),
    "CatBoost": ("catboost", _catboost),
}
# What takes the place of LightGBM where it is not installed.
INSTEAD: dict[str, Callable[[Columns], Recipe]] = {"gradient boosting": _gbdt}


def default_recipes(columns: Columns) -> dict[str, Any]:
    """The recipes whose packages are installed, for the features of a table."""
    installed = {name: make for name, (package, make) in RECIPES.items() if find_spec(package) is not None}
    if find_spec("lightgbm") is None:
        installed = INSTEAD | installed
    return {name: make(columns) for name, make in installed.items()}


def not_installed() -> list[RecipeResult]:
    """The recipes that are left out, with what to install for each."""
    missing = {name: package for name, (package, _) in RECIPES.items() if find_spec(package) is None}
    return [
        RecipeResult(name, note=f"left out: {package} is not installed (pip install 'selfpaced[{package}]')")
        for name, package in missing.items()
    ]
