"""What users take for rare events today, each with the settings that are usual for it.

LightGBM, XGBoost, HistGradientBoosting and CatBoost read categories and missing values in their own way. Forests get
categories as numbers. Nothing else is done to the tables.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from contest.encoding import Encoded, as_numbers, as_text, text_columns
from contest.threads import N_THREADS

N_FOLDS = 3
N_STOPPING_FOLDS = 5


def lightgbm(seed: int, **parameters: Any) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(**{"n_estimators": 100, **parameters}, n_jobs=N_THREADS, random_state=seed, verbose=-1)


def strong_lightgbm(seed: int) -> Any:
    """What wins on large tables: many rounds of large trees, on half of the columns and 80% of the rows."""
    rounds = {"n_estimators": 600, "learning_rate": 0.03, "num_leaves": 255}
    return lightgbm(seed, **rounds, colsample_bytree=0.5, subsample=0.8, subsample_freq=1)


def xgboost(seed: int) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(
        n_estimators=300, tree_method="hist", enable_categorical=True, n_jobs=N_THREADS, random_state=seed
    )


def hist_gradient_boosting(seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(class_weight="balanced", random_state=seed)


def random_forest(seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return Encoded(as_numbers, RandomForestClassifier(300, n_jobs=N_THREADS, random_state=seed))


def extra_trees(seed: int) -> Any:
    from sklearn.ensemble import ExtraTreesClassifier

    return Encoded(as_numbers, ExtraTreesClassifier(300, n_jobs=N_THREADS, random_state=seed))


def balanced_random_forest(seed: int) -> Any:
    from imblearn.ensemble import BalancedRandomForestClassifier

    return Encoded(as_numbers, BalancedRandomForestClassifier(300, n_jobs=N_THREADS, random_state=seed))


def catboost(seed: int) -> Any:
    return Encoded(as_text, CatBoost(seed))


class CatBoost:
    """CatBoost of 500 trees. It must be told which columns are categories, and they are known with the rows."""

    def __init__(self, seed: int) -> None:
        from catboost import CatBoostClassifier

        self.model = CatBoostClassifier(
            iterations=500, thread_count=N_THREADS, random_seed=seed, verbose=False, allow_writing_files=False
        )

    def fit(self, X: pd.DataFrame, y: Any) -> CatBoost:
        self.model.fit(X, y, cat_features=text_columns(X))
        return self

    def predict_proba(self, X: pd.DataFrame) -> Any:
        return self.model.predict_proba(X)


def early_stopped_catboost(seed: int) -> Any:
    return Encoded(as_text, EarlyStoppedCatBoost(seed))


class EarlyStoppedCatBoost:
    """CatBoost of at most 2,000 trees in 5 folds: each model stops early on its fold, and their mean is taken.

    So all rows are learned from, and the number of trees is never chosen on rows that a model has learned from.
    """

    def __init__(self, seed: int) -> None:
        from catboost import CatBoostClassifier

        self.seed = seed
        self.make = CatBoostClassifier

    def fit(self, X: pd.DataFrame, y: Any) -> EarlyStoppedCatBoost:
        from sklearn.model_selection import StratifiedKFold

        folds = StratifiedKFold(N_STOPPING_FOLDS, shuffle=True, random_state=self.seed).split(X, y)
        self.models = [self._fitted(X.iloc[rest], y[rest], (X.iloc[fold], y[fold])) for rest, fold in folds]
        return self

    def _fitted(self, X: pd.DataFrame, y: Any, fold: tuple[pd.DataFrame, Any]) -> Any:
        model = self.make(
            iterations=2000,
            early_stopping_rounds=100,
            cat_features=text_columns(X),
            thread_count=N_THREADS,
            random_seed=self.seed,
            verbose=False,
            allow_writing_files=False,
        )
        return model.fit(X, y, eval_set=fold)

    def predict_proba(self, X: pd.DataFrame) -> Any:
        return np.mean([model.predict_proba(X) for model in self.models], axis=0)


class TunedLightGBM:
    """LightGBM with the parameters of the best of some trials of Optuna by average precision in 3 folds."""

    def __init__(self, seed: int, n_trials: int) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.seed = seed
        self.n_trials = n_trials
        self.study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))

    def fit(self, X: pd.DataFrame, y: Any) -> TunedLightGBM:
        from sklearn.model_selection import StratifiedKFold, cross_val_score

        folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=self.seed)
        imbalance = (y == 0).sum() / (y == 1).sum()

        def honest_score(trial: Any) -> float:
            model = lightgbm(self.seed, **drawn_by(trial, imbalance))
            return float(cross_val_score(model, X, y, cv=folds, scoring="average_precision").mean())

        self.study.optimize(honest_score, n_trials=self.n_trials)
        self.model = lightgbm(self.seed, **self.study.best_params, subsample_freq=1).fit(X, y)
        return self

    def predict_proba(self, X: pd.DataFrame) -> Any:
        return self.model.predict_proba(X)


def drawn_by(trial: Any, imbalance: float) -> dict[str, Any]:
    """The parameters that are tuned, and their ranges."""
    return {
        "n_estimators": trial.suggest_int("n_estimators", 50, 500, log=True),
        "learning_rate": trial.suggest_float("learning_rate", 0.01, 0.2, log=True),
        "num_leaves": trial.suggest_int("num_leaves", 4, 128, log=True),
        "min_child_samples": trial.suggest_int("min_child_samples", 5, 100, log=True),
        "colsample_bytree": trial.suggest_float("colsample_bytree", 0.4, 1.0),
        "subsample": trial.suggest_float("subsample", 0.5, 1.0),
        "subsample_freq": 1,
        "reg_lambda": trial.suggest_float("reg_lambda", 1e-3, 10.0, log=True),
        "scale_pos_weight": trial.suggest_float("scale_pos_weight", 1.0, imbalance, log=True),
    }
