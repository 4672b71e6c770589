"""The default recipes: self-paced ensembles with different strengths.

No recipe is best on all tables. Trees are best if thresholds of single features decide, a linear model if effects add
up, a neural network in between. Their errors differ, so a blend helps. `benchmarks/recipes.py` compares them.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from selfpaced.bases import Columns, base_model, catboost, lightgbm, neural_network
from selfpaced.ensembles.choosing import RecipeResult
from selfpaced.ensembles.self_paced import SelfPacedEnsembleClassifier as Recipe


def _linear(columns: Columns) -> Recipe:
    return Recipe(base_model("logistic", columns), ratio=10)


def _small_trees(columns: Columns) -> Recipe:
    return Recipe(lightgbm(columns, n_estimators=100, num_leaves=8))


def _many_rows(columns: Columns) -> Recipe:
    return Recipe(lightgbm(columns, n_estimators=100), ratio=10)


def _weighted_rows(columns: Columns) -> Recipe:
    model = lightgbm(columns, n_estimators=150, learning_rate=0.05, num_leaves=8, colsample_bytree=0.7)
    return Recipe(model, ratio=20, weighting="sqrt")


def _neural_network(columns: Columns) -> Recipe:
    return Recipe(neural_network(columns), ratio=5)


def _extra_trees(columns: Columns) -> Recipe:
    return Recipe(base_model("extra_trees", columns), ratio=20)


def _catboost(columns: Columns) -> Recipe:
    return Recipe(catboost(columns, iterations=200), ratio=20)


def _gbdt(columns: Columns) -> Recipe:
    return Recipe(base_model("gbdt", columns))


# By name, with the package that each needs. The cheapest come first, because a time limit may skip the others. The
# first recipe finds the hard rows of large tables.
RECIPES: dict[str, tuple[str, Callable[[Columns], Recipe]]] = {
    "LightGBM, small trees": ("lightgbm", _small_trees),
    "linear": ("sklearn", _linear),
    "LightGBM, many common rows": ("lightgbm", _many_rows),
    "LightGBM, weighted rows": ("lightgbm", _weighted_rows),
    "neural network": ("sklearn", _neural_network),
    "extra trees": ("sklearn", _extra_trees),
    "CatBoost": ("catboost", _catboost),
}
# Recipes that replace LightGBM if it is not installed.
INSTEAD: dict[str, Callable[[Columns], Recipe]] = {"gradient boosting": _gbdt}


def default_recipes(columns: Columns) -> dict[str, Any]:
    """The recipes whose packages are installed, for the features of a table."""
    installed = {name: make for name, (package, make) in RECIPES.items() if find_spec(package) is not None}
    if find_spec("lightgbm") is None:
        installed = INSTEAD | installed
    return {name: make(columns) for name, make in installed.items()}


def not_installed() -> list[RecipeResult]:
    """The recipes that are skipped because a package is missing, with what to install."""
    missing = {name: package for name, (package, _) in RECIPES.items() if find_spec(package) is None}
    return [
        RecipeResult(name, note=f"skipped: {package} is not installed (pip install 'selfpaced[{package}]')")
        for name, package in missing.items()
    ]
