"""All methods of the field by name: what they are, where they run, and how they are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from contest import alternatives, automl, boosters, networks, ours


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
TUNED_LONG = "lightgbm-tuned-50"
AUTOGLUON = "autogluon"
AUTOGLUON_HIGH = "autogluon-high"

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
    TUNED: Method("LightGBM, 15 Optuna trials", partial(alternatives.TunedLightGBM, n_trials=15)),
    TUNED_LONG: Method("LightGBM, 50 Optuna trials", partial(alternatives.TunedLightGBM, n_trials=50)),
    "xgboost": Method("XGBoost 300", alternatives.xgboost),
    "hist-gradient-boosting": Method("HistGradientBoosting, balanced", alternatives.hist_gradient_boosting),
    "random-forest": Method("random forest 300", alternatives.random_forest),
    "extra-trees": Method("extra trees 300", alternatives.extra_trees),
    "catboost": Method("CatBoost 500", alternatives.catboost),
    "catboost-early-stopping": Method("CatBoost, 5 folds, early stopping", alternatives.early_stopped_catboost),
    "balanced-random-forest": Method("balanced random forest 300", alternatives.balanced_random_forest),
    "ebm": Method("EBM", boosters.explainable_boosting, "ebm"),
    "perpetual": Method("PerpetualBooster, budget 1", boosters.perpetual, "perpetual"),
    "chimeraboost": Method("ChimeraBoost, quality 5", boosters.chimera_boost, "chimeraboost"),
    "realmlp": Method("RealMLP", networks.real_mlp, "networks"),
    "tabm": Method("TabM", networks.tab_m, "networks"),
    AUTOGLUON: Method("AutoGluon, good_quality", automl.AutoGluon, "autogluon", least_seconds=30),
    AUTOGLUON_HIGH: Method("AutoGluon, high_quality", automl.AutoGluonHigh, "autogluon-networks", least_seconds=30),
    "flaml": Method("FLAML, ap", automl.Flaml, "flaml", least_seconds=10),
}
