"""Calibration: maps from an ensemble's mean probabilities to true probabilities.

Members are trained on as many common rows as rare rows, so their probabilities are right for data in which every second
row is rare. A map converts them to the true shares of the classes. It is monotonic: with two classes the ranking of the
rows does not change.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

Floats = NDArray[np.float64]

# Scores are kept at this distance from 0 and 1 before their logarithm is taken: trees often give exactly 0 or 1, but
# are not surer than a few hundred rows allow.
SOFT = 0.01
INVERSE_PENALTY = 1e6  # nearly no penalty
# The limit of log odds. Some thousand rows do not justify more, and twice as much would give many rows exactly 1.
MOST_LOG_ODDS = 18.0
SMALLEST_SLOPE = 1e-3
# Isotonic regression gives many rows the same probability. This share of a smooth map keeps them in order.
SMOOTH_SHARE = 0.1


ScoreMap = Callable[[Floats], Floats]  # from the scores of one class to its calibrated probabilities


@dataclass(frozen=True)
class BetaMap:
    """A logistic function of a score's distances from 0 and 1: log odds = a log(s) - b log(1 - s) + c.

    With a = b = 1 it only changes the prior. With a = b it is Platt's sigmoid on log odds. With both free it is beta
    calibration (Kull, Silva Filho, Flach 2017).
    """

    from_0: float
    from_1: float
    constant: float

    def __call__(self, scores: Floats) -> Floats:
        # Not a product of matrices, whose rounding depends on the number of rows.
        far_from_0, far_from_1 = np.moveaxis(_evidence(scores), -1, 0)
        probabilities: Floats = expit(self.from_0 * far_from_0 + self.from_1 * far_from_1 + self.constant)
        return probabilities


@dataclass(frozen=True)
class IsotonicMap:
    """Isotonic regression with straight lines between the corners of its steps, mixed with a little of a smooth map."""

    scores: Floats
    shares: Floats
    smooth: BetaMap

    def __call__(self, scores: Floats) -> Floats:
        steps = np.interp(scores, self.scores, self.shares)
        return (1 - SMOOTH_SHARE) * steps + SMOOTH_SHARE * self.smooth(scores)


def _evidence(scores: Floats) -> Floats:
    return np.stack([np.log(scores + SOFT), -np.log(1 - scores + SOFT)], axis=-1)


def fit_sigmoid(scores: Floats, is_case: NDArray[np.bool_], weights: Floats) -> BetaMap:
    slopes, constant = _logistic(_evidence(scores).sum(axis=1, keepdims=True), is_case, weights)
    slope = max(float(slopes[0]), SMALLEST_SLOPE)
    return _within_reach(BetaMap(slope, slope, constant), scores)


def fit_beta(scores: Floats, is_case: NDArray[np.bool_], weights: Floats) -> BetaMap:
    """Beta calibration with both slopes free. If one would be negative, the sigmoid, which has one slope for both."""
    slopes, constant = _logistic(_evidence(scores), is_case, weights)
    if slopes.min() < SMALLEST_SLOPE:
        return fit_sigmoid(scores, is_case, weights)
    return _within_reach(BetaMap(float(slopes[0]), float(slopes[1]), constant), scores)


def _within_reach(steep: BetaMap, scores: Floats) -> BetaMap:
    """The same map, made less steep if its log odds exceed the limit, as happens with classes that do not overlap."""
    ends = np.array([scores.min(), scores.max()])
    farthest = float(np.abs(_evidence(ends) @ [steep.from_0, steep.from_1] + steep.constant).max())
    share = MOST_LOG_ODDS / max(farthest, MOST_LOG_ODDS)
    return BetaMap(share * steep.from_0, share * steep.from_1, share * steep.constant)


def fit_isotonic(scores: Floats, is_case: NDArray[np.bool_], weights: Floats) -> IsotonicMap:
    steps = IsotonicRegression().fit(scores, is_case.astype(np.float64), sample_weight=weights)
    return IsotonicMap(steps.X_thresholds_, steps.y_thresholds_, fit_beta(scores, is_case, weights))


def _logistic(evidence: Floats, is_case: NDArray[np.bool_], weights: Floats) -> tuple[Floats, float]:
    """Logistic regression on Platt's targets: a limited number of rows does not justify probabilities of 0 and 1.

    A target between 0 and 1 is represented by a row of each class with a part of the weight.
    """
    n_cases, n_others = weights[is_case].sum(), weights[~is_case].sum()
    targets = np.where(is_case, (n_cases + 1) / (n_cases + 2), 1 / (n_others + 2))
    model = LogisticRegression(C=INVERSE_PENALTY, solver="newton-cholesky", max_iter=1000)
    model.fit(
        np.concatenate([evidence, evidence]),
        np.repeat([True, False], is_case.size),
        sample_weight=np.concatenate([weights * targets, weights * (1 - targets)]),
    )
    return model.coef_[0], float(model.intercept_[0])


FITTED_MAPS: dict[str, Callable[[Floats, NDArray[np.bool_], Floats], ScoreMap]] = {
    "beta": fit_beta,
    "isotonic": fit_isotonic,
    "sigmoid": fit_sigmoid,
}
METHODS = ("prior", *sorted(FITTED_MAPS))
# The best method in benchmarks/calibration.py.
BEST_METHOD = "isotonic"


@dataclass(frozen=True)
class PriorCorrection:
    """The closed form for under-sampled classes: each class counts by the factor by which it was under-sampled."""

    factors: Floats

    def __call__(self, probabilities: Floats) -> Floats:
        return _shares(probabilities * self.factors)


@dataclass(frozen=True)
class RareClassMap:
    """With two classes, the rare one is mapped, and the other has the rest."""

    rare: int
    map: ScoreMap

    def __call__(self, probabilities: Floats) -> Floats:
        calibrated = np.empty_like(probabilities)
        calibrated[:, self.rare] = self.map(probabilities[:, self.rare])
        calibrated[:, 1 - self.rare] = 1 - calibrated[:, self.rare]
        return calibrated


@dataclass(frozen=True)
class ClassMaps:
    """With more classes, each is mapped against the rest, and the results are scaled to add up to 1."""

    maps: tuple[ScoreMap, ...]

    def __call__(self, probabilities: Floats) -> Floats:
        mapped = [each(probabilities[:, number]) for number, each in enumerate(self.maps)]
        return _shares(np.stack(mapped, axis=1))


Calibrator = PriorCorrection | RareClassMap | ClassMaps


def _shares(parts: Floats) -> Floats:
    shares: Floats = parts / parts.sum(axis=1, keepdims=True)
    return shares


def fit_calibrator(
    method: str, probabilities: Floats, class_numbers: NDArray[np.integer], weights: Floats, rare: int
) -> Calibrator:
    """The map of a method, fitted to cross-fitted probabilities, classes, and the number of rows that each stands for.

    >>> scores = np.linspace(0.05, 0.95, 19)
    >>> is_rare = (scores > 0.6).astype(int)
    >>> fitted = fit_calibrator("sigmoid", np.stack([1 - scores, scores], axis=1), is_rare, np.ones(19), rare=1)
    >>> fitted(np.array([[0.9, 0.1], [0.1, 0.9]])).round(2).tolist()
    [[0.99, 0.01], [0.07, 0.93]]
    """
    fit = FITTED_MAPS[method]
    if probabilities.shape[1] == 2:
        return RareClassMap(rare, fit(probabilities[:, rare], class_numbers == rare, weights))
    numbers = range(probabilities.shape[1])
    return ClassMaps(tuple(fit(probabilities[:, number], class_numbers == number, weights) for number in numbers))


def check_method(method: Any) -> str | None:
    if method is not None and method not in METHODS:
        raise ValueError(f"calibration must be None or one of {list(METHODS)}; got {method!r}.")
    name: str | None = method
    return name


def expected_calibration_error(
    y_true: ArrayLike, probabilities: ArrayLike, *, n_bins: int = 15, pos_label: Any = 1
) -> float:
    """The mean difference between probabilities and shares of rare rows, over bins of equally many rows.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Labels.
    probabilities : array-like of shape (n_rows,)
        Probabilities of the rare class.
    n_bins : int, default=15
        The number of bins.
    pos_label : label, default=1
        The label of the rare class.

    Returns
    -------
    float
        The mean absolute difference, weighted by rows; 0 is perfect.

    See Also
    --------
    sklearn.metrics.brier_score_loss : The mean squared error of probabilities.

    Examples
    --------
    >>> expected_calibration_error([0, 0, 0, 1], [0.25, 0.25, 0.25, 0.25], n_bins=1)
    0.0
    """
    is_positive = np.asarray(y_true) == pos_label
    values = np.asarray(probabilities, dtype=np.float64)
    bins = np.array_split(np.argsort(values, kind="stable"), n_bins)
    return sum(abs(float(np.sum(values[rows]) - np.sum(is_positive[rows]))) for rows in bins) / values.size


def expects_the_rare_rows(mean_score: float, n_rows: int, n_rare: int) -> bool:
    """Whether probabilities expect as many rare rows as there are.

    They may differ by 10%, or by two standard deviations of the number of rare rows.

    >>> expects_the_rare_rows(0.011, 1000, 10), expects_the_rare_rows(0.02, 10_000, 100)
    (True, False)
    """
    n_at_least = max(n_rare, 1)
    return abs(mean_score * n_rows / n_at_least - 1) <= max(0.1, 2 / sqrt(n_at_least))


__all__ = ["expected_calibration_error"]
