"""Ways to weigh recipes by their honest scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from selfpaced.ensembles import blending
from selfpaced.ensembles.blending import Labelled, aucprc_of

Floats = NDArray[np.float64]
Shares = Callable[[Sequence[Floats], Labelled, Floats], Floats]

# A part of the library's weighting, which no public name returns.
best_mixture: Shares = blending._by_best_mixture
DEFAULT = "both, as it is"
# How many rare rows make equal weights and learned ones count the same, where weights are shrunk.
SHRINKING = 50
TEMPERATURES = (0.01, 0.1)
LEAST_WEIGHTS = (0.0, 0.02, 0.1)


def own_score(honest: Sequence[Floats], rows: Labelled, weights: Floats) -> Floats:
    """The other part."""
    return blending._by_own_score([blending._Rankings(each, rows) for each in honest], weights)


def weightings(honest: Sequence[Floats], rows: Labelled, seed: int) -> dict[str, Floats]:
    """The weights of recipes by several ways. `honest` are log-odds on one scale."""
    resampled = blending._resampled(rows, seed)
    own, mixture = (_mean(shares, honest, rows, resampled) for shares in (own_score, best_mixture))
    both = (own + mixture) / 2
    equal = np.full(len(honest), 1 / len(honest))
    n_rare = int((rows.classes == rows.ranked[0]).sum())
    trust = n_rare / (n_rare + SHRINKING)
    ways = {
        "equal": equal,
        "best single": np.eye(len(honest))[int(np.argmax([aucprc_of(each, rows) for each in honest]))],
        "own score": dropped(own),
        "best mixture": dropped(mixture),
        DEFAULT: dropped(both),
        f"both, shrunk by n / (n + {SHRINKING})": dropped(trust * both + (1 - trust) * equal),
        "both, by the rows as they are": dropped(_once(honest, rows)),
    }
    for temperature in TEMPERATURES:
        with patch.object(blending, "TEMPERATURE", temperature):
            own = _mean(own_score, honest, rows, resampled)
        ways[f"both, temperature {temperature}"] = dropped((own + mixture) / 2)
    return ways | {f"both, weights from {least} on": dropped(both, least) for least in LEAST_WEIGHTS}


def dropped(weights: Floats, least: float = blending.SMALLEST_WEIGHT) -> Floats:
    """Weights without the small ones."""
    kept = np.where(weights < least, 0.0, weights)
    total: Floats = kept / kept.sum()
    return total


def _mean(shares: Shares, honest: Sequence[Floats], rows: Labelled, resampled: Sequence[Floats]) -> Floats:
    mean: Floats = np.mean([shares(honest, rows, weights) for weights in resampled], axis=0)
    return mean


def _once(honest: Sequence[Floats], rows: Labelled) -> Floats:
    """Without the bootstrap."""
    return (own_score(honest, rows, rows.weights) + best_mixture(honest, rows, rows.weights)) / 2
