"""Pooling: the probabilities of several ensembles as one, by a weighted sum of their log-odds.

The probabilities of recipes have different scales: a recipe that saw ten common rows for each rare row gives lower ones
than a recipe that saw one. Their log-odds are scaled to the same mean and spread on cross-fitted scores, and added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Floats = NDArray[np.float64]

# Probabilities are clipped to this distance from 0 and 1, whose log-odds are infinite.
SUREST = 1e-6


def log_odds(probabilities: Floats) -> Floats:
    clipped = np.clip(probabilities, SUREST, 1 - SUREST)
    return np.log(clipped) - np.log1p(-clipped)


@dataclass(frozen=True)
class LogOddsPool:
    """From the probabilities of several ensembles to one: log-odds = intercept + sum of coefficient times log-odds."""

    weights: Floats  # of the ensembles, with the sum 1
    centres: Floats  # the mean log-odds of each ensemble, a row each, a column for each class that is pooled
    spreads: Floats  # the standard deviations
    classes: tuple[int, ...]  # the numbers of the pooled classes: the rare one of two classes, or all of more

    def __call__(self, parts: Sequence[Floats]) -> Floats:
        """The probabilities of all ensembles together."""
        standard = [self._standardised(number, part) for number, part in enumerate(parts)]
        # Added one by one: a product of matrices rounds one row in another way than many.
        pooled = sum((weight * part for weight, part in zip(self.weights, standard, strict=True)), np.zeros(1))
        return self._probabilities(pooled, parts[0].shape[1])

    def alone(self, number: int, part: Floats) -> Floats:
        """The probabilities of one ensemble, on the scale of all together."""
        return self._probabilities(self._standardised(number, part), part.shape[1])

    def first(self, n_parts: int) -> LogOddsPool:
        """The pool of the first ensembles only."""
        some = slice(n_parts)
        weights = self.weights[some] / self.weights[some].sum()
        return LogOddsPool(weights, self.centres[some], self.spreads[some], self.classes)

    def _standardised(self, number: int, part: Floats) -> Floats:
        standard: Floats = (log_odds(part[:, list(self.classes)]) - self.centres[number]) / self.spreads[number]
        return standard

    def _probabilities(self, standard: Floats, n_classes: int) -> Floats:
        shares = expit(self.weights @ self.centres + self.weights @ self.spreads * standard)
        if n_classes > 2:
            return np.asarray(shares / shares.sum(axis=1, keepdims=True))
        probabilities = np.empty((len(standard), 2))
        probabilities[:, self.classes[0]] = shares[:, 0]
        probabilities[:, 1 - self.classes[0]] = 1 - shares[:, 0]
        return probabilities


def pool_of(honest: Sequence[Floats], weights: Floats, rows_weights: Floats, classes: Sequence[int]) -> LogOddsPool:
    """The pool of some ensembles by the probabilities that they give to rows that they were not trained on.

    `weights` are those of the ensembles, and `rows_weights` how many rows each row stands for.
    """
    logits = [log_odds(each[:, list(classes)]) for each in honest]
    centres = np.array([np.average(each, axis=0, weights=rows_weights) for each in logits])
    variances = [
        np.average((each - c) ** 2, axis=0, weights=rows_weights) for each, c in zip(logits, centres, strict=True)
    ]
    # An ensemble that gives all rows the same probability is not scaled.
    spreads = np.sqrt(np.where(np.array(variances) > 0, variances, 1.0))
    return LogOddsPool(weights / weights.sum(), centres, spreads, tuple(classes))


def equal_pool(n_parts: int, classes: Sequence[int]) -> LogOddsPool:
    """The mean of the log-odds, for ensembles that were not compared."""
    shape = n_parts, len(classes)
    return LogOddsPool(np.full(n_parts, 1 / n_parts), np.zeros(shape), np.ones(shape), tuple(classes))
