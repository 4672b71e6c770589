"""Measures of alerts for a rare class, at a threshold or for a number of alerts.

A row is an alert if its score is at or above the threshold. The rare class is 1 if the labels are 0 and 1, -1 and 1, or
booleans. `pos_label` names the rare class; for all other labels it must be given.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import assert_all_finite, column_or_1d

Number = Any  # a number, or an array with one of them for each threshold
ROWS_AT_ONCE = 2**18


@dataclass(frozen=True)
class Alerts:
    """Counts of alerts: of one threshold, or arrays with one entry for each of several thresholds.

    A measure that divides by 0 is 0, such as the precision without alerts.

    Attributes
    ----------
    true_positives, false_positives : int, float or ndarray
        Alerts that are positives, and alerts that are negatives.
    false_negatives, true_negatives : int, float or ndarray
        Positives without an alert, and negatives without an alert.
    """

    true_positives: Number
    false_positives: Number
    false_negatives: Number
    true_negatives: Number

    @property
    def n_alerts(self) -> Number:
        """The number of alerts."""
        return self.true_positives + self.false_positives

    @property
    def n_rows(self) -> Number:
        """The number of rows."""
        return self.n_alerts + self.false_negatives + self.true_negatives

    @property
    def alert_share(self) -> Number:
        """The share of rows that are alerts."""
        return _share(self.n_alerts, self.n_rows)

    @property
    def precision(self) -> Number:
        """The share of alerts that are positives."""
        return _share(self.true_positives, self.n_alerts)

    @property
    def recall(self) -> Number:
        """The share of positives that are alerts; also called sensitivity."""
        return _share(self.true_positives, self.true_positives + self.false_negatives)

    @property
    def specificity(self) -> Number:
        """The share of negatives without an alert."""
        return _share(self.true_negatives, self.true_negatives + self.false_positives)

    @property
    def f1(self) -> Number:
        """The harmonic mean of precision and recall."""
        return _share(2 * self.true_positives, self.n_alerts + self.true_positives + self.false_negatives)

    @property
    def precision_recall_gmean(self) -> Number:
        """The geometric mean of precision and recall: what the paper on Self-paced Ensemble calls G-mean."""
        return np.sqrt(self.precision * self.recall)

    @property
    def sensitivity_specificity_gmean(self) -> Number:
        """The geometric mean of the recalls of both classes: what imbalanced-learn calls G-mean."""
        return np.sqrt(self.recall * self.specificity)

    @property
    def mcc(self) -> Number:
        """Matthews' correlation of alerts and labels."""
        tp, fp, fn, tn = (
            np.asarray(count, dtype=np.float64)  # the products of four counts exceed the range of integers
            for count in vars(self).values()
        )
        return _share(tp * tn - fp * fn, np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)))


MEASURES: dict[str, Callable[[Alerts], Number]] = {
    name: attrgetter(name) for name in ("f1", "precision_recall_gmean", "sensitivity_specificity_gmean", "mcc")
}


class Ranking:
    """Rows in the order of their scores, to measure their AUCPRC with many weights of the rows. Sorting is the work.

    >>> ranking = Ranking(np.array([0.1, 0.4, 0.35, 0.8]), np.array([False, False, True, True]))
    >>> ranking.aucprc(np.ones(4)), ranking.aucprc(np.array([1, 0, 1, 1]))
    (0.8333333333333333, 1.0)
    """

    def __init__(self, scores: NDArray[Any], is_positive: NDArray[np.bool_]) -> None:
        self._order = np.argsort(-scores, kind="stable")
        self._is_positive = is_positive[self._order]
        ordered = scores[self._order]
        # Rows with equal scores are taken together.
        self._ends = np.append(np.flatnonzero(ordered[1:] != ordered[:-1]), scores.size - 1)

    def aucprc(self, weights: NDArray[Any]) -> float:
        """The area if every row counts with its weight, such as the number of times it was drawn."""
        ordered = weights[self._order]
        return area_of(np.cumsum(ordered * self._is_positive)[self._ends], np.cumsum(ordered)[self._ends])


N_RESAMPLES = 200


def resampled(is_rare: NDArray[np.bool_], scores: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[np.float64]]:
    """The AUCPRC of every method on many draws of the test rows with replacement. All methods have the same draws.

    So random effects that two methods share cancel out in the difference. Each row is drawn a number of times that has
    a Poisson distribution, which is the bootstrap but for the total.
    """
    rng = np.random.default_rng(0)
    rankings = {name: Ranking(each, is_rare) for name, each in scores.items()}
    areas: dict[str, list[float]] = {name: [] for name in scores}
    for _ in range(N_RESAMPLES):
        counts = rng.poisson(1.0, is_rare.size).astype(np.float64)
        if not counts[is_rare].any():
            continue  # without a rare row there is no AUCPRC
        for name, ranking in rankings.items():
            areas[name].append(ranking.aucprc(counts))
    return {name: np.array(found) for name, found in areas.items()}


