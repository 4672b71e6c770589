"""Blending: how much each of several recipes counts, by the honest scores that they give to rows with labels.

The recipe with the best AUCPRC is rarely the best choice: which one leads depends on which rows happened to be rare. So
the choice is made many times, each time with other weights of the rows (the Bayesian bootstrap), and the shares that a
recipe gets are averaged. Where rare rows are few, the winners change from one time to the next, and the weights come
close to equal ones. Where they are many, one recipe, or one mixture of recipes, wins nearly always.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

N_RESAMPLES = 20
# A recipe whose AUCPRC is lower by so much gets a share that is lower by the factor e. benchmarks/recipes.py compares.
TEMPERATURE = 0.03
# How many recipes are chosen, one after the other and with replacement, into the mixture that is best together.
N_CHOSEN = 8
# Differences of AUCPRC that are rounding.
AS_GOOD = 1e-9
# A recipe with less than this is dropped: it would cost time in every prediction and change next to nothing.
SMALLEST_WEIGHT = 0.05


@dataclass(frozen=True)
class Labelled:
    """Rows with labels, as far as rankings of them need to know.

    Attributes
    ----------
    classes : the number of each row's class.
    weights : how many rows each row stands for.
    ranked : the classes whose rankings count: the rare one, or all of them if there are more than two.
    """

    classes: NDArray[np.integer]
    weights: Floats
    ranked: Sequence[int]


def aucprc_of(probabilities: Floats, rows: Labelled, weights: Floats | None = None) -> float:
    """AUCPRC of some probabilities, a column for each class: of the rare class, or the mean over all classes.

    >>> rows = Labelled(np.array([0, 1, 0, 1]), np.ones(4), ranked=[1])
    >>> scores = np.array([0.1, 0.9, 0.5, 0.3])
    >>> round(aucprc_of(np.stack([1 - scores, scores], axis=1), rows), 4)
    0.8333
    """
    return _Rankings(probabilities, rows).aucprc(rows.weights if weights is None else weights)


class _Rankings:
    """Rows in the order of their scores, for each class whose ranking counts. Sorting is most of the work."""

    def __init__(self, probabilities: Floats, rows: Labelled) -> None:
        self._by_class = [_Ranking(probabilities[:, number], rows.classes == number) for number in rows.ranked]

    def aucprc(self, weights: Floats) -> float:
        return float(np.mean([each.aucprc(weights) for each in self._by_class]))


class _Ranking:
    """Rows in the order of their scores. Rows with equal scores are taken together."""

    def __init__(self, scores: Floats, is_positive: NDArray[np.bool_]) -> None:
        self._order = np.argsort(-scores, kind="stable")
        self._is_positive = is_positive[self._order]
        ordered = scores[self._order]
        self._ends = np.append(np.flatnonzero(ordered[1:] != ordered[:-1]), scores.size - 1)

    def aucprc(self, weights: Floats) -> float:
        ordered = weights[self._order]
        found = np.cumsum(ordered * self._is_positive)[self._ends]
        alerts = np.cumsum(ordered)[self._ends]
        precision = np.divide(found, alerts, out=np.zeros_like(found), where=alerts > 0)
        return float(np.sum(precision * np.diff(found, prepend=0.0)) / found[-1])


def standard_error(probabilities: Floats, rows: Labelled, seed: int) -> float:
    """How much the AUCPRC of a recipe would vary with other rows, by the Bayesian bootstrap."""
    rankings = _Rankings(probabilities, rows)
    return float(np.std([rankings.aucprc(weights) for weights in _resampled(rows, seed)], ddof=1))


def blend_weights(honest: Sequence[Floats], rows: Labelled, seed: int) -> Floats:
    """How much each recipe counts; the weights add up to 1.

    Half of a weight follows the AUCPRC of the recipe alone, the other half how often it is part of the best mixture.

    Parameters
    ----------
    honest : for each recipe, its log-odds for rows that it was not trained on, on the scale that all recipes share: a
        column for each class.
    """
    rankings = [_Rankings(each, rows) for each in honest]
    shares = [(_by_own_score(rankings, w) + _by_best_mixture(honest, rows, w)) / 2 for w in _resampled(rows, seed)]
    weights = np.mean(shares, axis=0)
    weights[weights < SMALLEST_WEIGHT] = 0.0
    total: Floats = weights / weights.sum()
    return total


def _resampled(rows: Labelled, seed: int) -> list[Floats]:
    """Other weights of the rows, drawn from a Dirichlet distribution."""
    generator = np.random.default_rng(seed)
    return [rows.weights * generator.standard_exponential(rows.weights.size) for _ in range(N_RESAMPLES)]


def _by_own_score(rankings: Sequence[_Rankings], weights: Floats) -> Floats:
    scores = np.array([each.aucprc(weights) for each in rankings])
    shares = np.exp((scores - scores.max()) / TEMPERATURE)
    normalised: Floats = shares / shares.sum()
    return normalised


def _by_best_mixture(honest: Sequence[Floats], rows: Labelled, weights: Floats) -> Floats:
    """The shares of recipes in the mixture that is made by adding, each time, the recipe that helps most.

    Recipes that help as much as each other share the place: on easy rows all are right, and none deserves to lead.
    """
    shares, total, best = np.zeros(len(honest)), np.zeros_like(honest[0]), 0.0
    for _ in range(N_CHOSEN):
        scores = np.array([aucprc_of(total + each, rows, weights) for each in honest])
        if scores.max() <= best + AS_GOOD:
            break
        best = float(scores.max())
        chosen = np.flatnonzero(scores >= best - AS_GOOD)
        shares[chosen] += 1 / chosen.size
        total = total + np.mean([honest[number] for number in chosen.tolist()], axis=0)
    normalised: Floats = shares / shares.sum()
    return normalised
