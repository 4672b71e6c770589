"""Recipes that take a moment: two of our own, one whose package nobody has, and the default ones with few members.

And a comparison of few methods, for tests that are about other things than its results.
"""

from itertools import islice

from selfpaced import SelfPacedEnsembleClassifier
from selfpaced._jobs.methods import methods_for
from selfpaced.bases import base_model
from selfpaced.ensembles.recipes import RECIPES

MISSING = "no_such_package"
NOT_INSTALLED = f"skipped: {MISSING} is not installed (pip install 'selfpaced[{MISSING}]')"


def _of(base, n_members):
    return lambda columns: SelfPacedEnsembleClassifier(base_model(base, columns), n_members)


FEW_RECIPES = {
    "trees": ("sklearn", _of("tree", 3)),
    "linear": ("sklearn", _of("logistic", 2)),
    "boosted": (MISSING, _of("gbdt", 2)),
}


def with_members(make, n_members):
    return lambda columns: make(columns).set_params(n_estimators=n_members)


SMALL_RECIPES = {name: (package, with_members(make, 2)) for name, (package, make) in RECIPES.items()}


def compare_few_methods(patch):
    """Compare the choosing classifier, with few recipes, and one ensemble: the first two of the methods."""
    patch.setattr("selfpaced.ensembles.recipes.RECIPES", FEW_RECIPES)
    patch.setattr("selfpaced._jobs.compare.methods_for", lambda *given: islice(methods_for(*given), 2))
