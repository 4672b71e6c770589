"""From scores that rank to probabilities that are true: maps from an ensemble's mean probabilities to calibrated ones.

Members are trained on as many common rows as rare ones, so their probabilities belong to a world in which every second
row is rare. A map brings them back to the world that the rows come from. It rises with the score: of two classes no row
overtakes another, and what a model is worth by its ranking stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

Floats = NDArray[np.float64]

# Added to scores before their logarithm is taken: trees are often sure, and nobody is surer than some hundred rows.
SOFT = 0.01
INVERSE_PENALTY = 1e6  # next to none
# Some thousand rows bear out no more, and log odds of twice as much would be probabilities of exactly 1 for many rows.
MOST_LOG_ODDS = 18.0
SMALLEST_SLOPE = 1e-3
# Isotonic regression gives many rows the same probability; this share of a smooth map keeps them in order.
SMOOTH_SHARE = 0.1


class ScoreMap(Protocol):
    """From the scores of one class to its calibrated probabilities."""

    def __call__(self, scores: Floats) -> Floats: ...


@dataclass(frozen=True)
class BetaMap:
    """A logistic function of how far a score is from 0 and from 1: log odds = a log(s) - b log(1 - s) + c.

    With a = 1, b = 1 it moves the prior; with a = b it is Platt's sigmoid on log odds; with both free it is beta
    calibration (Kull, Silva Filho, Flach 2017).
    """

    from_0: float
    from_1: float
    constant: float

    def __call__(self, scores: Floats) -> Floats:
        # Not as a product of matrices, which rounds one row in another way than many.
        far_from_0, far_from_1 = np.moveaxis(_evidence(scores), -1, 0)
        probabilities: Floats = expit(self.from_0 * far_from_0 + self.from_1 * far_from_1 + self.constant)
        return probabilities


@dataclass(frozen=True)
class IsotonicMap:
    """The rising steps that fit best, straight lines between their corners, and a little of a smooth map."""

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
    """Both slopes free, unless one would fall: then the sigmoid, which has one slope for both."""
    slopes, constant = _logistic(_evidence(scores), is_case, weights)
    if slopes.min() < SMALLEST_SLOPE:
        return fit_sigmoid(scores, is_case, weights)
    return _within_reach(BetaMap(float(slopes[0]), float(slopes[1]), constant), scores)


def _within_reach(steep: BetaMap, scores: Floats) -> BetaMap:
    """The same map, or a less steep one if it were surer than anybody can be: classes that are apart ask for that."""
    ends = np.array([scores.min(), scores.max()])
    farthest = float(np.abs(_evidence(ends) @ [steep.from_0, steep.from_1] + steep.constant).max())
    share = MOST_LOG_ODDS / max(farthest, MOST_LOG_ODDS)
    return BetaMap(share * steep.from_0, share * steep.from_1, share * steep.constant)


def fit_isotonic(scores: Floats, is_case: NDArray[np.bool_], weights: Floats) -> IsotonicMap:
    steps = IsotonicRegression(y_min=0, y_max=1).fit(scores, is_case.astype(np.float64), sample_weight=weights)
    return IsotonicMap(steps.X_thresholds_, steps.y_thresholds_, fit_beta(scores, is_case, weights))


def _logistic(evidence: Floats, is_case: NDArray[np.bool_], weights: Floats) -> tuple[Floats, float]:
    """Logistic regression on Platt's targets: so many rows of a class bear out no probability of exactly 0 or 1.

    A target between 0 and 1 is a row of each kind with a part of the weight.
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
# What wins in benchmarks/calibration.py.
BEST_METHOD = "isotonic"


@dataclass(frozen=True)
class PriorCorrection:
    """The closed form for classes that were thinned out: every class counts as many times as it was thinned out by."""

    factors: Floats

    def __call__(self, probabilities: Floats) -> Floats:
        return _shares(probabilities * self.factors)


@dataclass(frozen=True)
class RareClassMap:
    """Two classes: the rare one is mapped, and the other has the rest."""

    rare: int
    map: ScoreMap

    def __call__(self, probabilities: Floats) -> Floats:
        calibrated = np.empty_like(probabilities)
        calibrated[:, self.rare] = self.map(probabilities[:, self.rare])
        calibrated[:, 1 - self.rare] = 1 - calibrated[:, self.rare]
        return calibrated


@dataclass(frozen=True)
class ClassMaps:
    """More classes: each is mapped against the rest, and the results are made to add up to 1."""

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
    """The map by a method that looks at rows: honest probabilities, the classes, and how many rows each stands for.

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
    """How far probabilities are from the shares of rare rows, on average over bins of equally many rows.

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

    Examples
    --------
    >>> expected_calibration_error([0, 0, 0, 1], [0.25, 0.25, 0.25, 0.25], n_bins=1)
    0.0
    """
    is_positive = np.asarray(y_true) == pos_label
    values = np.asarray(probabilities, dtype=np.float64)
    bins = np.array_split(np.argsort(values, kind="stable"), n_bins)
    return sum(abs(float(np.sum(values[rows]) - np.sum(is_positive[rows]))) for rows in bins) / values.size


__all__ = ["BEST_METHOD", "METHODS", "Calibrator", "expected_calibration_error", "fit_calibrator"]
