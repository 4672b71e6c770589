"""Probabilities from scikit-learn's histogram gradient boosting."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController

from selfpaced.scoring.plain import BYTES_AT_ONCE, as_is
from selfpaced.scoring.scorer import Probabilities, Scorer


def hist_gradient_boosting_scorer(model: Any, n_rows: int) -> Scorer:
    """Chunks in our threads rather than each in the model's own: those wait for each other on busy cores."""

    def score(features: Any) -> Probabilities:
        with _controller().limit(limits=1, user_api="openmp"):
            probabilities: Probabilities = model.predict_proba(features)
        return probabilities

    return Scorer(as_is, score, BYTES_AT_ONCE, threads=None)


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    """Finding the libraries takes longer than scoring a chunk."""
    return ThreadpoolController()
