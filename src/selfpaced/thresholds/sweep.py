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
    """Thresholds from the highest down, with the alerts at each of them.

    Attributes
    ----------
    silent : float
        A threshold above the highest score, for no alerts.
    amounts : Floats | None, default=None
        The amounts of the cases, from the highest score down, if each has its own.
    """

    thresholds: NDArray[Any]
    alerts: Alerts
    silent: float
    amounts: Floats | None = None

    @property
    def n_positives(self) -> int:
        return int(self.alerts.true_positives[-1])

    @property
    def n_rows(self) -> int:
        return int(self.alerts.n_alerts[-1])

    @property
    def lost(self) -> Floats | None:
        """The amounts of the cases that each threshold misses."""
        if self.amounts is None:
            return None
        found = np.concatenate([[0.0], np.cumsum(self.amounts)])
        lost: Floats = found[-1] - found[self.alerts.true_positives.astype(np.intp)]
        return lost

    def at(self, place: int) -> Alerts:
        return Alerts(*(int(counts[place]) for counts in vars(self.alerts).values()))

    def short(self, place: int) -> float:
        """A number in few digits with the same alerts as the threshold at a place."""
        if self.alerts.n_alerts[place] == 0:
            return self.silent
        lower = self.thresholds[place + 1 : place + 2].tolist()
        return short_threshold(float(self.thresholds[place]), *lower)

    def with_silence(self) -> Sweep:
        """The same with one more threshold, at which no row is an alert."""
        n_others = self.n_rows - self.n_positives
        none = Alerts(0, 0, self.n_positives, n_others)
        counts = zip(vars(none).values(), vars(self.alerts).values(), strict=True)
        alerts = Alerts(*(np.concatenate([[first], others]) for first, others in counts))
        return replace(self, thresholds=np.concatenate([[self.silent], self.thresholds]), alerts=alerts)


def sweep_of(is_positive: NDArray[np.bool_], scores: NDArray[Any], amounts: Floats | None = None) -> Sweep:
    """
    >>> sweep = sweep_of(np.array([False, True, True]), np.array([0.2, 0.5, 0.9]), np.array([10.0, 30.0]))
    >>> sweep.thresholds.tolist(), sweep.lost.tolist()
    ([0.9, 0.5, 0.2], [10.0, 0.0, 0.0])
    """
    return sweep_from(*alerts_at_all_thresholds(is_positive, scores), is_positive, scores, amounts)


def sweep_from(
    thresholds: NDArray[Any],
    alerts: Alerts,
    is_positive: NDArray[np.bool_],
    scores: NDArray[Any],
    amounts: Floats | None = None,
) -> Sweep:
    """The same for alerts that have been counted already."""
    if amounts is not None:
        amounts = amounts[np.argsort(-scores[is_positive].astype(np.float64), kind="stable")]
    return Sweep(thresholds, alerts, silent_threshold(float(scores.max())), amounts)
