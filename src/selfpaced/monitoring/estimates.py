"""Estimates of a model's quality on rows without labels, from its probabilities.

If probabilities are right, a row with the probability p is rare with the chance p. So the expected number of rare rows,
precision, recall and AUCPRC follow from probabilities alone. If the probabilities are not right any more, for instance
because frauds have changed, the estimates are not right either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, norm

from selfpaced.metrics import aucprc
from selfpaced.thresholds import Interval

Floats = NDArray[np.float64]
CONFIDENCE = 0.9


@dataclass(frozen=True)
class Estimate:
    """Estimates from calibrated probabilities.

    Attributes
    ----------
    expected, expected_interval
        The expected number of rare rows, and its 90% interval.
    n_alerts, precision, recall
        The number of rows at or above the threshold, and their expected precision and recall; None without a threshold.
    aucprc : float | None
        The expected AUCPRC.
    """

    n_rows: int
    expected: float
    expected_interval: Interval
    aucprc: float | None
    n_alerts: int | None = None
    precision: float | None = None
    recall: float | None = None


def estimated(probabilities: Any, threshold: float | None = None) -> Estimate:
    """Estimates from calibrated probabilities of rows without labels.

    Parameters
    ----------
    probabilities : array-like of shape (n_rows,)
        Calibrated probabilities of the rare class.
    threshold : float, default=None
        The lowest probability of an alert.

    Returns
    -------
    Estimate
        The expected number of rare rows, and with a threshold the expected precision and recall of its alerts.

    See Also
    --------
    drift_since : The drift of columns.

    Examples
    --------
    >>> found = estimated(np.array([0.9, 0.6, 0.1, 0.0]), threshold=0.5)
    >>> found.expected, found.precision, found.recall
    (1.6, 0.75, 0.9375)
    """
    p = np.asarray(probabilities, dtype=np.float64)
    expected = float(p.sum())
    alerts = None if threshold is None else p >= threshold
    in_alerts = 0.0 if alerts is None else float(p[alerts].sum())
    n_alerts = None if alerts is None else int(alerts.sum())
    return Estimate(
        int(p.size),
        round(expected, 12),
        count_interval(p),
        _aucprc(p) if expected > 0 else None,
        n_alerts,
        in_alerts / n_alerts if n_alerts else None,
        in_alerts / expected if alerts is not None and expected > 0 else None,
    )


def count_interval(probabilities: Floats) -> Interval:
    """The 90% interval of the number of rare rows, if the probabilities are right and rows are independent."""
    reach = float(norm.ppf((1 + CONFIDENCE) / 2) * np.sqrt(np.sum(probabilities * (1 - probabilities))))
    expected = float(probabilities.sum())
    return Interval(max(0.0, expected - reach - 0.5), min(float(probabilities.size), expected + reach + 0.5))


def _aucprc(probabilities: Floats) -> float:
    """The area if each row were a rare row of the weight p and a common one of the weight 1 - p."""
    ordered = -np.sort(-probabilities)
    precision = np.cumsum(ordered) / np.arange(1, ordered.size + 1)
    return float(np.sum(ordered * precision) / ordered.sum())


@dataclass(frozen=True)
class Arrived:
    """Figures of rows whose labels are known by now, and the figures that were expected.

    Attributes
    ----------
    n_known : int
        The number of rows with a label.
    found, expected, expected_interval
        The number of rare rows, the number that probabilities expected, and its 90% interval.
    aucprc, precision, recall
        The figures on these rows; None without rare rows, or without alerts.
    precision_interval, recall_interval : Interval | None, default=None
        The 90% intervals of precision and recall.
    """

    n_known: int
    found: int
    expected: float
    expected_interval: Interval
    aucprc: float | None
    precision: float | None = None
    precision_interval: Interval | None = None
    recall: float | None = None
    recall_interval: Interval | None = None

    @property
    def is_surprising(self) -> bool:
        """Whether the number of rare rows is outside of its 90% interval."""
        return not self.expected_interval.low <= self.found <= self.expected_interval.high


def arrived(is_rare: NDArray[np.bool_], probabilities: Floats, threshold: float | None = None) -> Arrived:
    """The figures of a model on rows whose labels are known by now."""
    found = int(is_rare.sum())
    alerts = probabilities >= (np.inf if threshold is None else threshold)
    n_alerts, n_hits = int(alerts.sum()), int(is_rare[alerts].sum())
    has_recall = found > 0 and threshold is not None
    return Arrived(
        int(is_rare.size),
        found,
        float(probabilities.sum()),
        count_interval(probabilities),
        aucprc(is_rare, probabilities) if found else None,
        n_hits / n_alerts if n_alerts else None,
        share_interval(n_hits, n_alerts) if n_alerts else None,
        n_hits / found if has_recall else None,
        share_interval(n_hits, found) if has_recall else None,
    )


def share_interval(n_hits: int, n_rows: int) -> Interval:
    """Clopper and Pearson's 90% interval of a share.

    >>> interval = share_interval(5, 10)
    >>> round(interval.low, 2), round(interval.high, 2)
    (0.22, 0.78)
    """
    low, high = (1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2
    return Interval(
        float(beta.ppf(low, n_hits, n_rows - n_hits + 1)) if n_hits else 0.0,
        float(beta.ppf(high, n_hits + 1, n_rows - n_hits)) if n_hits < n_rows else 1.0,
    )
