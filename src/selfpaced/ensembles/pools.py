"""Pools that replay finished rounds, measure time, or weight the rows that are drawn."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.algorithms import Hardness, HardnessBins, MajorityPool, Outlook
from selfpaced.calibration import PriorCorrection
from selfpaced.callbacks import BinNotes, Round
from selfpaced.pools import Rows
from selfpaced.scoring import Rebalanced


class ReplayingPool:
    """A pool that answers for finished rounds from their notes. `finished` gives the notes of a round, or None."""

    def __init__(self, pool: MajorityPool[Rows], name: Any, finished: Callable[[int], Round | None]) -> None:
        self._pool = pool
        self._name = name
        self._finished = finished

    @property
    def n_rows(self) -> int:
        return self._pool.n_rows

    def score(self, model: Any) -> None:
        self._pool.score(model)

    def cut(self, hardness: Hardness, n_bins: int, outlook: Outlook | None = None) -> HardnessBins:
        notes = None if outlook is None else self._notes(outlook.round_number)
        if notes is None:
            return self._pool.cut(hardness, n_bins, outlook)
        return HardnessBins(notes.counts, notes.mean_hardness)

    def draw(self, quota: Sequence[int], round_number: int) -> Rows:
        if self._notes(round_number) is None:
            return self._pool.draw(quota, round_number)
        return Rows(np.empty(0, dtype=np.uint64), None, {})  # the member was trained already

    def keep_hardest(self, n_rows: int, round_number: int) -> None:
        self._pool.keep_hardest(n_rows, round_number)

    def _notes(self, round_number: int) -> BinNotes | None:
        finished = self._finished(round_number)
        return None if finished is None else finished.bins[self._name]


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


@dataclass(frozen=True)
class Weighting:
    """How drawn rows are weighted.

    Attributes
    ----------
    power : float
        A drawn row that stands for n rows has the weight n ** power.
    uniform_share : float, default=0.0
        The share of the rows that are drawn at random from the whole class, so that no bin is missed.
    rebalances : bool, default=False
        Whether hardness is computed from probabilities that are mapped back to equal shares of the classes.
    """

    power: float
    uniform_share: float = 0.0
    rebalances: bool = False

    def weights_of(self, drawn: Rows) -> NDArray[np.float64]:
        """The weights of drawn rows."""
        assert drawn.stands_for is not None  # every pool sets it
        weights: NDArray[np.float64] = drawn.stands_for**self.power
        return weights

    def applied_to(self, drawn: Rows) -> Rows:
        """Drawn rows with their weights."""
        return drawn.weighted(self.weights_of(drawn))

    def applied_to_pools(self, pools: Sequence[MajorityPool[Rows]], counts: Sequence[int]) -> list[MajorityPool[Rows]]:
        """Pools that map the probabilities of models back to equal shares of the classes before they score."""
        if not self.rebalances:
            return list(pools)
        correction = PriorCorrection(1 / np.asarray(counts, dtype=np.float64))
        return [RebalancingPool(pool, correction) for pool in pools]


# In the paper all rows have the same weight. Inverse weights restore the true shares of the classes, so that hardness
# would be close to 0 for nearly all rows, but the bins divide 0 to 1. benchmarks/recipes.py compares them.
WEIGHTING: dict[str, Weighting] = {
    "sqrt": Weighting(0.5),
    "inverse": Weighting(1.0, uniform_share=0.3, rebalances=True),
}


def weighting_named(name: Any) -> Weighting | None:
    """The weighting by its name; None for equal weights, as in the paper."""
    if name is None:
        return None
    if not isinstance(name, str) or name not in WEIGHTING:
        raise ValueError(f"weighting must be None or one of {sorted(WEIGHTING)}; got {name!r}.")
    return WEIGHTING[name]


class RebalancingPool:
    """A pool that scores by probabilities at equal shares of the classes."""

    def __init__(self, pool: MajorityPool[Rows], correction: PriorCorrection) -> None:
        self._pool = pool
        self._correction = correction

    @property
    def n_rows(self) -> int:
        return self._pool.n_rows

    def score(self, model: Any) -> None:
        self._pool.score(Rebalanced(model, self._correction))

    def cut(self, hardness: Hardness, n_bins: int, outlook: Outlook | None = None) -> HardnessBins:
        return self._pool.cut(hardness, n_bins, outlook)

    def draw(self, quota: Sequence[int], round_number: int) -> Rows:
        return self._pool.draw(quota, round_number)

    def keep_hardest(self, n_rows: int, round_number: int) -> None:
        self._pool.keep_hardest(n_rows, round_number)
