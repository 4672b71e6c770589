"""Work on consecutive chunks of rows, in threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")


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