def area_of(found: NDArray[Any], n_alerts: NDArray[Any]) -> float:
    """The area under the precision-recall curve, by the positives and the alerts at each threshold from the highest.

    >>> area_of(np.array([1, 1, 2]), np.array([1, 2, 3]))
    0.8333333333333333
    """
    return float(np.sum(_share(found, n_alerts) * np.diff(found, prepend=0)) / found[-1])


def aucprc(y_true: ArrayLike, scores: ArrayLike, *, pos_label: Any = None, sample_weight: Any = None) -> float:
    """The area under the precision-recall curve, as scikit-learn's average precision.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Labels.
    scores : array-like of shape (n_rows,)
        Scores of the rare class.
    pos_label : label, default=None
        The label of the rare class. By default 1, if the labels are 0 and 1, -1 and 1, or booleans.
    sample_weight : array-like of shape (n_rows,), default=None
        How many rows each row stands for.

    Returns
    -------
    float
        The area, between 0 and 1.

    See Also
    --------
    sklearn.metrics.average_precision_score : The same measure.

    Examples
    --------
    >>> aucprc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.8333333333333333
    """
    is_positive, values = as_bools(y_true, scores, pos_label)
    if sample_weight is not None:
        return Ranking(values.astype(np.float64), is_positive).aucprc(np.asarray(sample_weight, dtype=np.float64))
    levels, positives = np.unique(values[is_positive], return_counts=True)
    # Not all rows need be sorted: between two positives only the number of negatives matters.
    negatives = np.zeros(levels.size + 1, dtype=np.int64)
    for start in range(0, values.size, ROWS_AT_ONCE):
        here = slice(start, start + ROWS_AT_ONCE)
        levels_reached = np.searchsorted(levels, values[here][~is_positive[here]], side="right")
        negatives += np.bincount(levels_reached, minlength=levels.size + 1)
    found = np.cumsum(positives[::-1])
    return area_of(found, found + np.cumsum(negatives[:0:-1]))


def alerts_at_threshold(y_true: ArrayLike, scores: ArrayLike, threshold: float, *, pos_label: Any = None) -> Alerts:
    """The alerts if all rows with a score of at least `threshold` are flagged.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Labels.
    scores : array-like of shape (n_rows,)
        Scores of the rare class.
    threshold : float
        The lowest score of an alert.
    pos_label : label, default=None
        The label of the rare class. By default 1, if the labels are 0 and 1, -1 and 1, or booleans.

    Returns
    -------
    Alerts
        Counts, with precision, recall and other measures.

    See Also
    --------
    alerts_at_k : The alerts of a budget.
    best_threshold : The best threshold by a measure.

    Examples
    --------
    >>> alerts_at_threshold([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], 0.5)
    Alerts(true_positives=1, false_positives=0, false_negatives=1, true_negatives=2)
    """
    is_positive, values = as_bools(y_true, scores, pos_label)
    is_alert = values >= threshold
    return _alerts(is_positive, int(np.sum(is_positive & is_alert)), int(np.sum(is_alert)))


def alerts_at_k(y_true: ArrayLike, scores: ArrayLike, k: int, *, pos_label: Any = None) -> Alerts:
    """The alerts if exactly the `k` rows with the highest scores are flagged.

    Rows with equal scores share the last places, so the result does not depend on their order: the counts are then
    the mean over random choices among them.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Labels.
    scores : array-like of shape (n_rows,)
        Scores of the rare class.
    k : int
        The number of alerts.
    pos_label : label, default=None
        The label of the rare class. By default 1, if the labels are 0 and 1, -1 and 1, or booleans.

    Returns
    -------
    Alerts
        Counts, with precision, recall and other measures.

    Raises
    ------
    ValueError
        If `k` is not between 1 and the number of rows.

    See Also
    --------
    alerts_at_threshold : The alerts at a threshold.

    Examples
    --------
    >>> float(alerts_at_k([0, 1, 0, 0], [0.9, 0.5, 0.5, 0.1], 2).precision)
    0.25
    """
    is_positive, values = as_bools(y_true, scores, pos_label)
    if not isinstance(k, Integral) or not 0 < k <= values.size:
        raise ValueError(f"k must be a number of alerts from 1 to the number of rows, {values.size}; got {k!r}.")
    last_score = np.partition(values, values.size - k)[values.size - k]
    above, tied = values > last_score, values == last_score
    places_left = k - int(above.sum())
    hits = is_positive[above].sum() + places_left * is_positive[tied].mean()
    return _alerts(is_positive, float(hits), k)


