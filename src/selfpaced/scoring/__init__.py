"""How a fitted base model gives class probabilities fast, by kind of model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from selfpaced.scoring.averaging import mean_probabilities, staged_probabilities
from selfpaced.scoring.hist_gradient_boosting import hist_gradient_boosting_scorer
from selfpaced.scoring.lightgbm import lightgbm_scorer
from selfpaced.scoring.plain import plain_scorer
from selfpaced.scoring.rebalanced import Rebalanced
from selfpaced.scoring.scorer import Probabilities, Scorer
from selfpaced.scoring.spread import Spread, probability_spread
from selfpaced.scoring.trees import adaboost_scorer, bagging_scorer, forest_scorer, tree_scorer
from selfpaced.scoring.xgboost import xgboost_scorer

# By package and class name, so that no package is imported for the sake of a model nobody uses.
SCORERS: dict[tuple[str, str], Callable[[Any, int], Scorer | None]] = {
    ("sklearn", "DecisionTreeClassifier"): tree_scorer,
    ("sklearn", "RandomForestClassifier"): forest_scorer,
    ("sklearn", "ExtraTreesClassifier"): forest_scorer,
    ("sklearn", "BaggingClassifier"): bagging_scorer,
    ("sklearn", "AdaBoostClassifier"): adaboost_scorer,
    ("sklearn", "HistGradientBoostingClassifier"): hist_gradient_boosting_scorer,
    ("lightgbm", "LGBMClassifier"): lightgbm_scorer,
    ("xgboost", "XGBClassifier"): xgboost_scorer,
}


def scorer_of(model: Any, n_rows: int) -> Scorer:
    """The fastest road to a model's probabilities for so many rows: one made for its kind, or its `predict_proba`."""
    if isinstance(model, Rebalanced):
        return scorer_of(model.model, n_rows).then(model.correct)
    for kind in type(model).__mro__:
        make = SCORERS.get((kind.__module__.partition(".")[0], kind.__name__))
        # A subclass that predicts in its own way is asked in its own way.
        if make is not None and type(model).predict_proba is kind.predict_proba:  # type: ignore[attr-defined]
            return make(model, n_rows) or plain_scorer(model)
    return plain_scorer(model)


__all__ = [
    "Probabilities",
    "Scorer",
    "Spread",
    "mean_probabilities",
    "probability_spread",
    "scorer_of",
    "staged_probabilities",
]
