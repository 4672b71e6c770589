"""Pools that answer for finished rounds without reading a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from selfpaced.algorithms.hardness import Hardness
from selfpaced.algorithms.outlook import Outlook
from selfpaced.algorithms.pool import HardnessBins, MajorityPool
from selfpaced.pools.rows import Rows
from selfpaced.rounds import BinNotes, Round


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
