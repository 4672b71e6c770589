"""The counts of every threshold, and thresholds with few digits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.metrics import Alerts, alerts_at_all_thresholds

FEWEST_DIGITS, MOST_DIGITS = 3, 17  # 17 digits distinguish all floats


def short_threshold(lowest: float, below: float | None = None) -> float:
    """A threshold with few digits: `lowest` and all higher scores are at or above it, the next lower score is not.

    It has as few digits as possible, at least three. If `below` is not too close, it is also low enough for scores that
    are rounded to float32, for instance in a database.

    >>> short_threshold(0.84379, 0.8), short_threshold(0.84379, 0.8436), short_threshold(0.5, 0.2)
    (0.843, 0.8437, 0.499)
    """
    for bound in (_below_float32(lowest), lowest):
        for digits in range(FEWEST_DIGITS, MOST_DIGITS + 1):
            rounded = _in_digits(bound, digits, ROUND_FLOOR)
            if below is None or rounded > below:
                return rounded
    return float(lowest)


def silent_threshold(highest: float) -> float:
    """A number with few digits above the highest score, also after rounding to float32.

    >>> silent_threshold(0.84379), silent_threshold(1)
    (0.844, 1.01)
    """
    above = -short_threshold(-highest)
    return above if above > highest else float(np.nextafter(highest, np.inf))


def _below_float32(value: float) -> float:
    """A number below all numbers that float32 rounds to the same value; outside of its range, the number itself."""
    with np.errstate(over="ignore"):
        single = np.float32(value)
        below = (float(single) + float(np.nextafter(single, np.float32(-np.inf)))) / 2
    return below if np.isfinite(below) and single != 0 else float(value)


def _in_digits(value: float, digits: int, rounding: str) -> float:
    exact = Decimal(value)
    return float(exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), rounding))


Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Sweep:
    """Thresholds from the highest down, with the rare and common rows that score at least as high as each."""

    thresholds: Floats
    found: NDArray[np.signedinteger]  # right alerts at each threshold
    false_alarms: NDArray[np.signedinteger]
    silent: float  # a threshold above the highest score, for no alerts
    amounts: Floats | None = None  # of the rare rows, from the highest score down, if each has its own

    @property
    def n_positives(self) -> int:
        return int(self.found[-1])

    @property
    def n_negatives(self) -> int:
        return int(self.false_alarms[-1])

    @property
    def n_rows(self) -> int:
        return self.n_positives + self.n_negatives

    @property
    def alerts(self) -> Alerts:
        return Alerts(
            self.found, self.false_alarms, self.n_positives - self.found, self.n_negatives - self.false_alarms
        )

    @property
    def recall(self) -> Floats:
        return self.found / self.n_positives

    @property
    def false_alarm_rate(self) -> Floats:
        return self.false_alarms / self.n_negatives

    @property
    def precision(self) -> Floats:
        return self.found / (self.found + self.false_alarms)

    @property
    def finds(self) -> NDArray[np.intp]:
        """The positions of the thresholds that are scores of rare rows."""
        return np.flatnonzero(np.diff(self.found, prepend=self.found.dtype.type(0)))

    @property
    def lost(self) -> Floats | None:
        """The amounts of the rare rows that each threshold misses."""
        if self.amounts is None:
            return None
        found = np.concatenate([[0.0], np.cumsum(self.amounts)])
        lost: Floats = found[-1] - found[self.found.astype(np.intp)]
        return lost

    def at(self, place: int) -> Alerts:
        found, false_alarms = int(self.found[place]), int(self.false_alarms[place])
        return Alerts(found, false_alarms, self.n_positives - found, self.n_negatives - false_alarms)

    def alerts_from(self, threshold: float) -> Alerts:
        """The alerts at any number: rows with scores of at least this."""
        n_above = self.thresholds.size - int(np.searchsorted(self.thresholds[::-1], threshold, side="left"))
        return self.at(n_above - 1) if n_above else Alerts(0, 0, self.n_positives, self.n_negatives)

    def short(self, place: int) -> float:
        """A number in few digits with the same alerts as the threshold at a place."""
        if self.found[place] + self.false_alarms[place] == 0:
            return self.silent
        lower = self.thresholds[place + 1 : place + 2].tolist()
        return short_threshold(float(self.thresholds[place]), *lower)

    def with_silence(self) -> Sweep:
        """The same with one more threshold, at which no row is an alert."""
        thresholds = np.concatenate([[self.silent], self.thresholds])
        found, false_alarms = (np.concatenate([[0], counts]) for counts in (self.found, self.false_alarms))
        return replace(self, thresholds=thresholds, found=found, false_alarms=false_alarms)


def sweep_of(is_positive: NDArray[np.bool_], scores: NDArray[Any], amounts: Floats | None = None) -> Sweep:
    """Count the alerts at every threshold.

    >>> sweep = sweep_of(np.array([False, True, True]), np.array([0.2, 0.5, 0.9]), np.array([10.0, 30.0]))
    >>> sweep.thresholds.tolist(), sweep.lost.tolist()
    ([0.9, 0.5, 0.2], [10.0, 0.0, 0.0])
    """
    thresholds, alerts = alerts_at_all_thresholds(is_positive, scores)
    if amounts is not None:
        amounts = amounts[np.argsort(-scores[is_positive].astype(np.float64), kind="stable")]
    silent = silent_threshold(float(thresholds[0]))
    return Sweep(
        thresholds.astype(np.float64, copy=False), alerts.true_positives, alerts.false_positives, silent, amounts
    )
