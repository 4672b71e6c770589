"""Two recipes that take a moment, in place of the default ones, and one whose package nobody has."""

from selfpaced import SelfPacedEnsembleClassifier
from selfpaced.bases import base_model

MISSING = "no_such_package"
NOT_INSTALLED = f"left out: {MISSING} is not installed (pip install 'selfpaced[{MISSING}]')"


def _of(base, n_members):
    return lambda columns: SelfPacedEnsembleClassifier(base_model(base, columns), n_members)


FEW_RECIPES = {
    "trees": ("sklearn", _of("tree", 3)),
    "linear": ("sklearn", _of("logistic", 2)),
    "boosted": (MISSING, _of("gbdt", 2)),
}
