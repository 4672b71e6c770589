"""Labels and scores, counted once. Ranking, thresholds and calibration are computed from the counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.metrics import Alerts, alerts_at_all_thresholds
from selfpaced.thresholds.rounding import short_threshold

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Tally:
    """Every distinct score, the highest first, with the rare and common rows that score at least as high."""

    scores: Floats
    found: NDArray[np.signedinteger]
    false_alarms: NDArray[np.signedinteger]

    @property
    def n_cases(self) -> int:
        return int(self.found[-1])

    @property
    def n_others(self) -> int:
        return int(self.false_alarms[-1])

    @property
    def finds(self) -> NDArray[np.intp]:
        """The positions of the scores that rare rows have."""
        return np.flatnonzero(np.diff(self.found, prepend=self.found.dtype.type(0)))

    @property
    def recall(self) -> Floats:
        return self.found / self.n_cases

    @property
    def false_alarm_rate(self) -> Floats:
        return self.false_alarms / self.n_others

    @property
    def precision(self) -> Floats:
        return self.found / (self.found + self.false_alarms)

    @property
    def alerts(self) -> Alerts:
        return Alerts(self.found, self.false_alarms, self.n_cases - self.found, self.n_others - self.false_alarms)

    def short(self, place: int) -> float:
        """A threshold in few digits: the score at a position is at or above it, all lower scores are below it."""
        return short_threshold(float(self.scores[place]), *self.scores[place + 1 : place + 2].tolist())

    def at(self, threshold: float) -> tuple[int, int]:
        """Rare and common rows with scores of at least the threshold."""
        n_above = self.scores.size - int(np.searchsorted(self.scores[::-1], threshold, side="left"))
        return (int(self.found[n_above - 1]), int(self.false_alarms[n_above - 1])) if n_above else (0, 0)


def tally(is_case: NDArray[np.bool_], scores: Any) -> Tally:
    thresholds, alerts = alerts_at_all_thresholds(is_case, scores)
    return Tally(thresholds.astype(np.float64, copy=False), alerts.true_positives, alerts.false_positives)


def spread(n_points: int, *coordinates: Floats) -> NDArray[np.intp]:
    """Places of at most `n_points` points of a line, both ends among them, at even steps along its length.

    A line with most of its points in one corner keeps its shape: every point is within one step of a chosen one.

    >>> spread(4, np.array([0.0, 0.1, 0.2, 1.0, 1.1])).tolist()
    [0, 3, 4]
    """
    length = np.zeros(coordinates[0].size)
    for values in coordinates:
        steps = np.diff(values)
        length[1:] += np.abs(steps, out=steps)
    np.cumsum(length, out=length)
    places = np.searchsorted(length, np.linspace(0, length[-1], n_points - 1))
    return np.unique([*places.tolist(), length.size - 1])
