"""The mean of several models' probabilities and their spread, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from selfpaced.scoring.scorer import Scorer, chunks_for, probabilities_by
from selfpaced.scoring.threads import over_chunks


class Spans(Protocol):
    """What is asked of a table whose rows are scored."""

    n_rows: int
    bytes_per_row: float

    def span(self, start: int, stop: int) -> Any:
        """The features of consecutive rows."""


def mean_probabilities(
    scorers: Sequence[Scorer],
    table: Spans,
    n_classes: int,
    n_threads: int,
    weights: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """The mean of all models' probabilities, a row each. Without weights all models count the same."""
    means = np.zeros((table.n_rows, n_classes))
    add_probabilities(_weighted(scorers, weights), table, means, n_threads)
    means /= len(scorers) if weights is None else weights.sum()
    return means


def staged_probabilities(
    scorers: Sequence[Scorer],
    table: Spans,
    n_classes: int,
    n_threads: int,
    weights: NDArray[np.float64] | None = None,
) -> Iterator[NDArray[np.float64]]:
    """The mean of the first model, of the first two, and so on."""
    sums = np.zeros((table.n_rows, n_classes))
    totals = np.arange(1, len(scorers) + 1) if weights is None else weights.cumsum()
    for scorer, total in zip(_weighted(scorers, weights), totals, strict=True):
        add_probabilities([scorer], table, sums, n_threads)
        yield sums / total


def _weighted(scorers: Sequence[Scorer], weights: NDArray[np.float64] | None) -> Sequence[Scorer]:
    if weights is None:
        return scorers
    return [scorer.times(weight) for scorer, weight in zip(scorers, weights, strict=True)]


def add_probabilities(scorers: Sequence[Scorer], table: Spans, sums: NDArray[np.float64], n_threads: int) -> None:
    """Add each model's probabilities to `sums`."""

    def work(start: int, stop: int) -> None:
        for probabilities in probabilities_by(scorers, table.span(start, stop)):
            sums[start:stop] += probabilities

    over_chunks(work, table.n_rows, *chunks_for(scorers, table.bytes_per_row, n_threads))


# Probabilities of all models that are held at once by a thread: 16 MB of them.
MOST_AT_ONCE = 2**21


class Spread(NamedTuple):
    """The range in which the middle share of the members' probabilities lies: a row each, a column a class."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]


def probability_spread(
    scorers: Sequence[Scorer],
    table: Spans,
    n_classes: int,
    n_threads: int,
    share: float,
    weights: NDArray[np.float64] | None = None,
) -> Spread:
    """The quantiles between which the middle share of the models' probabilities lies, for every row and class."""
    levels = np.array([(1 - share) / 2, (1 + share) / 2])
    bounds = np.empty((2, table.n_rows, n_classes))

    def work(start: int, stop: int) -> None:
        bounds[:, start:stop] = quantiles(_each(scorers, table.span(start, stop), n_classes), levels, weights)

    rows, n_threads = chunks_for(scorers, table.bytes_per_row, n_threads)
    rows = min(rows, max(1, MOST_AT_ONCE // (len(scorers) * n_classes)))
    over_chunks(work, table.n_rows, rows, n_threads)
    return Spread(*bounds)


def _each(scorers: Sequence[Scorer], features: Any, n_classes: int) -> NDArray[np.float64]:
    """The probabilities by each model."""
    answers = np.empty((len(scorers), features.shape[0], n_classes))
    for answer, probabilities in zip(answers, probabilities_by(scorers, features), strict=True):
        answer[:] = probabilities
    return answers


def quantiles(
    values: NDArray[np.float64], levels: NDArray[np.float64], weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Quantiles along the first axis, with a straight line between neighbours, as numpy has them.

    With weights, a value stands in the middle of its weight: the lowest at level 0, the highest at level 1, and two
    neighbours are as far apart as half of their weights together. Equal weights are as none.

    >>> values = np.array([0.1, 0.2, 0.9])
    >>> quantiles(values, np.array([0.25, 0.5])).round(3).tolist()
    [0.15, 0.2]
    >>> quantiles(values, np.array([0.25, 0.5]), np.array([1.0, 1.0, 6.0])).round(3).tolist()
    [0.225, 0.45]
    """
    if weights is None or len(values) == 1:
        by_numpy: NDArray[np.float64] = np.quantile(values, levels, axis=0)
        return by_numpy
    order = np.argsort(values, axis=0)
    values, weights = np.take_along_axis(values, order, axis=0), weights[order]
    steps = (weights[:-1] + weights[1:]) / 2
    places = np.concatenate([np.zeros_like(values[:1]), steps.cumsum(axis=0)])
    places /= places[-1]
    return np.stack([_between(places, values, level) for level in levels])


def _between(places: NDArray[np.float64], values: NDArray[np.float64], level: np.float64) -> NDArray[np.float64]:
    """The value at a level, on the straight line between the places on both sides of it."""
    left = ((places <= level).sum(axis=0, keepdims=True) - 1).clip(0, len(places) - 2)
    (x0, x1), (y0, y1) = (
        [np.take_along_axis(axis, left + step, axis=0)[0] for step in (0, 1)] for axis in (places, values)
    )
    between: NDArray[np.float64] = y0 + (y1 - y0) * (level - x0) / (x1 - x0)
    return between
