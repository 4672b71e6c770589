"""Recipes that take a moment: two of our own, one whose package nobody has, and the default ones with few members.

And a comparison of few methods, for tests that are about other things than its results.
"""

from dataclasses import replace
from itertools import islice

from selfpaced.cli.commands.compare import methods_for
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.ensembles.auto import AutoSelfPacedClassifier, base_model
from selfpaced.ensembles.auto.recipes import RECIPES, BlendLimits, DefaultRecipe

MISSING = "no_such_package"
NOT_INSTALLED = f"skipped: {MISSING} is not installed (pip install 'selfpaced[{MISSING}]')"


def _of(base, n_members):
    return lambda columns, size: SelfPacedEnsembleClassifier(base_model(base, columns), n_members)


FEW_RECIPES = {
    "trees": DefaultRecipe("sklearn", _of("tree", 3)),
    "linear": DefaultRecipe("sklearn", _of("logistic", 2)),
    "boosted": DefaultRecipe(MISSING, _of("gbdt", 2)),
}


def with_members(recipe, n_members):
    return replace(recipe, make=lambda *given: recipe.make(*given).set_params(n_estimators=n_members))


SMALL_RECIPES = {name: with_members(recipe, 2) for name, recipe in RECIPES.items()}


def with_limits(kind=AutoSelfPacedClassifier, **limits):
    """A classifier with other recipes, samples or training sets than the usual ones."""
    return type(kind.__name__, (kind,), {"_limits": BlendLimits(**limits)})


def use_recipes(patch, recipes):
    """Other default recipes for code that makes its classifier itself, such as a command."""
    patch.setattr(AutoSelfPacedClassifier, "_limits", BlendLimits(recipes=recipes))


def compare_few_methods(patch):
    """Compare the choosing classifier, with few recipes, and one ensemble: the first two of the methods."""
    use_recipes(patch, FEW_RECIPES)
    patch.setattr("selfpaced.cli.commands.compare.methods_for", lambda *given: islice(methods_for(*given), 2))
