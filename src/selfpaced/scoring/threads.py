"""Work on chunks of rows, in threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

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


def over_stream(work: Callable[[Item], object], items: Iterable[Item], n_threads: int) -> None:
    """Call `work` for everything that comes, in threads, while the next items are being read in this one.

    At most two items a thread wait: what is read ahead must not fill the memory.

    >>> seen = []
    >>> over_stream(seen.append, iter([1, 2, 3]), n_threads=2)
    >>> sorted(seen)
    [1, 2, 3]
    """
    executor = ThreadPoolExecutor(n_threads)
    running: deque[Future[object]] = deque()
    try:
        for item in items:
            running.append(executor.submit(work, item))
            while len(running) > 2 * n_threads:
                running.popleft().result()
        while running:
            running.popleft().result()
    finally:
        executor.shutdown(cancel_futures=True)
