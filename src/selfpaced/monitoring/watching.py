"""Watching a model in service: periods, and alarms about them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
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


_WRITTEN = re.compile(r"\s*([a-z_]+)\s*([<>])\s*(\d+(?:\.\d+)?(?:e-?\d+)?)\s*")


@dataclass(frozen=True)
class Alarm:
    """A limit that was exceeded, and the value that exceeded it."""

    limit: str
    value: float
    period: str | None = None


def alarm_texts(alarms: Sequence[Alarm]) -> list[str]:
    """A line for each limit that was exceeded, with the period that exceeded it by most.

    >>> alarm_texts([Alarm("psi>0.2", 0.3), Alarm("psi>0.2", 0.4, "2024-01"), Alarm("psi>0.2", 0.5, "2024-02")])
    ['psi>0.2: 0.3 in all rows; in 2 periods, most in 2024-02: 0.5']
    """
    lines = []
    for limit in dict.fromkeys(one.limit for one in alarms):
        own = [one for one in alarms if one.limit == limit]
        parts = [f"{one.value:.4g} in all rows" for one in own if one.period is None]
        periods = sorted((one for one in own if one.period is not None), key=lambda one: one.value)
        if periods:
            worst = periods[0] if "<" in limit else periods[-1]
            noun = "period" if len(periods) == 1 else "periods"
            parts.append(f"in {len(periods)} {noun}, most in {worst.period}: {worst.value:.4g}")
        lines.append(f"{limit}: {'; '.join(parts)}")
    return lines


@dataclass(frozen=True)
class Limit:
    """A limit of a figure."""

    name: str
    is_above: bool
    number: float

    def passed_by(self, watched: Watched, period: str | None = None) -> Alarm | None:
        """The alarm, if the figure is known and beyond the limit."""
        value = FIGURES[self.name][0](watched)
        if value is None or not (value > self.number if self.is_above else value < self.number):
            return None
        return Alarm(str(self), value, period)

    def __str__(self) -> str:
        return f"{self.name}{'>' if self.is_above else '<'}{self.number:g}"


def _largest_psi(watched: Watched) -> float | None:
    """The largest index of columns whose drift is more than chance explains. With few rows, chance makes it large."""
    return max((one.psi for one in watched.drifts if one.is_real), default=0.0)


def _largest(values: Sequence[float | None]) -> float:
    return max((value for value in values if value is not None), default=0.0)


FIGURES: dict[str, tuple[Callable[[Watched], float | None], str]] = {
    "psi": (_largest_psi, "the largest index of a column whose drift is more than chance explains"),
    "drifted": (
        lambda one: float(sum(each.is_large for each in one.drifts)),
        "columns with an index of 0.1 or more, and more drift than chance explains",
    ),
    "score_psi": (
        lambda one: None if one.score_drift is None else one.score_drift.psi if one.score_drift.is_real else 0.0,
        "the index of the scores, if their drift is more than chance explains",
    ),
    "missing": (
        lambda one: _largest([each.missing - each.missing_before for each in one.drifts]),
        "the largest rise of a column's share of missing values",
    ),
    "unseen": (
        lambda one: _largest([each.unseen for each in one.drifts]),
        "the largest share of rows with a category that is new",
    ),
    "alerts": (lambda one: None if one.n_alerts is None else float(one.n_alerts), "alerts, in each period with --by"),
    "alert_share": (lambda one: None if one.n_alerts is None else one.n_alerts / one.n_rows, "alerts per row"),
    "expected_share": (
        lambda one: None if one.estimate is None else one.estimate.expected / one.n_rows,
        "the share of rare rows that probabilities expect",
    ),
    "precision": (lambda one: None if one.estimate is None else one.estimate.precision, "the estimated precision"),
    "recall": (lambda one: None if one.estimate is None else one.estimate.recall, "the estimated recall"),
    "found_precision": (
        lambda one: None if one.arrived is None else one.arrived.precision,
        "the precision among rows whose labels are known",
    ),
}


def parse_limit(text: str) -> Limit:
    """A limit from its text.

    >>> str(parse_limit("psi > 0.25"))
    'psi>0.25'
    """
    found = _WRITTEN.fullmatch(str(text))
    if found is None or found[1] not in FIGURES:
        known = "; ".join(f"{name}: {meaning}" for name, (_, meaning) in FIGURES.items())
        raise ValueError(f"{text!r} is not a limit such as 'psi>0.25' or 'precision<0.5'. The figures are: {known}.")
    return Limit(found[1], found[2] == ">", float(found[3]))
