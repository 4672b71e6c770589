"""Labels and scores, counted once: everything about ranking, thresholds and calibration follows from the counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.metrics import Alerts, alerts_at_all_thresholds, short_threshold

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Tally:
    """Every distinct score, the highest first, with the rare and common rows that score at least as high."""

    scores: Floats
    found: Floats
    false_alarms: Floats

    @property
    def n_cases(self) -> int:
        return int(self.found[-1])

    @property
    def n_others(self) -> int:
        return int(self.false_alarms[-1])

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
        """A threshold in few digits that the score at a place reaches and all lower scores do not."""
        return short_threshold(float(self.scores[place]), *self.scores[place + 1 : place + 2].tolist())

    def at(self, threshold: float) -> tuple[int, int]:
        """Rare and common rows with scores of at least the threshold."""
        n_above = self.scores.size - int(np.searchsorted(self.scores[::-1], threshold, side="left"))
        return (int(self.found[n_above - 1]), int(self.false_alarms[n_above - 1])) if n_above else (0, 0)


def tally(is_case: NDArray[np.bool_], scores: Any) -> Tally:
    thresholds, alerts = alerts_at_all_thresholds(is_case, scores)
    return Tally(thresholds.astype(np.float64), alerts.true_positives, alerts.false_positives)


def quick_aucprc(is_case: NDArray[np.bool_], scores: Floats) -> float:
    """The AUCPRC without sorting all rows: only the numbers of common rows between rare rows matter.

    >>> quick_aucprc(np.array([False, False, True, True]), np.array([0.1, 0.4, 0.35, 0.8]))
    0.8333333333333333
    """
    levels, cases = np.unique(scores[is_case], return_counts=True)
    levels_reached = np.searchsorted(levels, scores[~is_case], side="right")
    others = np.bincount(levels_reached, minlength=levels.size + 1)[1:]
    found, false_alarms = (np.cumsum(counts[::-1])[::-1] for counts in (cases, others))
    return float(np.sum(cases * found / (found + false_alarms)) / cases.sum())


def spread(n_points: int, *coordinates: Floats) -> NDArray[np.intp]:
    """Places of at most `n_points` points of a line, both ends among them, at even steps along its length.

    A line with most of its points in one corner keeps its shape: every point is within one step of a chosen one.

    >>> spread(4, np.array([0.0, 0.1, 0.2, 1.0, 1.1])).tolist()
    [0, 3, 4]
    """
    steps = np.sum([np.abs(np.diff(values)) for values in coordinates], axis=0)
    length = np.concatenate([[0.0], np.cumsum(steps)])
    places = np.searchsorted(length, np.linspace(0, length[-1], n_points - 1))
    return np.unique([*places.tolist(), length.size - 1])
