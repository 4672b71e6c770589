"""The pools of a fit, the time that they take, and the weights of the rows that they give."""

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
from selfpaced.callbacks import BinNotes
from selfpaced.pools import Rows
from selfpaced.scoring import Rebalanced


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
        seconds, self._seconds = self._seconds, defaultdict(float)
        so_far = self._reading()
        seconds["reading"], self._read_before = so_far - self._read_before, so_far
        return seconds


class FitPool:
    """A pool as a fit uses it: timed, and answered by the notes of a round if it is finished.

    A correction maps the probabilities of models back to equal shares of the classes before they score.
    """

    def __init__(
        self,
        pool: MajorityPool[Rows],
        stopwatch: Stopwatch,
        notes: Callable[[int], BinNotes | None],
        correction: PriorCorrection | None,
    ) -> None:
        self._pool = pool
        self._stopwatch = stopwatch
        self._notes = notes
        self._correction = correction

    @property
    def n_rows(self) -> int:
        return self._pool.n_rows

    def score(self, model: Any) -> None:
        with self._stopwatch.running("scoring"):
            self._pool.score(model if self._correction is None else Rebalanced(model, self._correction))

    def cut(self, hardness: Hardness, n_bins: int, outlook: Outlook | None = None) -> HardnessBins:
        notes = None if outlook is None else self._notes(outlook.round_number)
        if notes is not None:
            return HardnessBins(notes.counts, notes.mean_hardness)
        with self._stopwatch.running("scoring"):
            return self._pool.cut(hardness, n_bins, outlook)

    def draw(self, quota: Sequence[int], round_number: int) -> Rows:
        if self._notes(round_number) is not None:
            return Rows(np.empty(0, dtype=np.uint64), None, {})  # the member was trained already
        with self._stopwatch.running("drawing"):
            return self._pool.draw(quota, round_number)

    def keep_hardest(self, n_rows: int, round_number: int) -> None:
        with self._stopwatch.running("scoring"):
            self._pool.keep_hardest(n_rows, round_number)


@dataclass(frozen=True)
class Weighting:
    """How drawn rows are weighted."""

    power: float  # a drawn row that stands for n rows has the weight n ** power
    uniform_share: float = 0.0  # of the rows that are drawn at random from the whole class, so that no bin is missed
    rebalances: bool = False  # whether hardness is computed from probabilities at equal shares of the classes

    def weights_of(self, drawn: Rows) -> NDArray[np.float64]:
        assert drawn.stands_for is not None  # every pool sets it
        weights: NDArray[np.float64] = drawn.stands_for**self.power
        return weights

    def correction(self, counts: Sequence[int]) -> PriorCorrection | None:
        """What maps probabilities back to equal shares of the classes, if hardness needs that."""
        return PriorCorrection(1 / np.asarray(counts, dtype=np.float64)) if self.rebalances else None


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
