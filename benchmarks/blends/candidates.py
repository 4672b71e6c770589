"""The recipes that are compared: those that are used by default, and those that were tried and not taken."""

from __future__ import annotations

from typing import Any

from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.ensembles.auto import Columns, base_model, lightgbm
from selfpaced.ensembles.auto.recipes import RANDOM_SPLITS, default_recipes

IN_TURN = ("linear", "LightGBM, random splits", "extra trees")


def not_taken(columns: Columns) -> dict[str, Any]:
    """Recipes that are not part of the default."""
    slow = {"n_estimators": 100, "learning_rate": 0.05}
    return {
        "LightGBM, inverse weights": SelfPacedEnsembleClassifier(
            lightgbm(columns, **slow), ratio=3, weighting="inverse"
        ),
        "LightGBM, many common rows": SelfPacedEnsembleClassifier(lightgbm(columns, n_estimators=100), 5, ratio=10),
        "neural network": SelfPacedEnsembleClassifier(base_model("mlp", columns), 5, ratio=5),
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
    boosted = lightgbm(columns, **RANDOM_SPLITS)
    bases = [base_model("logistic", columns), boosted, base_model("extra_trees", columns)]
    return SelfPacedEnsembleClassifier(bases, n_members, ratio=10)
