"""The pools of a table that is read from start to end, batch by batch, because it does not fit into memory.

All larger classes share a stream: one pass over the table serves them all. A pass folds the newest model into the
running sums, counts the bins, and keeps the rows that may be drawn next, all at once. Remembered of a row are the sum
of its doubts and the number of its class; no feature stays but those of rows that may be drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from selfpaced.algorithms import Hardness, HardnessBins, Outlook
from selfpaced.pools import chunk
from selfpaced.pools.chunk import BinNumbers, BinTotals, Floats, Rows
from selfpaced.pools.keys import (
    LARGEST_KEY,
    Ids,
    Keys,
    enough_under_limits,
    key_limits,
    row_keys,
    rows_behind,
    smallest_keys,
)
from selfpaced.scoring import Scorer, over_stream, scorers_of, timed

BinOf = Callable[[Floats], BinNumbers]

ROWS_AT_ONCE = 2**20


class Batch(Protocol):
    """Some consecutive rows of a table: those from `start` up to `stop`."""

    @property
    def start(self) -> int: ...

    @property
    def stop(self) -> int: ...

    @property
    def ids(self) -> Ids: ...

    def check(self) -> None:
        """Refuse values that no model takes."""

    def features_for(self, scorers: Sequence[Scorer]) -> Any:
        """The features as the models behind the scorers read them."""

    def take(self, positions: NDArray[np.intp]) -> Any:
        """Some of the rows with all that belongs to them, to be kept."""


class BatchSource(Protocol):
    """What a stream asks of a table."""

    def batches(self) -> Iterable[Batch]:
        """All rows in order."""

    def ids_of(self, positions: NDArray[np.intp]) -> Ids:
        """The ids of the rows at some sorted positions."""

    def joined(self, kept: Sequence[Any]) -> Any:
        """What was kept of several batches, below each other."""

    def picked(self, kept: Any, positions: NDArray[np.intp]) -> Any:
        """A part of what was kept."""

    def rows(self, kept: Any, stands_for: NDArray[np.float64] | None = None) -> Rows:
        """What was kept, as rows for a member, in the order of their ids."""


class SmallestKeys:
    """The rows with the smallest keys of each bin: as many as may be drawn, with what belongs to them."""

    def __init__(self, table: BatchSource, n_bins: int) -> None:
        self._table = table
        self.limits: Keys = np.full(n_bins, LARGEST_KEY, dtype=np.uint64)
        self._parts: list[tuple[Keys, NDArray[Any], Any]] = []
        self._size = 0
        self._narrow_at = 0

    def add(self, keys: Keys, bins: NDArray[Any], kept: Any) -> None:
        if keys.size:
            self._parts.append((keys, bins, kept))
            self._size += keys.size

    def narrow(self, most_drawn: Callable[[], NDArray[np.int64]]) -> None:
        """Drop what cannot be drawn any more, once the list has doubled. `most_drawn` gives the most of each bin."""
        if self._size > self._narrow_at:
            self._prune(most_drawn())
            self._narrow_at = 2 * self._size

    def drawn(self, quota: Sequence[int], counts: Sequence[int]) -> Rows:
        keys, bins, kept = self._joined()
        chosen = smallest_keys(keys, bins, quota)
        return self._table.rows(self._table.picked(kept, chosen), rows_behind(bins[chosen], quota, counts))

    def found(self, n_bins: int) -> NDArray[np.int64]:
        """How many rows of each bin are there."""
        return sum((np.bincount(bins, minlength=n_bins) for _, bins, _ in self._parts), np.zeros(n_bins, np.int64))

    def _prune(self, most: NDArray[np.int64]) -> None:
        keys, bins, kept = self._joined()
        chosen = smallest_keys(keys, bins, most.tolist())
        keys, bins = keys[chosen], bins[chosen]
        self._parts = [(keys, bins, self._table.picked(kept, chosen))]
        self._size = keys.size
        full = np.bincount(bins, minlength=most.size) >= most
        largest = np.zeros_like(self.limits)
        np.maximum.at(largest, bins, keys)
        # A full bin rejects rows with larger keys.
        self.limits = np.where(full, np.minimum(self.limits, largest), self.limits)

    def _joined(self) -> tuple[Keys, NDArray[Any], Any]:
        keys, bins, kept = zip(*self._parts, strict=True)
        return np.concatenate(keys), np.concatenate(bins), self._table.joined(kept)


@dataclass
class Cutting:
    """A cut of one class in the making: what has been counted, and which rows may be drawn."""

    totals: BinTotals
    shortlist: SmallestKeys


@dataclass(frozen=True)
class CutPlan:
    """How the rows are cut in a pass."""

    hardness: Hardness
    n_bins: int
    outlook: Outlook


@dataclass(frozen=True)
class Pass:
    """Work on every batch of a table, in the order of the rows."""

    work: Callable[[Batch], None]  # called in any of the threads
    n_threads: int
    on_batch: Callable[[int], None]  # called with the number of rows of each batch when its work is done
    took: Callable[[float], None]  # called with the seconds that each batch took to be read

    @staticmethod
    def together(passes: Sequence[Pass]) -> Pass:
        """Several passes as one, which reads every batch once and reports it once."""

        def work(batch: Batch) -> None:
            for each in passes:
                each.work(batch)

        def took(seconds: float) -> None:
            for each in passes:
                each.took(seconds / len(passes))

        return Pass(work, min(each.n_threads for each in passes), passes[0].on_batch, took)


def read_pass(table: BatchSource, asked: Pass) -> None:
    """Make a pass over a table."""

    def work(batch: Batch) -> int:
        asked.work(batch)
        return batch.stop - batch.start

    for n_rows in over_stream(work, timed(table.batches(), asked.took), asked.n_threads):
        asked.on_batch(n_rows)


class Stream:
    """The tags of all rows, and the passes over the table that all its pools share. `read` makes a pass."""

    def __init__(
        self,
        table: BatchSource,
        classes: NDArray[np.unsignedinteger],
        seed: int,
        n_threads: int,
        tags: Floats,
        on_batch: Callable[[int, int], None] = lambda n_read, n_rows: None,
        read: Callable[[BatchSource, Pass], None] = read_pass,
    ) -> None:
        self.table = table
        self._on_batch = on_batch
        self._read = read
        self.classes = classes
        self.seed = seed
        self.n_threads = n_threads
        self.doubt_sum = tags
        self.models: list[Any] = []
        self.n_folded = 0
        self.seconds_reading = 0.0
        self._lock = Lock()
        self._cut: tuple[tuple[int, CutPlan], Mapping[int, Cutting]] | None = None

    def fold(self, classes: Sequence[int]) -> None:
        """Add what the models that wait say of every row to the running sums."""
        scorers = self._take_waiting()
        if scorers:
            self._over_batches(lambda batch: self._fold(batch, scorers, classes), scorers)

    def fold_and_cut(self, classes: Sequence[int], plan: CutPlan) -> Mapping[int, Cutting]:
        """The same, and the bins of each class with the rows that may be drawn. A cut just made is not made again."""
        key = (len(self.models), plan)
        if self._cut is not None and self._cut[0] == key:
            return self._cut[1]
        scorers = self._take_waiting()
        nothing = BinTotals((0,) * plan.n_bins, (0,) * plan.n_bins)
        cuttings = {number: Cutting(nothing, SmallestKeys(self.table, plan.n_bins)) for number in classes}
        n_rows = {number: self._n_rows(number) for number in classes}
        edges = np.linspace(0, 1, plan.n_bins + 1)

        def work(batch: Batch) -> None:
            if scorers:
                self._fold(batch, scorers, classes)
            for number, cutting in cuttings.items():
                own, doubts = self._of_class(number, batch)
                if not own.size:
                    continue
                bins, totals = chunk.binned(doubts, plan.hardness, 1.0, plan.n_bins)
                candidates = self._candidates(cutting.shortlist, own, bins, plan.outlook.round_number, batch)
                with self._lock:
                    cutting.totals = BinTotals.summed([cutting.totals, totals])
                    cutting.shortlist.add(*candidates)
                    most = partial(plan.outlook.most_drawn, edges, cutting.totals.counts, n_rows[number])
                    cutting.shortlist.narrow(most)

        self._over_batches(work, scorers)
        self._cut = key, cuttings
        return cuttings

    def collect(self, class_number: int, bin_of: BinOf, quota: Sequence[int], counts: Sequence[int], i: int) -> Rows:
        """The `quota[b]` smallest keys of every bin b of a class, in a pass of its own."""

        def shortlisted(limits: Keys) -> SmallestKeys:
            shortlist = SmallestKeys(self.table, len(quota))
            shortlist.limits = limits
            self._over_batches(partial(self._shortlist_into, shortlist, class_number, bin_of, i), [])
            return shortlist

        return enough_under_limits(shortlisted, quota, counts).drawn(quota, counts)

    def begin(
        self, minority: int, counts: Mapping[int, int], n_draw: int, i: int
    ) -> tuple[Rows, Mapping[int, Cutting]]:
        """The first pass: all rows of the minority, and what the first draw, in round i, takes of the larger classes.

        `counts` are the rows of each larger class.
        """
        parts: list[Any] = []
        cuttings = {number: Cutting(BinTotals((n,), (0,)), SmallestKeys(self.table, 1)) for number, n in counts.items()}
        for number, cutting in cuttings.items():
            cutting.shortlist.limits = key_limits([n_draw], [counts[number]])

        def work(batch: Batch) -> None:
            batch.check()
            own = np.flatnonzero(self.classes[batch.start : batch.stop] == minority)
            if own.size:
                kept = batch.take(own)
                with self._lock:
                    parts.append(kept)
            for number, cutting in cuttings.items():
                self._shortlist_into(cutting.shortlist, number, one_bin, i, batch)

        self._over_batches(work, [])
        enough = {
            number: cutting
            for number, cutting in cuttings.items()
            if cutting.shortlist.found(1)[0] >= min(n_draw, counts[number])
        }
        return self.table.rows(self.table.joined(parts)), enough

    def let_go(self, class_number: int, n_rows: int, round_number: int) -> None:
        """Forget all rows of a class but the hardest: they get the number of no class."""
        own = np.flatnonzero(self.classes == class_number)
        kept = chunk.hardest(self.doubt_sum[own], row_keys(self.table.ids_of(own), self.seed, round_number), n_rows)
        self.classes = self.classes.copy()  # the labels belong to the table, which may be trained on again
        self.classes[np.delete(own, kept)] = chunk.NO_CLASS

    def doubts(self, positions: slice | NDArray[np.intp]) -> Floats:
        return chunk.mean_doubt(self.doubt_sum[positions], max(self.n_folded, 1))

    def _n_rows(self, class_number: int) -> int:
        """Counted part by part: a comparison of all rows at once takes a byte for each."""
        parts = (self.classes[start : start + ROWS_AT_ONCE] for start in range(0, self.classes.size, ROWS_AT_ONCE))
        return sum(int(np.count_nonzero(part == class_number)) for part in parts)

    def _take_waiting(self) -> list[Scorer]:
        scorers = scorers_of(self.models[self.n_folded :])
        self.n_folded = len(self.models)
        return scorers

    def _fold(self, batch: Batch, scorers: Sequence[Scorer], classes: Sequence[int]) -> None:
        some = slice(batch.start, batch.stop)
        chunk.add_doubts(self.doubt_sum[some], scorers, batch.features_for(scorers), self.classes[some], classes)

    def _of_class(self, class_number: int, batch: Batch) -> tuple[NDArray[np.intp], Floats]:
        """The positions of the rows of a class in a batch, and their doubts."""
        own = np.flatnonzero(self.classes[batch.start : batch.stop] == class_number)
        return own, self.doubts(batch.start + own)

    def _candidates(
        self, shortlist: SmallestKeys, own: NDArray[np.intp], bins: BinNumbers, round_number: int, batch: Batch
    ) -> tuple[Keys, BinNumbers, Any]:
        """The rows of a batch under the limits of a short list: keys, bins, and the rows to be kept."""
        keys = row_keys(batch.ids[own], self.seed, round_number)
        under = np.flatnonzero(keys <= shortlist.limits.take(bins))
        return keys[under], bins[under], batch.take(own[under])

    def _shortlist_into(
        self, shortlist: SmallestKeys, class_number: int, bin_of: BinOf, round_number: int, batch: Batch
    ) -> None:
        own, doubts = self._of_class(class_number, batch)
        if own.size:
            candidates = self._candidates(shortlist, own, bin_of(doubts), round_number, batch)
            with self._lock:
                shortlist.add(*candidates)

    def _over_batches(self, work: Callable[[Batch], None], scorers: Sequence[Scorer]) -> None:
        threads = min([self.n_threads, *(scorer.threads for scorer in scorers if scorer.threads is not None)])
        n_read = 0

        def on_batch(n_rows: int) -> None:
            nonlocal n_read
            n_read += n_rows
            self._on_batch(n_read, self.classes.size)

        self._read(self.table, Pass(work, threads, on_batch, self._note_reading))

    def _note_reading(self, seconds: float) -> None:
        self.seconds_reading += seconds


class StreamedPool(chunk.SharedPool):
    """The rows of one larger class in a stream. `foreseen` are a round, and the rows that it draws from."""

    def __init__(
        self,
        stream: Stream,
        own_class: int,
        all_classes: Sequence[int],
        n_rows: int,
        foreseen: tuple[int, Cutting] | None = None,
    ) -> None:
        super().__init__(stream.models, own_class, n_rows)
        self._stream = stream
        self._all_classes = all_classes
        self._bins_of: BinOf = one_bin
        self._counts: Sequence[int] = [n_rows]
        self._foreseen = foreseen

    def cut(self, hardness: Hardness, n_bins: int, outlook: Outlook | None = None) -> HardnessBins:
        if outlook is None or hardness.top_from_largest is not None:
            return self._cut_by_tags(hardness, n_bins)
        cuttings = self._stream.fold_and_cut(self._all_classes, CutPlan(hardness, n_bins, outlook))
        mine = cuttings[self._own_class]
        self._foreseen = outlook.round_number, mine
        return self._binned(mine.totals, hardness, 1.0)

    def draw(self, quota: Sequence[int], round_number: int) -> Rows:
        if self._foreseen is not None and self._foreseen[0] == round_number:
            return self._foreseen[1].shortlist.drawn(quota, self._counts)
        return self._stream.collect(self._own_class, self._bins_of, quota, self._counts, round_number)

    def keep_hardest(self, n_rows: int, round_number: int) -> None:
        self._stream.fold(self._all_classes)
        self._stream.let_go(self._own_class, n_rows, round_number)
        self.n_rows = min(n_rows, self.n_rows)
        self._bins_of, self._counts, self._foreseen = one_bin, [self.n_rows], None

    def _cut_by_tags(self, hardness: Hardness, n_bins: int) -> HardnessBins:
        """Bins from the running sums alone: the rows themselves are read for the draw only."""
        self._stream.fold(self._all_classes)
        top = 1.0
        if hardness.top_from_largest is not None:
            top = hardness.top_from_largest(max(float(hardness(doubts).max()) for doubts in self._doubts()))
        totals = BinTotals.summed([chunk.binned(doubts, hardness, top, n_bins)[1] for doubts in self._doubts()])
        self._foreseen = None
        return self._binned(totals, hardness, top)

    def _binned(self, totals: BinTotals, hardness: Hardness, top: float) -> HardnessBins:
        """The bins of a cut, which the next draw takes rows of."""
        self._counts = totals.counts
        self._bins_of = lambda doubts: chunk.binned(doubts, hardness, top, len(totals.counts))[0]
        return totals.as_bins(top)

    def _doubts(self) -> Iterator[Floats]:
        stream = self._stream
        for start in range(0, stream.classes.size, ROWS_AT_ONCE):
            some = slice(start, start + ROWS_AT_ONCE)
            doubts = stream.doubts(some)[stream.classes[some] == self._own_class]
            if doubts.size:
                yield doubts


def one_bin(doubts: Floats) -> BinNumbers:
    return np.zeros(doubts.size, dtype=np.uint8)
