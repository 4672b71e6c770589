"""What rows were like at training, and how far new rows have drifted from it."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from decimal import Decimal
from functools import partial
from math import floor, log10
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import chi2
from sklearn.utils import assert_all_finite, column_or_1d

from selfpaced.tables import checked_moments, is_frame, kind_of, refuse_infinity

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

MOST_ROWS = 50_000
N_BINS = 10
FEW_VALUES = 20  # of a column with no more different numbers, each is counted by itself
FEWEST_ROWS = 10  # of a bin, or of a number or a category that is named
MOST_CATEGORIES = 30
LONGEST_CATEGORY = 60
MOST_BYTES = 200_000
DIGITS = 3  # of the ends of bins, within the range of most values

SCORE_SHARES = (0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999)

# The rate of false alarms: with rows like those of the reference, so many monitorings in a hundred name any column.
ERROR_RATE = 0.01
# The chi-squared distribution is close enough where so many rows are expected in each bin.
FEWEST_EXPECTED = 5.0
# What the field calls some drift.
SOME_DRIFT = 0.1
SMOOTHING = 0.5  # rows added to each bin, so that an empty one does not make the index infinite


@dataclass(frozen=True)
class FeatureReference:
    name: str
    kind: str  # "number" or "category"
    n_missing: int  # rows with a missing value
    # The rows of each of `numbers` and in each bin of the other numbers; or of each category, and of all others.
    counts: tuple[int, ...]
    numbers: tuple[float, ...] = ()  # that are counted one by one, because many rows have them
    edges: tuple[float, ...] = ()  # the inner ends of the bins of the others; a bin holds the values up to its end
    categories: tuple[str, ...] = ()  # that are counted one by one

    @property
    def all_counts(self) -> Counts:
        """The counts, with the number of missing values at the end."""
        return np.array([*self.counts, self.n_missing], dtype=np.int64)

    def fits(self, column: Any) -> bool:
        """Whether a column is of the same kind: numbers or strings. A column without any value fits both."""
        return are_numbers(column) == (self.kind == "number") or not any(self.counts) or bool(_missing(column).all())

    def places_of(self, column: Any) -> NDArray[np.intp]:
        """The place in `all_counts` of each value of a column: floats with NaN, or strings with None."""
        if not self.fits(column):
            was, now = ("numbers", "strings") if self.kind == "number" else ("strings", "numbers")
            raise ValueError(f"Column {self.name!r} holds {now}, but the reference has {was}.")
        last = len(self.counts)
        if are_numbers(column) != (self.kind == "number"):  # either the reference or the column has no value
            return np.where(_missing(column), last, last - 1)
        if self.kind == "category":
            known = {value: place for place, value in enumerate(self.categories)}
            return np.array([last if each is None else known.get(each, last - 1) for each in column], dtype=np.intp)
        places = len(self.numbers) + np.searchsorted(np.array(self.edges), column, side="left")
        if self.numbers:
            named, compared = np.array(self.numbers), _as_compared(column)
            nearest = np.searchsorted(named, compared).clip(max=named.size - 1)
            places = np.where(named[nearest] == compared, nearest, places)
        return np.where(np.isnan(column), last, places)


@dataclass(frozen=True)
class Reference:
    """The distribution of rows and scores when a model was judged.

    Attributes
    ----------
    n_rows : int
        The number of rows that were scored.
    n_counted : int
        The number of them whose columns were counted: all of them, or a sample.
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
    n_counted: int
    features: tuple[FeatureReference, ...]
    scores: FeatureReference
    mean_score: float
    threshold: float | None = None
    alert_share: float | None = None
    n_features_not_kept: int = 0


