"""Ways to weigh recipes by their honest scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from selfpaced.ensembles.auto import judging as blending
from selfpaced.ensembles.auto.judging import Labelled, Mixtures, aucprc_of

Floats = NDArray[np.float64]
Shares = Callable[[Mixtures, Floats], Floats]

# The two parts of the library's weighting, which no public name returns.
own_score: Shares = blending._by_own_score
best_mixture: Shares = blending._by_best_mixture
DEFAULT = "both, as it is"
# How many rare rows make equal weights and learned ones count the same, where weights are shrunk.
SHRINKING = 50
TEMPERATURES = (0.01, 0.1)
LEAST_WEIGHTS = (0.0, 0.02, 0.1)


def weightings(honest: Sequence[Floats], rows: Labelled, seed: int) -> dict[str, Floats]:
    """The weights of recipes by several ways. `honest` are log-odds on one scale."""
    resampled, mixtures = blending._resampled(rows, seed), blending._mixtures(honest, rows)
    own, mixture = (_mean(shares, mixtures, resampled) for shares in (own_score, best_mixture))
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
        "both, by the rows as they are": dropped(_once(mixtures, rows.weights)),
    }
    for temperature in TEMPERATURES:
        with patch.object(blending, "TEMPERATURE", temperature):
            own = _mean(own_score, mixtures, resampled)
        ways[f"both, temperature {temperature}"] = dropped((own + mixture) / 2)
    return ways | {f"both, weights from {least} on": dropped(both, least) for least in LEAST_WEIGHTS}


def dropped(weights: Floats, least: float = blending.SMALLEST_WEIGHT) -> Floats:
    """Weights without the small ones."""
    kept = np.where(weights < least, 0.0, weights)
    total: Floats = kept / kept.sum()
    return total


def _mean(shares: Shares, mixtures: Mixtures, resampled: Sequence[Floats]) -> Floats:
    mean: Floats = np.mean([shares(mixtures, weights) for weights in resampled], axis=0)
    return mean


def _once(mixtures: Mixtures, weights: Floats) -> Floats:
    """Without the bootstrap."""
    return (own_score(mixtures, weights) + best_mixture(mixtures, weights)) / 2
