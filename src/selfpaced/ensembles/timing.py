"""The seconds of each task of a round."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from selfpaced.algorithms.hardness import Hardness
from selfpaced.algorithms.outlook import Outlook
from selfpaced.algorithms.pool import HardnessBins, MajorityPool
from selfpaced.pools.rows import Rows


class Stopwatch:
    """Adds up seconds by name until they are read. `reading` returns the seconds of reading rows so far."""

    def __init__(self, reading: Callable[[], float] = lambda: 0.0) -> None:
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._reading = reading
        self._read_before = 0.0

    @contextmanager
    def running(self, name: str) -> Iterator[None]:
        begin = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[name] += time.perf_counter() - begin

    def phases(self) -> dict[str, float]:
        """The seconds by name since the last reading, in the order in which they began."""
        return dict(self._seconds)

    def read(self) -> defaultdict[str, float]:
        """The seconds since the last reading."""
        seconds, self._seconds = self._seconds, defaultdict(float)
        so_far = self._reading()
        seconds["reading"], self._read_before = so_far - self._read_before, so_far
        return seconds


class TimedPool:
    """A pool whose methods are timed by a stopwatch."""

    def __init__(self, pool: MajorityPool[Rows], stopwatch: Stopwatch) -> None:
        self._pool = pool
        self._stopwatch = stopwatch

    @property
    def n_rows(self) -> int:
        return self._pool.n_rows

    def score(self, model: Any) -> None:
        with self._stopwatch.running("scoring"):
            self._pool.score(model)

    def cut(self, hardness: Hardness, n_bins: int, outlook: Outlook | None = None) -> HardnessBins:
        with self._stopwatch.running("scoring"):
            return self._pool.cut(hardness, n_bins, outlook)

    def draw(self, quota: Sequence[int], round_number: int) -> Rows:
        with self._stopwatch.running("drawing"):
            return self._pool.draw(quota, round_number)

    def keep_hardest(self, n_rows: int, round_number: int) -> None:
        with self._stopwatch.running("scoring"):
            self._pool.keep_hardest(n_rows, round_number)
