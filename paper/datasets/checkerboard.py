"""The 4 x 4 checkerboard."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, logsumexp
from sklearn.utils import check_random_state

from paper.datasets.dataset import Features, Labels
from paper.datasets.splits import Split
from selfpaced.datasets import make_checkerboard

N_MINORITY, N_MAJORITY = 1000, 10_000
MINORITY_SHARE = N_MINORITY / (N_MINORITY + N_MAJORITY)


def checkerboard(covariance: float, seed: int) -> Split:
    """Training, validation and test set, each drawn anew from the same sixteen Gaussians."""
    rng = check_random_state(seed)
    return Split(*_draw(covariance, rng), *_draw(covariance, rng), *_draw(covariance, rng))


def _draw(covariance: float, rng: Any) -> tuple[Features, Labels]:
    X, y = make_checkerboard(N_MINORITY, N_MAJORITY, covariance=covariance, random_state=rng)
    return X.astype(np.float32), y.astype(np.int8)


def bayes_scores(X: Features, covariance: float, prior: float = MINORITY_SHARE) -> NDArray[np.float64]:
    """The probability that a point is of the minority, given the mixture it was drawn from: no model ranks better."""
    row, column = np.divmod(np.arange(16), 4)
    distances = (X[:, [0]] - row) ** 2 + (X[:, [1]] - column) ** 2
    # Both classes have eight fields of equal weight and shape: all that does not depend on the distances cancels out.
    log_density = -distances / (2 * covariance)
    minority = (row + column) % 2 == 1
    evidence = logsumexp(log_density[:, minority], axis=1) - logsumexp(log_density[:, ~minority], axis=1)
    scores: NDArray[np.float64] = expit(evidence + logit(prior))
    return scores
