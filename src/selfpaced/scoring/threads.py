"""Work on chunks of rows, in threads."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import chain, islice
from typing import Any, TypeVar

from selfpaced.scoring.scorer import Rebalanced

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


def begun(items: Iterator[Item]) -> Iterator[Item]:
    """The same items. A thread fetches the first of them at once, while the caller prepares what they are for.

    >>> list(begun(iter("ab")))
    ['a', 'b']
    """
    executor = ThreadPoolExecutor(1)
    first = executor.submit(lambda: list(islice(items, 1)))
    executor.shutdown(wait=False)
    return chain(_result_of(first), items)


def _result_of(future: Future[list[Item]]) -> Iterator[Item]:
    yield from future.result()


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
