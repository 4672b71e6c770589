"""The weights of recipes in a blend, and the level of its scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

from selfpaced.calibration import Calibrator
from selfpaced.metrics import Ranking
from selfpaced.model import log_odds

Floats = NDArray[np.float64]

LARGEST_DIFFERENCE = 20.0  # in log-odds; those of scores are clipped to less


def difference_of_levels(copies: Floats, ensembles: Floats, calibrator: Calibrator, weights: Floats) -> float:
    """How much to add to the log-odds of copies to bring them to the level of the ensembles.

    Parameters
    ----------
    copies, ensembles : Floats
        The pooled scores of both for the same rows, of shape (n_rows, 2).
    calibrator : Calibrator
        The map that is fitted to the copies.
    weights : Floats
        The weights of the rows. Rows on which the ensembles were trained should have none.
    """

    def excess(difference: float) -> float:
        return float(np.average(calibrator(shifted(ensembles, -difference))[:, 1] - expected, weights=weights))

    expected = calibrator(copies)[:, 1]
    if excess(LARGEST_DIFFERENCE) * excess(-LARGEST_DIFFERENCE) >= 0:  # all rows have the same probability
        return 0.0
    return float(brentq(excess, -LARGEST_DIFFERENCE, LARGEST_DIFFERENCE, xtol=1e-3))


def shifted(scores: Floats, difference: float) -> Floats:
    """Scores of two classes, with a number added to the log-odds of the second."""
    share = expit(log_odds(scores[:, 1]) + difference)
    return np.column_stack([1 - share, share])


N_RESAMPLES = 20
# A recipe whose AUCPRC is lower by this gets a share that is lower by the factor e; see benchmarks/recipes.py.
TEMPERATURE = 0.03
# How many recipes are chosen, one after the other and with replacement, into the mixture that is best together.
N_CHOSEN = 8
# Differences of AUCPRC that are rounding.
AS_GOOD = 1e-9
# A recipe with less than this is dropped: it would cost time in every prediction and change next to nothing.
SMALLEST_WEIGHT = 0.05
# Other weights of the rows often choose the same mixture, whose rows are then in order already.
MOST_REMEMBERED = 16

# The recipes that were chosen, one after the other, into a mixture; those that help equally are chosen together.
Chosen = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Labelled:
    """The labels and the weights of some rows, by which rankings are judged.

    Attributes
    ----------
    classes : NDArray[np.integer]
        The number of each row's class.
    weights : Floats
        How many rows each row stands for.
    ranked : Sequence[int]
        The classes whose rankings count: the rare one, or all of them if there are more than two.
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
        self._by_class = [Ranking(probabilities[:, number], rows.classes == number) for number in rows.ranked]

    def aucprc(self, weights: Floats) -> float:
        return float(np.mean([each.aucprc(weights) for each in self._by_class]))


# What was chosen, and for each recipe the ranking with it added.
Mixtures = Callable[[Chosen], list[_Rankings]]


def standard_error(probabilities: Floats, rows: Labelled, seed: int) -> float:
    """The standard error of the AUCPRC of a recipe, by the Bayesian bootstrap."""
    rankings = _Rankings(probabilities, rows)
    return float(np.std([rankings.aucprc(weights) for weights in _resampled(rows, seed)], ddof=1))


def blend_weights(honest: Sequence[Floats], rows: Labelled, seed: int) -> Floats:
    """How much each recipe counts; the weights add up to 1.

    Half of a weight follows the AUCPRC of the recipe alone, the other half how often it is part of the best mixture.

    Parameters
    ----------
    honest : Sequence[Floats]
        For each recipe, its log-odds for rows that it was not trained on, on the scale that all recipes share: a column
        for each class.
    """
    mixtures = _mixtures(honest, rows)
    shares = [(_by_own_score(mixtures, w) + _by_best_mixture(mixtures, w)) / 2 for w in _resampled(rows, seed)]
    weights = np.mean(shares, axis=0)
    weights[weights < SMALLEST_WEIGHT] = 0.0
    total: Floats = weights / weights.sum()
    return total


def _resampled(rows: Labelled, seed: int) -> list[Floats]:
    """Other weights of the rows, drawn from a Dirichlet distribution."""
    generator = np.random.default_rng(seed)
    return [rows.weights * generator.standard_exponential(rows.weights.size) for _ in range(N_RESAMPLES)]


def _mixtures(honest: Sequence[Floats], rows: Labelled) -> Mixtures:
    return lru_cache(MOST_REMEMBERED)(partial(_with_one_more, honest, rows))


def _with_one_more(honest: Sequence[Floats], rows: Labelled, chosen: Chosen) -> list[_Rankings]:
    """For each recipe, the ranking by the mixture of those that were chosen and this one."""
    total = np.zeros_like(honest[0])
    for together in chosen:
        total = total + np.mean([honest[number] for number in together], axis=0)
    return [_Rankings(total + each, rows) for each in honest]


def _scores(rankings: Sequence[_Rankings], weights: Floats) -> Floats:
    return np.array([each.aucprc(weights) for each in rankings])


def _by_own_score(mixtures: Mixtures, weights: Floats) -> Floats:
    scores = _scores(mixtures(()), weights)
    shares = np.exp((scores - scores.max()) / TEMPERATURE)
    normalised: Floats = shares / shares.sum()
    return normalised


def _by_best_mixture(mixtures: Mixtures, weights: Floats) -> Floats:
    """The shares of recipes in the mixture that is made by adding, each time, the recipe that helps most.

    Recipes that help equally share the place. On easy rows all recipes are right, and get equal shares.
    """
    chosen: Chosen = ()
    shares, best = np.zeros(len(mixtures(()))), 0.0
    while len(chosen) < N_CHOSEN:
        scores = _scores(mixtures(chosen), weights)
        if scores.max() <= best + AS_GOOD:
            break
        best = float(scores.max())
        as_good = np.flatnonzero(scores >= best - AS_GOOD).tolist()
        shares[as_good] += 1 / len(as_good)
        chosen = (*chosen, tuple(as_good))
    normalised: Floats = shares / shares.sum()
    return normalised
