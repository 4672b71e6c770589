"""The pool of one class whose rows are in memory."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from selfpaced.algorithms import Hardness, HardnessBins, Outlook
from selfpaced.pools import chunk
from selfpaced.pools.chunk import BinTotals, Candidates, Floats, Rows
from selfpaced.pools.keys import Ids, Keys, enough_under_limits, row_keys, rows_behind
from selfpaced.scoring import Scorer, chunks_for, over_chunks, probabilities_by, scorer_of

# Hashing a chunk touches a few arrays of 8 bytes a row: fewer rows at once spend more time between the calls.
ROWS_HASHED_AT_ONCE = 2**17
# Rows of other classes are scored along, unused, as long as they are few: a slice costs less than picking rows.
DENSE_ENOUGH = 0.8

Result = TypeVar("Result")


class MemoryPool:
    """The rows of `table` at the sorted positions `ids`, which are all of one class.

    Remembered per row: its id, the sum of its doubts and its bin. No row is copied unless it is drawn.
    """

    def __init__(self, table: chunk.RowsOnDemand, ids: Ids, own_class: int, seed: int, n_threads: int = 1) -> None:
        self._table = table
        self._ids = ids
        self._own_class = own_class
        self._seed = seed
        self._n_threads = n_threads
        self._doubt_sum = np.zeros(ids.size, dtype=np.float32)
        self._n_scored = 0
        self._waiting: list[Scorer] = []
        self._bins = np.zeros(ids.size, dtype=np.uint8)
        self._counts: Sequence[int] = [int(ids.size)]

    @property
    def n_rows(self) -> int:
        return int(self._ids.size)

    def score(self, model: Any) -> None:
        """Remember the model: its rows are scored when they are cut, in the same pass."""
        self._waiting.append(scorer_of(model))

    def cut(self, hardness: Hardness, n_bins: int, outlook: Outlook | None = None) -> HardnessBins:
        scorers = self._take_waiting()
        self._bins = self._bins.astype(chunk.bin_dtype(n_bins), copy=False)
        top = 1.0
        if hardness.top_from_largest is not None:
            top = hardness.top_from_largest(self._largest(hardness, scorers))
            scorers = []

        def work(start: int, stop: int) -> BinTotals:
            doubts = self._mean_doubt(start, stop, scorers)
            return chunk.cut(doubts, hardness, top, self._bins[start:stop], n_bins)

        totals = BinTotals.summed(self._over_chunks(work, scorers))
        self._counts = totals.counts
        return totals.as_bins(top)

    def draw(self, quota: Sequence[int], round_number: int) -> Rows:
        def candidates(limits: Keys) -> Candidates:
            def work(start: int, stop: int) -> Candidates:
                some = slice(start, stop)
                return chunk.take_candidates(self._ids[some], self._bins[some], limits, self._seed, round_number)

            return Candidates.joined(over_chunks(work, self._ids.size, ROWS_HASHED_AT_ONCE, self._n_threads))

        drawn = enough_under_limits(candidates, quota, self._counts).drawn(quota)
        return self._table.rows(drawn.ids).standing_for(rows_behind(drawn.bins, quota, self._counts))

    def keep_hardest(self, n_rows: int, round_number: int) -> None:
        scorers = self._take_waiting()
        self._over_chunks(lambda start, stop: self._mean_doubt(start, stop, scorers), scorers)
        kept = chunk.hardest(self._doubt_sum, row_keys(self._ids, self._seed, round_number), n_rows)
        self._ids, self._doubt_sum = self._ids[kept], self._doubt_sum[kept]
        self._bins = np.zeros(kept.size, dtype=np.uint8)
        self._counts = [int(kept.size)]

    def _take_waiting(self) -> list[Scorer]:
        """The models whose rows are yet to be scored; whoever takes them scores all rows."""
        scorers, self._waiting = self._waiting, []
        self._n_scored += len(scorers)
        return scorers

    def _largest(self, hardness: Hardness, scorers: Sequence[Scorer]) -> float:
        def work(start: int, stop: int) -> float:
            return float(hardness(self._mean_doubt(start, stop, scorers)).max())

        return max(self._over_chunks(work, scorers))

    def _mean_doubt(self, start: int, stop: int, scorers: Sequence[Scorer]) -> Floats:
        """F_i of some rows, after the models that wait have been folded in."""
        doubt_sum = self._doubt_sum[start:stop]
        if scorers:
            features, own = self._read(start, stop)
            for probabilities in probabilities_by(scorers, features):
                doubts = chunk.doubt(probabilities, self._own_class)
                doubt_sum += doubts if own is None else doubts.take(own)
        return chunk.mean_doubt(doubt_sum, self._n_scored)

    def _read(self, start: int, stop: int) -> tuple[Any, Ids | None]:
        """The features of some rows, possibly among others, and where the rows stand in them: None if alone."""
        ids = self._ids[start:stop]
        first, last = int(ids[0]), int(ids[-1])
        if ids.size < DENSE_ENOUGH * (last + 1 - first):
            return self._table.take(ids), None
        own = None if ids.size == last + 1 - first else ids - ids[0]
        return self._table.span(first, last + 1), own

    def _over_chunks(self, work: Callable[[int, int], Result], scorers: Sequence[Scorer]) -> list[Result]:
        rows, threads = ROWS_HASHED_AT_ONCE, self._n_threads
        if scorers:
            rows, threads = chunks_for(scorers, self._table.bytes_per_row, self._n_threads)
        return over_chunks(work, self._ids.size, rows, threads)
