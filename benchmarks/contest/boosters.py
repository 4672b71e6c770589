"""Boosting models that are younger than the usual libraries, each as its documentation recommends.

All of them read missing numbers in their own way. Each has its own way to be told which columns are categories.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from contest.encoding import Encoded, as_named_categories, as_text, text_columns
from contest.threads import N_THREADS


def explainable_boosting(seed: int) -> Any:
    """EBM: an additive model with pairs of columns. It takes categories by their column type."""
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(n_jobs=N_THREADS, random_state=seed)


def perpetual(seed: int) -> Any:
    """PerpetualBooster with twice its usual budget, as its documentation advises for accuracy.

    A missing category is a category of its own: the package takes NaN among categories for one of the others.
    """
    from perpetual.sklearn import PerpetualClassifier

    return Encoded(as_named_categories, PerpetualClassifier(budget=1.0, num_threads=N_THREADS, seed=seed))


def chimera_boost(seed: int) -> Any:
    return Encoded(as_text, ChimeraBoost(seed))


class ChimeraBoost:
    """ChimeraBoost of its highest quality, 8 members. It must be told which columns are categories."""

    def __init__(self, seed: int) -> None:
        from chimeraboost import ChimeraBoostClassifier
        from chimeraboost.warmup import warmup

        # Its loops are compiled when they are first used: that is not what a fit takes.
        warmup()
        self.model = ChimeraBoostClassifier(quality=5, thread_count=N_THREADS, ensemble_n_jobs=1, random_state=seed)

    def fit(self, X: pd.DataFrame, y: Any) -> ChimeraBoost:
        self.model.fit(X, y, cat_features=text_columns(X) or None)
        return self

    def predict_proba(self, X: pd.DataFrame) -> Any:
        return self.model.predict_proba(X)