def alerts_at_all_thresholds(
    y_true: ArrayLike, scores: ArrayLike, *, pos_label: Any = None
) -> tuple[NDArray[np.float64], Alerts]:
    """Every score as a threshold, from the highest down, with the alerts at each of them.

    The counts take four bytes for each threshold, if that is enough.
    """
    is_positive, values = as_bools(y_true, scores, pos_label)
    if is_positive.all():
        raise ValueError("All rows of y_true are of the rare class. Rows of another class are needed.")
    counts = np.int32 if values.size < 2**30 else np.int64  # measures add up to twice the number of rows
    ascending = np.sort(values)
    firsts = np.flatnonzero(np.concatenate([[True], ascending[1:] != ascending[:-1]]))
    thresholds = ascending[firsts] if values.dtype.kind == "f" else ascending[firsts].astype(np.float64)
    del ascending
    n_alerts = (values.size - firsts).astype(counts)
    del firsts
    positives = np.sort(values[is_positive])
    hits = (positives.size - np.searchsorted(positives, thresholds)).astype(counts)
    return thresholds[::-1], _alerts(is_positive, hits[::-1], n_alerts[::-1])


def best_threshold(y_true: ArrayLike, scores: ArrayLike, measure: str = "f1", *, pos_label: Any = None) -> float:
    """The score that is the best threshold by a measure. Among equally good ones it is the highest.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Labels.
    scores : array-like of shape (n_rows,)
        Scores of the rare class.
    measure : {"f1", "mcc", "precision_recall_gmean", "sensitivity_specificity_gmean"}, default="f1"
        The measure.
    pos_label : label, default=None
        The label of the rare class. By default 1, if the labels are 0 and 1, -1 and 1, or booleans.

    Returns
    -------
    float
        The threshold.

    Raises
    ------
    ValueError
        If the measure is unknown.

    See Also
    --------
    selfpaced.choose_threshold : Other rules, short thresholds, and intervals.

    Examples
    --------
    >>> best_threshold([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], "f1")
    0.35
    """
    if measure not in MEASURES:
        raise ValueError(f"measure must be one of {sorted(MEASURES)}; got {measure!r}.")
    thresholds, alerts = alerts_at_all_thresholds(y_true, scores, pos_label=pos_label)
    return float(thresholds[np.argmax(MEASURES[measure](alerts))])


def alerts_of_labels(y_true: ArrayLike, y_pred: ArrayLike, *, pos_label: Any = None) -> Alerts:
    """The alerts if all rows that are predicted to be of the rare class are flagged."""
    rare = _rare_label(_column(y_true, "y_true"), pos_label)
    return alerts_at_threshold(y_true, np.asarray(y_pred) == rare, 1, pos_label=rare)


def _alerts(is_positive: NDArray[np.bool_], hits: Number, n_alerts: Number) -> Alerts:
    n_positives = int(is_positive.sum())
    misses = n_alerts - hits
    return Alerts(hits, misses, n_positives - hits, is_positive.size - n_positives - misses)


def _share(part: Number, whole: Number) -> Number:
    return np.divide(part, whole, out=np.zeros(np.shape(whole)), where=np.asarray(whole) != 0)[()]


def _column(values: ArrayLike, name: str) -> NDArray[Any]:
    shape = np.shape(values)
    if len(shape) == 2 and shape[1] > 1:
        what = (
            "the column of the rare class: predict_proba(X)[:, list(model.classes_).index(rare_label)]"
            if name == "scores"
            else "one label for each row"
        )
        raise ValueError(f"{name} has {shape[1]} columns. Pass {what}.")
    return np.asarray(column_or_1d(values))


def as_bools(y_true: ArrayLike, scores: ArrayLike, pos_label: Any) -> tuple[NDArray[np.bool_], NDArray[Any]]:
    """Which rows are rare, and the scores, both checked."""
    labels, values = _column(y_true, "y_true"), _column(scores, "scores")
    if labels.size != values.size:
        raise ValueError(
            f"y_true and scores must have the same length; got {labels.size:,} labels and {values.size:,} scores."
        )
    if values.size == 0:
        raise ValueError("There are no rows: y_true and scores are empty.")
    if values.dtype.kind != "b":
        assert_all_finite(values, input_name="scores")
    if labels.dtype.kind in "fO":
        assert_all_finite(labels, input_name="y_true")
    rare = _rare_label(labels, pos_label)
    is_positive: NDArray[np.bool_] = labels == rare
    if not is_positive.any():
        raise ValueError(
            f"No row of y_true has the label {rare!r} of the rare class. The labels found are {_some(labels)}. Name "
            "the rare class with pos_label."
        )
    return is_positive, values


def _rare_label(labels: NDArray[Any], pos_label: Any) -> Any:
    """The given label, or 1 if only 1 can be the positive label, as in scikit-learn."""
    if pos_label is not None:
        return pos_label
    if labels.dtype.kind != "b" and not any(np.isin(labels, [other, 1]).all() for other in (0, -1)):
        raise ValueError(
            f"The rare class of y_true is not known. The labels found are {_some(labels)}. Name the rare class with "
            "pos_label. Only labels 0 and 1, -1 and 1, and booleans do not need it."
        )
    return 1


def _some(labels: NDArray[Any]) -> Any:
    return np.unique(labels)[:5].tolist()


__all__ = ["Alerts", "alerts_at_k", "alerts_at_threshold", "aucprc", "best_threshold"]
