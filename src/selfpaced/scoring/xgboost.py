"""Probabilities from XGBoost, which reads arrays where they lie and spreads each call over its threads."""

from __future__ import annotations

from typing import Any

from selfpaced.scoring.plain import plain_scorer
from selfpaced.scoring.scorer import Scorer

ALL_CORES = 0


def xgboost_scorer(model: Any, n_rows: int) -> Scorer:
    # A booster goes on with the threads it was trained with, and a small training set had one.
    model.get_booster().set_param({"nthread": ALL_CORES if model.n_jobs is None else model.n_jobs})
    return plain_scorer(model)