def make_reference(X: Any, scores: Any, *, threshold: float | None = None, is_sample: bool = False) -> Reference:
    """The reference of a model, from rows that it was not trained on.

    Parameters
    ----------
    X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)
        The features as the model reads them. At most 50,000 rows are counted, evenly spaced.
    scores : array-like of shape (n_rows,)
        The model's scores of these rows. All of them are counted.
    threshold : float, default=None
        The lowest score of an alert.
    is_sample : bool, default=False
        Whether X has only some of the rows that the scores belong to.

    Returns
    -------
    Reference
        For `save_model(..., reference=)`, or for `measure_drift`.

    Raises
    ------
    ValueError
        If X has no rows, a column twice or infinite values, or if the scores are not one finite number for each row.

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
    rows, given = _table(X), finite_numbers(scores, "scores")
    n_rows = rows.shape[0]
    if n_rows > given.size or (n_rows < given.size and not is_sample):
        raise ValueError(
            f"X has {n_rows:,} rows, but there are {given.size:,} scores. Give the score of each row of X; or, if X is "
            "a sample of the rows that were scored, is_sample=True."
        )
    if n_rows > MOST_ROWS:
        rows = kind_of(rows).take(rows, np.linspace(0, n_rows - 1, MOST_ROWS).astype(np.intp))
    reference = Reference(
        int(given.size),
        int(rows.shape[0]),
        tuple(feature_reference(name, values()) for name, values in _columns(rows).items()),
        number_reference("score", given, SCORE_SHARES),
        float(given.mean()),
        threshold,
        None if threshold is None else float((given >= finite_numbers([threshold], "threshold")).mean()),
    )
    return _small_enough(reference)


def finite_numbers(given: Any, name: str) -> Floats:
    """One finite number for each row, as floats. `name` is what errors call them."""
    values = np.asarray(column_or_1d(given), dtype=np.float64)
    assert_all_finite(values, input_name=name)
    return values


def _table(X: Any) -> Any:
    """Frames and sparse matrices as they are; everything else as an array of numbers. Some rows are needed."""
    rows = X if is_frame(X) or sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    if len(rows.shape) != 2 or not rows.shape[0]:
        raise ValueError(f"X must be a table with rows and columns, and at least one row; its shape is {rows.shape}.")
    return rows


def _columns(rows: Any) -> dict[str, Callable[[], Any]]:
    """The columns of a table of any kind, by their names, which must differ. Infinite values are refused."""
    names = [str(name) for name in kind_of(rows).names(rows)]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"X has several columns with the name {twice!r}. Give each column its own name.")

    def read(position: int) -> Any:
        values = values_of(kind_of(rows).column(rows, position))
        if are_numbers(values):
            refuse_infinity(values, f"Column {names[position]!r}")
        return values

    return {name: partial(read, position) for position, name in enumerate(names)}


def values_of(column: Any) -> Any:
    """The values of a column: floats with NaN for numbers and (in seconds) dates; else a list of strings with None.

    Columns of Python objects are what their values are, as for a model.
    """
    if column.is_number or column.is_date:
        return column.floats()
    texts = column.texts()
    known = [value for value, text in zip(column.objects(), texts, strict=True) if text is not None]
    if known and all(isinstance(value, date) for value in known):
        numbers = checked_moments(np.array(known, dtype=object)).astype(np.int64) / 1e6
    elif known and all(isinstance(value, Real | Decimal | np.bool_) for value in known):
        numbers = np.array(known, dtype=np.float64)
    else:
        return texts
    found = np.full(len(texts), np.nan)
    found[[text is not None for text in texts]] = numbers
    return found


def are_numbers(values: Any) -> bool:
    return isinstance(values, np.ndarray) and values.dtype.kind == "f"


def _missing(values: Any) -> NDArray[np.bool_]:
    return np.isnan(values) if are_numbers(values) else np.array([value is None for value in values], dtype=bool)


def _as_compared(numbers: Floats) -> Floats:
    """Numbers as they are compared one by one: fractions with 32 bits, because some arrays and files have no more."""
    with np.errstate(over="ignore"):
        return np.where(numbers == np.rint(numbers), numbers, numbers.astype(np.float32))


def feature_reference(name: str, column: Any) -> FeatureReference:
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
    """The distribution of numbers: of those that many rows have, one by one, and of the others by bins.

    The bins have equally many rows, or end at `shares` of all rows. No number is named that few rows have.
    """
    known = np.sort(column[~np.isnan(column)])
    compared = _as_compared(known)
    distinct, n_each = np.unique(compared, return_counts=True)
    is_discrete = distinct.size <= FEW_VALUES
    is_named = n_each >= max(FEWEST_ROWS, 0 if is_discrete else known.size / N_BINS)
    if shares is not None:
        is_discrete, is_named = False, np.zeros(distinct.size, dtype=bool)
    others = known[~np.isin(compared, distinct[is_named])]
    edges = np.empty(0)
    if others.size and not is_discrete:
        wanted = np.arange(1, N_BINS) / N_BINS if shares is None else np.asarray(shares)
        edges = np.unique(_rounded(np.quantile(others, wanted, method="inverted_cdf")))
    counts = np.bincount(np.searchsorted(edges, others, side="left"), minlength=edges.size + 1)
    ends, sizes = _merged(edges.tolist(), counts.tolist())
    values, n_rows = distinct[is_named].tolist(), n_each[is_named].tolist()
    return FeatureReference(name, "number", column.size - known.size, (*n_rows, *sizes), tuple(values), tuple(ends))


def _rounded(edges: Floats) -> Floats:
    """The ends of bins, rounded to a few digits of their range, so that they are not values of rows."""
    spread = float(edges[-1] - edges[0])
    if spread <= 1e-300 or not np.isfinite(spread):
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
        If X has no rows, lacks a column of the reference, or has strings where the reference has numbers.

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
    rows, features = _table(X), reference.features
    columns = _columns(rows)
    missing = [feature.name for feature in features if feature.name not in columns]
    if missing:
        raise ValueError(f"X has no column {missing[0]!r}, which the reference has. Its columns are {list(columns)}.")
    n_columns = len(features) + reference.n_features_not_kept
    if not is_frame(rows) and len(columns) != n_columns:
        raise ValueError(f"X has {len(columns)} columns, but the reference was made of {n_columns}.")
    return drift_of_counts(features, {one.name: count_values(one, columns[one.name]()) for one in features})


def count_values(feature: FeatureReference, values: Any) -> Counts:
    """The rows of a column in each place of `feature.all_counts`."""
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
    large = (before + now) * min(n_before, n_now) / (n_before + n_now) >= FEWEST_EXPECTED
    a, b = (np.append(each[large], each[~large].sum()).astype(np.float64) for each in (before, now))
    used = a + b > 0
    statistic = np.sum((a * np.sqrt(n_now / n_before) - b * np.sqrt(n_before / n_now))[used] ** 2 / (a + b)[used])
    return float(chi2.sf(statistic, used.sum() - 1)) if used.sum() > 1 else 1.0


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected by Holm's method: without drift, the smallest one is below 5% in at most 5% of the cases.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order, corrected = np.argsort(p_values, kind="stable"), np.empty(len(p_values))
    steps = np.arange(len(p_values), 0, -1) * np.asarray(p_values)[order]
    corrected[order] = np.maximum.accumulate(np.minimum(steps, 1.0))
    return [float(one) for one in corrected]


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
