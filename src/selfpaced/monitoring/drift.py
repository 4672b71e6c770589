"""The drift of columns since a reference was counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from selfpaced.monitoring.reference import FeatureReference, Reference, columns_in

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


def drift_since(reference: Reference, X: Any) -> list[Drift]:
    """The drift of each column of some rows since the reference.

    Parameters
    ----------
    reference : Reference
        The result of `reference_of`, or `read_card(path).reference`.
    X : {array-like, data frame} of shape (n_rows, n_features)
        The features of new rows, of the same kind as for `reference_of`.

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
    reference_of : Makes the reference.
    estimated : Estimates of the quality without labels.

    Examples
    --------
    >>> import numpy as np
    >>> from selfpaced.monitoring import reference_of
    >>> rng = np.random.default_rng(0)
    >>> reference = reference_of(rng.normal(size=(2000, 3)), rng.random(2000))
    >>> [drift.name for drift in drift_since(reference, rng.normal([0, 1, 0], size=(2000, 3))) if drift.is_real]
    ['x1']
    """
    columns = dict(columns_in(X))
    missing = [feature.name for feature in reference.features if feature.name not in columns]
    if missing:
        raise ValueError(f"X has no column {missing[0]!r}, which the reference has. Its columns are {list(columns)}.")
    counts = {each.name: counted(each, columns[each.name]) for each in reference.features}
    return drifts(reference.features, counts)


def counted(feature: FeatureReference, column: Any) -> Counts:
    """The rows of a column in each place of the reference's counts."""
    if isinstance(column, np.ndarray) != (feature.kind == "number"):
        was, now = ("numbers", "strings") if feature.kind == "number" else ("strings", "numbers")
        raise ValueError(f"Column {feature.name!r} holds {now}, but the reference has {was}.")
    return np.bincount(feature.places_of(column), minlength=len(feature.counts) + 1)


def drifts(
    features: Sequence[FeatureReference], counts: Mapping[str, Counts], unseen: Mapping[str, float] | None = None
) -> list[Drift]:
    """The drift of columns whose new rows have been counted, the largest index first."""
    kept = [feature for feature in features if feature.name in counts]
    p_values = corrected([p_value(feature.all_counts, counts[feature.name]) for feature in kept])
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


def corrected(p_values: Sequence[float]) -> list[float]:
    """P-values corrected by Holm's method: without drift, the smallest one is below 5% in at most 5% of the cases.

    >>> corrected([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    adjusted, highest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(order.tolist()):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = highest
    return adjusted
