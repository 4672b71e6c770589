"""Boosting by doubt: AdaBoost.M2 (Freund and Schapire 1996) for probabilities.

For two classes it is AdaBoost.M2 exactly. There a row's pseudo-loss is (1 - p + q) / 2, with p the probability of its
own class and q of the other; q = 1 - p makes it q, the row's doubt. With beta = eps / (1 - eps) the row's weight is
multiplied by beta ** ((1 + p - q) / 2) = beta ** (1 - doubt): up to a factor that all rows share, by
exp(alpha * doubt) with alpha = log(1 / beta), which is also the weight of the member.

For K classes AdaBoost.M2 has a weight for every row and wrong class. Here each row has one weight, its doubt is the
probability of all wrong classes together, and log(K - 1) is added to alpha, as in SAMME (Zhu et al. 2009): a member has
a positive weight as soon as it is better than chance among K classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# A member without any loss would have an infinite weight.
SMALLEST_LOSS = 1e-10


@dataclass(frozen=True)
class Boosted:
    """A member, the number of its fit, and its weight."""

    number: int
    model: Any
    weight: float


def boost(
    fit: Callable[[int, Floats], Any],
    doubts_of: Callable[[Any], Floats],
    weights: Floats,
    n_models: int,
    n_classes: int,
    learning_rate: float,
) -> Iterator[Boosted]:
    """Yield `n_models` members.

    A model that is not better than chance does not become a member: the weights have become too extreme, and boosting
    starts again from the first ones (Breiman 1998). If the next model is not better either, there are no more members.

    Parameters
    ----------
    fit : Callable[[int, Floats], Any]
        Trains a member from its number, 0 at first, and the weights of all rows.
    doubts_of : Callable[[Any], Floats]
        Gives each row's doubt: the probability that a member gives to the classes the row does not belong to.
    weights : Floats
        The first weights of the rows. Their scale does not matter; `fit` gets them with a mean of 1.
    """
    weights = first_weights = with_mean_one(weights)
    n_members = 0
    for number in count():
        model = fit(number, weights)
        doubts = doubts_of(model)
        loss = float(np.average(doubts, weights=weights))  # eps
        if loss < 1 - 1 / n_classes:
            alpha = member_weight(loss, n_classes, learning_rate)
            yield Boosted(number, model, alpha)
            weights = reweigh(weights, doubts, alpha)
            n_members += 1
            if n_members == n_models:
                return
        elif weights is not first_weights:
            weights = first_weights
        else:
            if n_members == 0:
                yield Boosted(number, model, 1.0)  # better than an ensemble without members
            return


def member_weight(loss: float, n_classes: int, learning_rate: float) -> float:
    """The weight of a member: 0 at chance, and a large but finite number if it has no loss.

    >>> member_weight(0.5, n_classes=2, learning_rate=1.0), round(member_weight(0.0, 2, 1.0))
    (0.0, 23)
    """
    loss = max(loss, SMALLEST_LOSS)
    return learning_rate * (log((1 - loss) / loss) + log(n_classes - 1))


def reweigh(weights: Floats, doubts: Floats, alpha: float) -> Floats:
    """Higher weights for rows with more doubt. If no row has a doubt, the weights do not change.

    >>> reweigh(np.ones(4), np.array([1.0, 0.0, 0.0, 0.0]), alpha=log(3)).round(2).tolist()
    [2.0, 0.67, 0.67, 0.67]
    """
    # Relative to the row with the largest doubt, so that a large alpha does not overflow.
    return with_mean_one(weights * np.exp(alpha * (doubts - doubts.max())))


def with_mean_one(weights: Floats) -> Floats:
    """Scale weights to a mean of 1, for base models that add up weights as numbers of rows, such as LightGBM."""
    scaled: Floats = weights / weights.mean()
    return scaled
