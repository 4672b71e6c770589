"""The default recipes: self-paced ensembles with different strengths.

No recipe is best on all tables. Trees are best if thresholds of single features decide, a linear model if effects add
up, a neural network in between. Their errors differ, so a blend helps. `benchmarks/recipes.py` compares them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from selfpaced.bases import Columns, base_model, catboost, lightgbm, neural_network
from selfpaced.ensembles.choosing import RecipeResult
from selfpaced.ensembles.self_paced import SelfPacedEnsembleClassifier as Recipe

# The most numbers (rows times columns) in the training set of a member. Recipes draw fewer common rows than they ask
# for if there would be more.
MOST_NUMBERS = 2**22
MOST_NUMBERS_OF_SLOW_KINDS = 2**20
# Of large training sets, half of the usual ten members are as good, and so are 63 bins instead of 255.
FEW_MEMBERS, FEW_BINS = 5, 63


@dataclass(frozen=True)
class MinoritySize:
    """The rare rows of a table and the values of each, which decide how much work the members of a recipe are."""

    n_rows: int
    n_values: int

    @property
    def is_large(self) -> bool:
        """Whether even with one common row for each rare one, a member of a slow kind would have too much to learn."""
        return 2 * self.n_rows * self.n_values > MOST_NUMBERS_OF_SLOW_KINDS

    def ratio(self, wanted: float, most_numbers: int) -> float:
        """A number of common rows for each rare one, at least 1, that keeps training sets small enough."""
        if (1 + wanted) * self.n_rows * self.n_values <= most_numbers:
            return wanted
        return max(1.0, round(most_numbers / (self.n_rows * self.n_values) - 1, 2))


UNKNOWN_SIZE = MinoritySize(0, 0)


def _lightgbm(columns: Columns, size: MinoritySize, ratio: float, weighting: str | None, **parameters: Any) -> Recipe:
    ratio = size.ratio(ratio, MOST_NUMBERS)
    if size.is_large:
        return Recipe(lightgbm(columns, max_bin=FEW_BINS, **parameters), FEW_MEMBERS, ratio=ratio, weighting=weighting)
    return Recipe(lightgbm(columns, **parameters), ratio=ratio, weighting=weighting)


def _small_trees(columns: Columns, size: MinoritySize) -> Recipe:
    return _lightgbm(columns, size, ratio=1, weighting=None, n_estimators=100, num_leaves=8)


def _many_rows(columns: Columns, size: MinoritySize) -> Recipe:
    return _lightgbm(columns, size, ratio=10, weighting=None, n_estimators=100)


def _weighted_rows(columns: Columns, size: MinoritySize) -> Recipe:
    slow = {"n_estimators": 150, "learning_rate": 0.05, "num_leaves": 8, "colsample_bytree": 0.7}
    return _lightgbm(columns, size, ratio=20, weighting="sqrt", **slow)


def _linear(columns: Columns, size: MinoritySize) -> Recipe:
    return _slow(base_model("logistic", columns), size, ratio=10)


def _neural_network(columns: Columns, size: MinoritySize) -> Recipe:
    return _slow(neural_network(columns), size, ratio=5)


def _extra_trees(columns: Columns, size: MinoritySize) -> Recipe:
    return _slow(base_model("extra_trees", columns), size, ratio=20)


def _catboost(columns: Columns, size: MinoritySize) -> Recipe:
    return _slow(catboost(columns, iterations=200), size, ratio=20)


def _slow(base: Any, size: MinoritySize, ratio: float) -> Recipe:
    return Recipe(base, ratio=size.ratio(ratio, MOST_NUMBERS_OF_SLOW_KINDS))


def _gbdt(columns: Columns, size: MinoritySize) -> Recipe:
    return Recipe(base_model("gbdt", columns))


@dataclass(frozen=True)
class DefaultRecipe:
    """A recipe, the package that it needs, and whether it takes too long on tables with a large minority."""

    package: str
    make: Callable[[Columns, MinoritySize], Recipe]
    is_slow: bool = True


# The cheapest come first, because a time limit may skip the others. The first recipe finds the hard rows of large
# tables.
RECIPES = {
    "LightGBM, small trees": DefaultRecipe("lightgbm", _small_trees, is_slow=False),
    "linear": DefaultRecipe("sklearn", _linear),
    "LightGBM, many common rows": DefaultRecipe("lightgbm", _many_rows, is_slow=False),
    "LightGBM, weighted rows": DefaultRecipe("lightgbm", _weighted_rows, is_slow=False),
    "neural network": DefaultRecipe("sklearn", _neural_network),
    "extra trees": DefaultRecipe("sklearn", _extra_trees),
    "CatBoost": DefaultRecipe("catboost", _catboost),
}
# Recipes that replace LightGBM if it is not installed.
INSTEAD = {"gradient boosting": DefaultRecipe("sklearn", _gbdt, is_slow=False)}


def default_recipes(columns: Columns, size: MinoritySize = UNKNOWN_SIZE) -> dict[str, Any]:
    """The recipes whose packages are installed, for the features of a table and the size of its minority."""
    return {name: recipe.make(columns, size) for name, recipe in _installed().items()}


def too_slow(size: MinoritySize) -> list[RecipeResult]:
    """The recipes that are skipped because a fit of them would take many times as long as one of LightGBM."""
    if not size.is_large:
        return []
    note = f"skipped: slow with {size.n_rows:,} rare rows of {size.n_values:,} values each (a time limit includes it)"
    return [RecipeResult(name, note=note) for name, recipe in _installed().items() if recipe.is_slow]


def not_installed() -> list[RecipeResult]:
    """The recipes that are skipped because a package is missing, with what to install."""
    missing = {name: recipe.package for name, recipe in RECIPES.items() if find_spec(recipe.package) is None}
    return [
        RecipeResult(name, note=f"skipped: {package} is not installed (pip install 'selfpaced[{package}]')")
        for name, package in missing.items()
    ]


def _installed() -> dict[str, DefaultRecipe]:
    installed = {name: recipe for name, recipe in RECIPES.items() if find_spec(recipe.package) is not None}
    return installed if find_spec("lightgbm") is not None else INSTEAD | installed
