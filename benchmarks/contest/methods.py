"""All methods of the field by name: what they are, where they run, and how they are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from contest import alternatives, automl, ours


@dataclass(frozen=True)
class Method:
    """A classifier for a seed.

    Attributes
    ----------
    environment : the one in `environments.py` that it runs in; None is the running one.
    least_seconds : of a method that is given the time that ours took, the least that it needs to give a model; None for
        a method that takes as long as it takes.
    """

    title: str
    make: Callable[..., Any]
    environment: str | None = "alternatives"
    least_seconds: float | None = None

    @property
    def has_a_budget(self) -> bool:
        return self.least_seconds is not None


OURS = "auto-self-paced"
TUNED = "lightgbm-tuned"
AUTOGLUON = "autogluon"

METHODS = {
    OURS: Method("AutoSelfPacedClassifier", ours.auto, None),
    "self-paced-gbdt": Method("Self-paced Ensemble, HistGradientBoosting 50", ours.self_paced_boosting, None),
    "under-bagging": Method("under-bagging, LightGBM 50", ours.under_bagging, None),
    "lightgbm": Method("LightGBM 100", alternatives.lightgbm),
    "lightgbm-slow": Method(
        "LightGBM 300, rate 0.02", partial(alternatives.lightgbm, n_estimators=300, learning_rate=0.02)
    ),
    "lightgbm-strong": Method("LightGBM 600, rate 0.03, 255 leaves", alternatives.strong_lightgbm),
    "lightgbm-weighted": Method("LightGBM 100, weighted", partial(alternatives.lightgbm, is_unbalance=True)),
    TUNED: Method("LightGBM, 15 Optuna trials", alternatives.TunedLightGBM),
    "xgboost": Method("XGBoost 300", alternatives.xgboost),
    "hist-gradient-boosting": Method("HistGradientBoosting, balanced", alternatives.hist_gradient_boosting),
    "random-forest": Method("random forest 300", alternatives.random_forest),
    "extra-trees": Method("extra trees 300", alternatives.extra_trees),
    "catboost": Method("CatBoost 500", alternatives.catboost),
    "balanced-random-forest": Method("balanced random forest 300", alternatives.balanced_random_forest),
    AUTOGLUON: Method("AutoGluon, good_quality", automl.AutoGluon, "autogluon", least_seconds=30),
    "flaml": Method("FLAML, ap", automl.Flaml, "flaml", least_seconds=10),
}
