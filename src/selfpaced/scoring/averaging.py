"""The mean probability of several models, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

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
