"""Intervals of the AUCPRC, and of differences of the AUCPRC, over the same draws of the test rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Interval = tuple[float, float]

N_RESAMPLES = 200
CONFIDENCE = 0.9


@dataclass(frozen=True)
class Resampled:
    """The AUCPRC of a method on each of many draws of the test rows. The draws are the same for all methods."""

    areas: Floats

    def interval(self) -> Interval:
        return _middle(self.areas)

    def difference_to(self, other: Resampled) -> Interval:
        """The interval of the difference to another method. Random effects that both share cancel out."""
        return _middle(self.areas - other.areas)


def resampled(is_rare: NDArray[np.bool_], scores: Mapping[str, Floats], seed: int = 0) -> dict[str, Resampled]:
    """Draw the test rows again, with replacement, and measure every method on each draw.

    Each row is drawn a number of times that has a Poisson distribution, which is the bootstrap but for the total.
    """
    rng = np.random.default_rng(seed)
    rankings = {name: _Ranking(is_rare, each) for name, each in scores.items()}
    areas: dict[str, list[float]] = {name: [] for name in scores}
    for _ in range(N_RESAMPLES):
        counts = rng.poisson(1.0, is_rare.size).astype(np.float64)
        if not counts[is_rare].any():
            continue  # without a rare row there is no AUCPRC
        for name, ranking in rankings.items():
            areas[name].append(ranking.aucprc(counts))
    return {name: Resampled(np.array(found)) for name, found in areas.items()}


class _Ranking:
    """Rows in the order of their scores, the highest first. Rows with equal scores are taken together."""

    def __init__(self, is_rare: NDArray[np.bool_], scores: Floats) -> None:
        self._order = np.argsort(-scores, kind="stable")
        self._is_rare = is_rare[self._order]
        ordered = scores[self._order]
        self._ends = np.append(np.flatnonzero(ordered[1:] != ordered[:-1]), scores.size - 1)

    def aucprc(self, counts: Floats) -> float:
        ordered = counts[self._order]
        found = np.cumsum(ordered * self._is_rare)[self._ends]
        alerts = np.cumsum(ordered)[self._ends]
        return float(np.sum(np.diff(found, prepend=0.0) * found / np.maximum(alerts, 1)) / found[-1])


def _middle(values: Floats) -> Interval:
    low, high = np.quantile(values, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)
