"""Ways to bring the probabilities of several recipes to one scale, on which they can be added."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from blends.trial import Scores
from selfpaced.calibration import fit_calibrator
from selfpaced.ensembles.auto.judging import Labelled
from selfpaced.model import log_odds, pool_of

Floats = NDArray[np.float64]
# Honest scores and test scores of each recipe.
Scaled = tuple[list[Floats], list[Floats]]


def log_odds_scaled(scores: Sequence[Scores], rows: Labelled) -> Scaled:
    """Log-odds with the mean and spread of the honest ones: what the library does."""
    honest = [each.honest for each in scores]
    pool = pool_of(honest, np.ones(len(honest)), rows.weights, range(honest[0].shape[1]))
    scales = list(zip(pool.centres, pool.spreads, strict=True))

    def scaled(parts: Sequence[Floats]) -> list[Floats]:
        return [(log_odds(part) - centre) / spread for part, (centre, spread) in zip(parts, scales, strict=True)]

    return scaled(honest), scaled([each.test for each in scores])


def raw(scores: Sequence[Scores], rows: Labelled) -> Scaled:
    return [each.honest for each in scores], [each.test for each in scores]


def calibrated(method: str, scores: Sequence[Scores], rows: Labelled) -> Scaled:
    """Probabilities, each recipe calibrated by its own honest scores."""
    maps = [fit_calibrator(method, each.honest, rows.classes, rows.weights, rows.ranked[0]) for each in scores]
    pairs = list(zip(maps, scores, strict=True))
    return [fitted(each.honest) for fitted, each in pairs], [fitted(each.test) for fitted, each in pairs]


def calibrated_isotonic(scores: Sequence[Scores], rows: Labelled) -> Scaled:
    return calibrated("isotonic", scores, rows)


def calibrated_beta(scores: Sequence[Scores], rows: Labelled) -> Scaled:
    return calibrated("beta", scores, rows)


SCALES: dict[str, Callable[[Sequence[Scores], Labelled], Scaled]] = {
    "log-odds": log_odds_scaled,
    "raw probabilities": raw,
    "calibrated probabilities, isotonic": calibrated_isotonic,
    "calibrated probabilities, beta": calibrated_beta,
}
