"""What rows were like at training, and how far new rows have drifted from it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime
from math import floor, log10
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import chi2

from selfpaced.tables import is_frame, kind_of

Floats = NDArray[np.float64]

MOST_ROWS = 50_000
N_BINS = 10
FEW_VALUES = 20  # a column with no more different numbers has a bin for each
FEWEST_ROWS = 10  # of a bin, or of a category that is named
MOST_CATEGORIES = 30
LONGEST_CATEGORY = 60
MOST_BYTES = 200_000
DIGITS = 3  # of the ends of bins, within the range of most values

SCORE_SHARES = (0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999)


@dataclass(frozen=True)
class FeatureReference:
    """The distribution of a column.

    Attributes
    ----------
    kind : str
        "number" or "category".
    n_missing : int
        The number of rows with a missing value.
    edges : tuple[float, ...]
        The inner ends of the bins of numbers. A bin holds the values up to its end.
    categories : tuple[str, ...]
        The categories that are counted one by one.
    counts : tuple[int, ...]
        The number of rows in each bin; or of each category, and at the end of all other categories.
    """

    name: str
    kind: str
    n_missing: int
    counts: tuple[int, ...]
    edges: tuple[float, ...] = ()
    categories: tuple[str, ...] = ()

    @property
    def all_counts(self) -> NDArray[np.int64]:
        """The counts, with the number of missing values at the end."""
        return np.array([*self.counts, self.n_missing], dtype=np.int64)

    def places_of(self, column: Any) -> NDArray[np.intp]:
        """The place in `all_counts` of each value of a column: floats with NaN, or strings with None."""
        last = len(self.counts)
        if self.kind == "number":
            numbers = np.asarray(column, dtype=np.float64)
            return np.where(np.isnan(numbers), last, np.searchsorted(np.array(self.edges), numbers, side="left"))
        known = {value: place for place, value in enumerate(self.categories)}
        texts = ["" if value is None else value for value in column]
        is_missing = np.array([value is None for value in column], dtype=bool)
        places = np.array([known.get(value, last - 1) for value in texts], dtype=np.intp)
        return np.where(is_missing, last, places)


@dataclass(frozen=True)
class Reference:
    """The distribution of rows and scores when a model was judged.

    Attributes
    ----------
    n_rows : int
        The number of rows that were counted.
    features : tuple[FeatureReference, ...]
        The distributions of the columns.
    scores : FeatureReference
        The distribution of the scores.
    mean_score : float
        The mean score; if scores are probabilities, the expected share of rare rows.
    threshold, alert_share : float | None, default=None
        The model's threshold, if it has one, and the share of rows at or above it.
    n_features_not_kept : int, default=0
        The number of columns that are not kept, to limit the size of the reference.
    """

    n_rows: int
    features: tuple[FeatureReference, ...]
    scores: FeatureReference
    mean_score: float
    threshold: float | None = None
    alert_share: float | None = None
    n_features_not_kept: int = 0


def make_reference(X: Any, scores: Any, *, threshold: float | None = None) -> Reference:
    """The reference of a model, from rows that it was not trained on.

    Parameters
    ----------
    X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)
        The features as the model reads them, of all rows or of a sample. At most 50,000 are counted, evenly spaced.
    scores : array-like of shape (n_rows,)
        The model's scores of these rows. All of them are counted.
    threshold : float, default=None
        The lowest score of an alert.

    Returns
    -------
    Reference
        For `save_model(..., reference=)`, or for `measure_drift`.

    Raises
    ------
    ValueError
        If X has no rows.

    See Also
    --------
    measure_drift : The drift of new rows since the reference.
    selfpaced.save_model : Saves the reference with the model.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> reference = make_reference(rng.normal(size=(1000, 2)), rng.random(1000))
    >>> [feature.name for feature in reference.features], len(reference.features[0].counts)
    (['x0', 'x1'], 10)
    """
    given = np.asarray(scores, dtype=np.float64)
    if not given.size:
        raise ValueError("X has no rows. A reference needs at least one.")
    rows = as_table(X)
    if rows.shape[0] > MOST_ROWS:
        rows = kind_of(rows).take(rows, np.linspace(0, rows.shape[0] - 1, MOST_ROWS).astype(np.intp))
    features = tuple(feature_reference(name, column) for name, column in columns_in(rows))
    reference = Reference(
        int(given.size),
        features,
        number_reference("score", given, SCORE_SHARES),
        float(given.mean()),
        threshold,
        None if threshold is None else float((given >= threshold).mean()),
    )
    return _small_enough(reference)


def columns_in(X: Any) -> Iterator[tuple[str, Any]]:
    """The columns of a table of any kind, by name: floats with NaN, or lists of strings with None."""
    return ((str(name), values_of(column)) for name, column in kind_of(X).columns(X))


def as_table(X: Any) -> Any:
    """Frames and sparse matrices as they are; everything else as an array of numbers."""
    return X if is_frame(X) or sparse.issparse(X) else np.asarray(X, dtype=np.float64)


def values_of(column: Any) -> Any:
    """The values of a column: floats with NaN for numbers and (in seconds) dates; else a list of strings with None."""
    if column.is_number:
        return column.floats()
    values = [None if is_missing(value) else value for value in column.objects()]
    some = next((value for value in values if value is not None), None)
    if isinstance(some, date | np.datetime64):
        return np.array([np.nan if value is None else _seconds(value) for value in values])
    return [None if value is None else str(value) for value in values]


def are_numbers(values: Any) -> bool:
    return isinstance(values, np.ndarray) and values.dtype.kind == "f"


def is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def _seconds(moment: Any) -> float:
    """A date or a time as seconds since 1970. Times without a zone are UTC."""
    if isinstance(moment, np.datetime64):
        return float(moment.astype("datetime64[us]").astype(np.int64) / 1e6)
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
    return float((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())


def feature_reference(name: str, column: Any) -> FeatureReference:
    """The distribution of a column."""
    if are_numbers(column):
        return number_reference(name, column)
    known = [value for value in column if value is not None]
    values, counts = np.unique(np.array(known, dtype=object).astype(str), return_counts=True)
    order = np.argsort(-counts, kind="stable")
    named = [place for place in order if counts[place] >= FEWEST_ROWS and len(values[place]) <= LONGEST_CATEGORY]
    kept = [int(place) for place in named[:MOST_CATEGORIES]]
    n_others = int(counts.sum()) - int(counts[kept].sum())
    n_missing = len(column) - len(known)
    return FeatureReference(
        name, "category", n_missing, (*counts[kept].tolist(), n_others), categories=tuple(values[kept].tolist())
    )


def number_reference(name: str, column: Floats, shares: Sequence[float] | None = None) -> FeatureReference:
    """The distribution of numbers, by bins of equally many rows, or by bins that end at `shares` of the rows."""
    known = np.sort(column[~np.isnan(column)])
    n_missing = int(column.size - known.size)
    distinct, n_each = np.unique(known, return_counts=True)
    if distinct.size <= FEW_VALUES and shares is None:
        edges = distinct[:-1][n_each[:-1] >= FEWEST_ROWS]
    else:
        wanted = np.arange(1, N_BINS) / N_BINS if shares is None else np.asarray(shares)
        edges = np.unique(_rounded(np.quantile(known, wanted, method="inverted_cdf"))) if known.size else np.empty(0)
    counts = np.bincount(np.searchsorted(edges, known, side="left"), minlength=edges.size + 1)
    ends, sizes = _merged(edges.tolist(), counts.tolist())
    return FeatureReference(name, "number", n_missing, tuple(sizes), edges=tuple(ends))


def _rounded(edges: Floats) -> Floats:
    """The ends of bins, rounded to a few digits of their range, so that they are not values of rows."""
    spread = float(edges[-1] - edges[0])
    if spread <= 0 or not np.isfinite(spread):
        return edges
    unit = 10.0 ** (floor(log10(spread)) - DIGITS)
    return np.round(edges / unit) * unit


def _merged(edges: list[float], counts: list[int]) -> tuple[list[float], list[int]]:
    """Bins with too few rows are put together with the smaller of their neighbours."""
    while edges and min(counts) < FEWEST_ROWS:
        place = counts.index(min(counts))
        left = place > 0 and (place == len(counts) - 1 or counts[place - 1] <= counts[place + 1])
        other = place - 1 if left else place + 1
        first = min(place, other)
        counts[first : first + 2] = [counts[place] + counts[other]]
        del edges[first]
    return edges, counts


def _small_enough(reference: Reference) -> Reference:
    """The reference with as many columns as fit, and the number of the others."""
    sizes = np.cumsum([_size(asdict(feature)) for feature in reference.features])
    room = MOST_BYTES - _size(asdict(replace(reference, features=())))
    n_kept = int((sizes <= room).sum())
    n_not_kept = len(reference.features) - n_kept
    return replace(reference, features=reference.features[:n_kept], n_features_not_kept=n_not_kept)


def _size(facts: Any) -> int:
    """The size in bytes of facts in a card, whose lines are indented."""
    text = json.dumps(facts, indent=1)
    return len(text.encode()) + 8 * (text.count("\n") + 1)


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
