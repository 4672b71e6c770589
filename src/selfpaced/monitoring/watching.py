"""Counts of new rows, and the figures that follow from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.monitoring.drift import Drift, drifts
from selfpaced.monitoring.estimates import Arrived, Estimate, arrived, estimated
from selfpaced.monitoring.reference import FeatureReference, Reference

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Watched:
    """The figures of some rows, compared with the reference.

    Attributes
    ----------
    drifts : tuple[Drift, ...]
        The drift of the columns, the largest first.
    score_drift : Drift | None
        The drift of the scores; None without rows.
    n_alerts : int | None
        The number of rows at or above the threshold; None without a threshold.
    estimate : Estimate | None
        The estimates from probabilities; None if scores are not probabilities.
    arrived : Arrived | None, default=None
        The figures from known labels; None without labels, or if scores are not probabilities.
    """

    n_rows: int
    drifts: tuple[Drift, ...]
    score_drift: Drift | None
    mean_score: float
    n_alerts: int | None
    estimate: Estimate | None
    arrived: Arrived | None = None


class Counter:
    """Counts the values of a column by period."""

    def __init__(self, feature: FeatureReference, n_periods: int, known: frozenset[str] | None = None) -> None:
        self.feature = feature
        self._known = known
        self._counts = np.zeros((n_periods, len(feature.counts) + 1), dtype=np.int64)
        self._unseen = np.zeros(n_periods, dtype=np.int64)

    def add(self, column: Any, periods: NDArray[np.intp]) -> None:
        """Count some values: floats with NaN, or strings with None."""
        places = periods * self._counts.shape[1] + self.feature.places_of(column)
        self._counts += np.bincount(places, minlength=self._counts.size).reshape(self._counts.shape)
        if self._known is not None:
            unseen = np.array([value is not None and value not in self._known for value in column], dtype=bool)
            self._unseen += np.bincount(periods[unseen], minlength=self._unseen.size)

    def counts(self, period: int | None = None) -> NDArray[np.int64]:
        counts: NDArray[np.int64] = self._counts.sum(axis=0) if period is None else self._counts[period]
        return counts

    def unseen(self, period: int | None = None) -> float | None:
        """The share of rows with a category that the model was not trained with."""
        if self._known is None:
            return None
        n_rows = max(int(self.counts(period).sum()), 1)
        return float((self._unseen.sum() if period is None else self._unseen[period]) / n_rows)


def watched(
    reference: Reference,
    counters: Mapping[str, Counter],
    scores: Floats,
    is_rare: tuple[NDArray[np.bool_], NDArray[np.bool_]] | None,
    calibrated: bool,
    period: int | None = None,
) -> Watched:
    """The figures of all rows, or of the rows of a period, whose scores are given.

    `is_rare` has two arrays: which rows are rare, and which rows have a label.
    """
    counts = {name: one.counts(period) for name, one in counters.items()}
    unseen = {name: share for name, one in counters.items() if (share := one.unseen(period)) is not None}
    own = reference.scores
    by_score = np.bincount(own.places_of(scores), minlength=len(own.counts) + 1)
    (score_drift,) = drifts([own], {own.name: by_score})
    threshold = reference.threshold
    known = None if is_rare is None or not is_rare[1].any() else is_rare
    return Watched(
        int(scores.size),
        tuple(drifts(reference.features, counts, unseen)),
        score_drift,
        float(scores.mean()),
        None if threshold is None else int((scores >= threshold).sum()),
        estimated(scores, threshold) if calibrated else None,
        None if known is None or not calibrated else arrived(known[0][known[1]], scores[known[1]], threshold),
    )
