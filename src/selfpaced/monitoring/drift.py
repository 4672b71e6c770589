"""The drift of columns since a reference was counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from selfpaced.monitoring.reference import FeatureReference, Reference, are_numbers, as_table, columns_in
from selfpaced.tables import kind_of

Counts = NDArray[np.int64]

# The rate of false alarms: with rows like those of the reference, so many monitorings in a hundred name any column.
ERROR_RATE = 0.01
# The chi-squared distribution is close enough where so many rows are expected in each bin.
FEWEST_EXPECTED = 5.0
# What the field calls some drift.
SOME_DRIFT = 0.1
SMOOTHING = 0.5  # rows added to each bin, so that an empty one does not make the index infinite


@dataclass(frozen=True)
class Drift:
    """The drift of a column.

    Attributes
    ----------
    psi : float
        The population stability index: 0 without any drift; 0.1 is called some drift and 0.25 much.
    p_value : float
        The p-value of a chi-squared test that reference and new rows have the same shares of bins, corrected for the
        number of columns by Holm's method.
    missing_before, missing : float
        The shares of rows with a missing value, in the reference and now.
    unseen : float | None, default=None
        The share of rows with a category that the model has not been trained with; None for numbers.
    """

    name: str
    psi: float
    p_value: float
    missing_before: float
    missing: float
    unseen: float | None = None

    @property
    def is_real(self) -> bool:
        """Whether the drift is more than chance explains. With many rows this is true for almost every column."""
        return self.p_value < ERROR_RATE

    @property
    def is_large(self) -> bool:
        """Whether the drift is more than chance explains, and large enough to look at the column."""
        return self.is_real and self.psi >= SOME_DRIFT


def measure_drift(reference: Reference, X: Any) -> list[Drift]:
    """The drift of each column of some rows since the reference.

    Parameters
    ----------
    reference : Reference
        The result of `make_reference`, or `read_card(path).reference`.
    X : {array-like, data frame} of shape (n_rows, n_features)
        The features of new rows, of the same kind as for `make_reference`.

    Returns
    -------
    list of Drift
        One for each column, the largest index first.

    Raises
    ------
    ValueError
        If X lacks a column of the reference.

    See Also
    --------
    make_reference : Makes the reference.
    estimate_quality : Estimates of the quality without labels.

    Examples
    --------
    >>> import numpy as np
    >>> from selfpaced.monitoring import make_reference
    >>> rng = np.random.default_rng(0)
    >>> reference = make_reference(rng.normal(size=(2000, 3)), rng.random(2000))
    >>> [drift.name for drift in measure_drift(reference, rng.normal([0, 1, 0], size=(2000, 3))) if drift.is_real]
    ['x1']
    """
    features, counts = {feature.name: feature for feature in reference.features}, {}
    rows = as_table(X)
    for name, values in columns_in(rows):
        if name in features:
            counts[name] = count_values(features[name], values)
    missing = [name for name in features if name not in counts]
    if missing:
        own = [str(name) for name in kind_of(rows).names(rows)]
        raise ValueError(f"X has no column {missing[0]!r}, which the reference has. Its columns are {own}.")
    return drift_of_counts(reference.features, counts)


def count_values(feature: FeatureReference, values: Any) -> Counts:
    """The rows of a column in each place of `feature.all_counts`. Numbers for strings, and the reverse, are refused."""
    if are_numbers(values) != (feature.kind == "number"):
        was, now = ("numbers", "strings") if feature.kind == "number" else ("strings", "numbers")
        raise ValueError(f"Column {feature.name!r} holds {now}, but the reference has {was}.")
    return np.bincount(feature.places_of(values), minlength=len(feature.counts) + 1)


def drift_of_counts(
    features: Sequence[FeatureReference], counts: Mapping[str, Counts], unseen: Mapping[str, float] | None = None
) -> list[Drift]:
    """The drift of columns whose new rows have been counted, the largest index first."""
    kept = [feature for feature in features if feature.name in counts]
    p_values = holm([p_value(feature.all_counts, counts[feature.name]) for feature in kept])
    found = [
        Drift(
            feature.name,
            psi(feature.all_counts, counts[feature.name]),
            p,
            float(feature.all_counts[-1] / max(feature.all_counts.sum(), 1)),
            float(counts[feature.name][-1] / max(counts[feature.name].sum(), 1)),
            (unseen or {}).get(feature.name),
        )
        for feature, p in zip(kept, p_values, strict=True)
    ]
    return sorted(found, key=lambda one: (-one.psi, one.name))


def psi(before: Counts, now: Counts) -> float:
    """The population stability index of two counts of the same bins.

    >>> round(psi(np.array([50, 50]), np.array([50, 50])), 3), round(psi(np.array([50, 50]), np.array([80, 20])), 2)
    (0.0, 0.41)
    """
    used = before + now > 0
    shares = [(each[used] + SMOOTHING) / (each[used] + SMOOTHING).sum() for each in (before, now)]
    return float(np.sum((shares[1] - shares[0]) * np.log(shares[1] / shares[0])))


def p_value(before: Counts, now: Counts) -> float:
    """The p-value of a chi-squared test that two counts of bins have the same shares. Small bins are put together."""
    n_before, n_now = float(before.sum()), float(now.sum())
    if not n_before or not n_now:
        return 1.0
    share = min(n_before, n_now) / (n_before + n_now)
    total = before + now
    large = total * share >= FEWEST_EXPECTED
    a, b = (np.append(each[large], each[~large].sum()).astype(np.float64) for each in (before, now))
    both = a + b
    a, b, both = a[both > 0], b[both > 0], both[both > 0]
    if both.size < 2:
        return 1.0
    statistic = np.sum((a * np.sqrt(n_now / n_before) - b * np.sqrt(n_before / n_now)) ** 2 / both)
    return float(chi2.sf(statistic, both.size - 1))


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected by Holm's method: without drift, the smallest one is below 5% in at most 5% of the cases.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    adjusted, highest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(order.tolist()):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = highest
    return adjusted


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
