"""The mean of several models' probabilities and their spread, chunk by chunk, in threads."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from selfpaced.scoring.scorer import Rebalanced, Scorer, chunks_for, probabilities_by

Result = TypeVar("Result")
Item = TypeVar("Item")


def over_chunks(work: Callable[[int, int], Result], n_rows: int, chunk_rows: int, n_threads: int) -> list[Result]:
    """Call `work(start, stop)` for every chunk; return the results in the order of the rows.

    >>> over_chunks(lambda start, stop: (start, stop), n_rows=5, chunk_rows=2, n_threads=2)
    [(0, 2), (2, 4), (4, 5)]
    """
    starts = range(0, n_rows, chunk_rows)
    stops = [min(start + chunk_rows, n_rows) for start in starts]
    if n_threads == 1 or len(starts) == 1:
        return [work(start, stop) for start, stop in zip(starts, stops, strict=True)]
    executor = ThreadPoolExecutor(n_threads)
    try:
        return list(executor.map(work, starts, stops))
    finally:
        # After an error or Ctrl-C the chunks not yet begun are dropped, not waited for.
        executor.shutdown(cancel_futures=True)


def over_stream(work: Callable[[Item], Result], items: Iterable[Item], n_threads: int) -> Iterator[Result]:
    """The results of `work` for everything that comes, in the order of coming.

    The work is done in threads while the next items are read in this one. At most two items a thread wait: what is
    read ahead must not fill the memory.

    >>> list(over_stream(lambda number: number**2, iter([1, 2, 3]), n_threads=2))
    [1, 4, 9]
    """
    executor = ThreadPoolExecutor(n_threads)
    running: deque[Future[Result]] = deque()
    try:
        for item in items:
            running.append(executor.submit(work, item))
            if len(running) > 2 * n_threads:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()
    finally:
        # After an error or Ctrl-C what has not begun is dropped, not waited for.
        executor.shutdown(cancel_futures=True)


def timed(items: Iterable[Item], took: Callable[[float], None]) -> Iterator[Item]:
    """The items as they come. `took` is called with the seconds that each of them took to come.

    >>> seconds = []
    >>> list(timed("ab", seconds.append)), len(seconds)
    (['a', 'b'], 2)
    """
    begin = time.perf_counter()
    for item in items:
        took(time.perf_counter() - begin)
        yield item
        begin = time.perf_counter()


def in_one_thread(model: Any) -> Any:
    """The model itself, with every `n_jobs` in it set to 1: whoever calls it has a thread for each core already."""
    if isinstance(model, Rebalanced):
        return replace(model, model=in_one_thread(model.model))
    names = [name for name in model.get_params(deep=True) if name.rpartition("__")[2] == "n_jobs"]
    # A fitted CatBoost refuses set_params, even without any.
    return model.set_params(**dict.fromkeys(names, 1)) if names else model


class Spans(Protocol):
    """What is asked of a table whose rows are scored."""

    n_rows: int
    bytes_per_row: float

    def span(self, start: int, stop: int) -> Any:
        """The features of consecutive rows, without a copy where the table can."""


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
    most_at_once: int = 2**21,
) -> Spread:
    """The quantiles between which the middle share of the models' probabilities lies, for every row and class.

    A thread holds at most so many probabilities of all models at once: 16 MB of them.
    """
    levels = np.array([(1 - share) / 2, (1 + share) / 2])
    bounds = np.empty((2, table.n_rows, n_classes))

    def work(start: int, stop: int) -> None:
        bounds[:, start:stop] = quantiles(_each(scorers, table.span(start, stop), n_classes), levels, weights)

    rows, n_threads = chunks_for(scorers, table.bytes_per_row, n_threads)
    rows = min(rows, max(1, most_at_once // (len(scorers) * n_classes)))
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
