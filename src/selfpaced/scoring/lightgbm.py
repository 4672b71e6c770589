"""Probabilities from LightGBM's booster, without the conversions of its scikit-learn wrapper."""

from __future__ import annotations

from typing import Any

import numpy as np

from selfpaced.scoring.plain import as_is
from selfpaced.scoring.scorer import Probabilities, Scorer

# LightGBM reads float32 and float64 rows where they lie and spreads each call over all cores.
BYTES_AT_ONCE = 2**26


def lightgbm_scorer(model: Any) -> Scorer | None:
    if callable(model.objective_):  # its scores are no probabilities, and only the wrapper knows what they are
        return None
    booster = model.booster_
    threads = {} if model.n_jobs is None else {"num_threads": model.n_jobs}

    def score(features: Any) -> Probabilities:
        if not isinstance(features, np.ndarray):  # categories and missing values of frames are the wrapper's work
            return np.asarray(model.predict_proba(features))
        probabilities = booster.predict(features, **threads)
        return probabilities if probabilities.ndim == 2 else np.column_stack([1 - probabilities, probabilities])

    return Scorer(as_is, score, BYTES_AT_ONCE, threads=False)
