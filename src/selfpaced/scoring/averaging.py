"""The mean probability of several models, chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from selfpaced.scoring.scorer import Scorer, chunks_for
from selfpaced.scoring.threads import over_chunks


class Spans(Protocol):
    """What is asked of a table whose rows are scored."""

    n_rows: int
    bytes_per_row: float

    def span(self, start: int, stop: int) -> Any:
        """The features of consecutive rows."""


def mean_probabilities(scorers: Sequence[Scorer], table: Spans, n_classes: int, n_threads: int) -> NDArray[np.float64]:
    """The mean of all models' probabilities, a row each."""
    means = np.zeros((table.n_rows, n_classes))
    add_probabilities(scorers, table, means, n_threads)
    means /= len(scorers)
    return means


def staged_probabilities(
    scorers: Sequence[Scorer], table: Spans, n_classes: int, n_threads: int
) -> Iterator[NDArray[np.float64]]:
    """The mean of the first model, of the first two, and so on."""
    sums = np.zeros((table.n_rows, n_classes))
    for n_models, scorer in enumerate(scorers, start=1):
        add_probabilities([scorer], table, sums, n_threads)
        yield sums / n_models


def add_probabilities(scorers: Sequence[Scorer], table: Spans, sums: NDArray[np.float64], n_threads: int) -> None:
    """Add each model's probabilities to `sums`. A chunk is laid out once for all models that share a view."""

    def work(start: int, stop: int) -> None:
        features = table.span(start, stop)
        views: dict[Callable[[Any], Any], Any] = {}
        for scorer in scorers:
            if scorer.view not in views:
                views[scorer.view] = scorer.view(features)
            sums[start:stop] += scorer.score(views[scorer.view])

    over_chunks(work, table.n_rows, *chunks_for(scorers, table.bytes_per_row, n_threads))
