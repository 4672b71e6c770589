"""The recipes that are compared: those that are used by default, and those that were tried and not taken."""

from __future__ import annotations

from typing import Any

from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.ensembles.auto import Columns, base_model, lightgbm
from selfpaced.ensembles.auto.recipes import default_recipes

IN_TURN = ("linear", "LightGBM, many common rows", "extra trees")


def not_taken(columns: Columns) -> dict[str, Any]:
    """Recipes that are not part of the default."""
    slow = {"n_estimators": 100, "learning_rate": 0.05}
    return {
        "LightGBM, inverse weights": SelfPacedEnsembleClassifier(
            lightgbm(columns, **slow), ratio=3, weighting="inverse"
        ),
        "LightGBM, 50 rounds": SelfPacedEnsembleClassifier(base_model("lightgbm", columns)),
        "random forest": SelfPacedEnsembleClassifier(base_model("forest", columns), ratio=10),
        "extra trees, few common rows": SelfPacedEnsembleClassifier(base_model("extra_trees", columns)),
        "nearest neighbours": SelfPacedEnsembleClassifier(base_model("knn", columns), ratio=10),
    }


def candidates(columns: Columns) -> dict[str, Any]:
    """All recipes by name, the default ones first."""
    return default_recipes(columns) | not_taken(columns)


def bases_in_turn(columns: Columns, n_members: int) -> Any:
    """One ensemble whose members are a linear model, LightGBM and extra trees in turn."""
    bases = [base_model("logistic", columns), lightgbm(columns, n_estimators=100), base_model("extra_trees", columns)]
    return SelfPacedEnsembleClassifier(bases, n_members, ratio=10)
