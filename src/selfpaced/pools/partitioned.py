"""The pools of a table in partitions on a cluster.

Each partition answers for its own rows. The driver receives counts, the keys of rows that may be drawn, and the rows
that are drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from selfpaced.algorithms import Hardness, HardnessBins, Outlook, quota_of
from selfpaced.pools import blocks
from selfpaced.pools.blocks import Answer, Block, Cut, OneBin, Question
from selfpaced.pools.chunk import BinTotals, Candidates, Rows, SharedPool, take_candidates
from selfpaced.pools.keys import LARGEST_KEY, Ids, Keys, enough_under_limits, key_limits, rows_behind

# A short list is so many times as long as the expected draw. The number doubles after a list that was too short, up to
# the second one.
GENEROSITY, MOST_GENEROUS = 2.0, 16.0
# The number of rows in a bin of a block has a standard deviation of its square root. The estimate subtracts so many.
DEVIATIONS = 3


@dataclass(frozen=True)
class Shortlist:
    """The bins of one class, counted, and all of its rows whose keys are not above the limits of their bins."""

    totals: BinTotals
    limits: Keys
    candidates: Candidates

    @staticmethod
    def merge(parts: Sequence[Shortlist]) -> Shortlist:
        """The limits of the merged list are the smallest of all parts."""
        limits = np.minimum.reduce([part.limits for part in parts])
        candidates = Candidates.joined([part.candidates for part in parts]).under(limits)
        return Shortlist(BinTotals.summed([part.totals for part in parts]), limits, candidates)

    @staticmethod
    def without_rows(totals: BinTotals) -> Shortlist:
        """Bins alone: every row that is drawn is missing from the list."""
        nothing = Candidates(np.empty(0, np.uint64), np.empty(0, np.uint8), np.empty(0, np.uint64))
        return Shortlist(totals, np.zeros(len(totals.counts), dtype=np.uint64), nothing)

    def drawn(self, quota: Sequence[int]) -> Candidates | None:
        """The `quota[b]` smallest keys of every bin b; None if some of them may be missing from the list."""
        found = self.candidates.found(len(quota))
        enough = found >= np.minimum(quota, self.totals.counts)
        return self.candidates.drawn(quota) if enough.all() else None


@dataclass(frozen=True)
class CutAndShortlist(Question[dict[int, Shortlist]]):
    """A question: the totals of the bins of every class, and the rows that may be drawn."""

    cuts: Mapping[int, Cut]  # how the rows of each class are sorted into bins
    n_rows: Mapping[int, int]  # how many rows each class has in all blocks
    outlook: Outlook | None  # the next draw; None if rows are only counted
    seed: int
    generosity: float  # how many times the expected draw a short list holds

    def __call__(self, block: Block) -> dict[int, Shortlist]:
        return {number: self._of_class(block, number) for number in self.cuts}

    def _of_class(self, block: Block, number: int) -> Shortlist:
        own = blocks.own_rows(block.tags, number)
        bins, totals = self.cuts[number](block.tags, own)
        if self.outlook is None:
            return Shortlist.without_rows(totals)
        limits = self._limits(totals.as_bins(self.cuts[number].top), self.n_rows[number], self.outlook)
        ids = block.tags.ids[own]
        return Shortlist(totals, limits, take_candidates(ids, bins, limits, self.seed, self.outlook.round_number))

    def _limits(self, bins: HardnessBins, n_rows: int, outlook: Outlook) -> Keys:
        """Limits for a draw from all blocks, estimated from one block. Bins with few rows send all of them."""
        n_seen = int(bins.counts.sum())
        if not n_seen:
            return np.full(bins.counts.size, LARGEST_KEY, dtype=np.uint64)
        scale = n_rows / n_seen
        everywhere = HardnessBins(np.rint(bins.counts * scale).astype(np.int64), bins.mean_hardness)
        likely = np.maximum(quota_of(everywhere, outlook), 1)
        fewest = np.maximum(bins.counts - DEVIATIONS * np.sqrt(bins.counts), 0) * scale
        return key_limits(np.ceil(self.generosity * likely).tolist(), fewest.tolist())

    @staticmethod
    def merge(parts: Sequence[dict[int, Shortlist]]) -> dict[int, Shortlist]:
        return {number: Shortlist.merge([part[number] for part in parts]) for number in parts[0]}


class Engine(Protocol):
    """A cluster that answers questions about the blocks of a table."""

    def ask(self, question: Question[Answer]) -> Answer:
        """The answers of all blocks, merged."""

    def advance(self, step: Callable[..., blocks.Tags], *shared: Any) -> None:
        """Replace the tags of every block by `step(block, *shared)`. What is shared is sent to a machine once."""

    def stacked(self, parts: Sequence[Rows]) -> Rows:
        """The rows of all parts in the order of their ids."""


class Partitions:
    """The partitions of a table, which the pools of all larger classes share: a model scores the rows once for all."""

    def __init__(self, engine: Engine, counts: Mapping[int, int], seed: int) -> None:
        self.engine = engine
        self.seed = seed
        self.models: list[Any] = []
        self.counts = dict(counts)  # of each larger class, less the rows that were dropped
        self._n_folded = 0
        self.generosity = GENEROSITY
        self._cuts: tuple[Any, dict[int, Cut], dict[int, Shortlist]] | None = None

    def begin(
        self, minority: int, ids_looked_at: int, n_draw: int, round_number: int
    ) -> tuple[Rows, Ids, dict[int, Shortlist]]:
        """The first question: the minority's rows, some ids, and what the first draw may take of the larger classes.

        The ids are those whose keys are not above `ids_looked_at`.
        """
        under = {
            number: blocks.CandidatesUnder(OneBin(number), key_limits([n_draw], [count]), self.seed, round_number)
            for number, count in self.counts.items()
        }
        first = self.engine.ask(blocks.FirstQuestion(minority, ids_looked_at, under))
        shortlists = {
            number: Shortlist(BinTotals((self.counts[number],), (0,)), one.limits, first.candidates[number])
            for number, one in under.items()
        }
        return self.engine.stacked(first.minority), first.ids, shortlists

    def fold(self) -> None:
        """Let every partition score its rows with the models since the last call."""
        waiting = [blocks.SentModel(model) for model in self.models[self._n_folded :]]
        self._n_folded = len(self.models)
        if waiting:
            self.engine.advance(blocks.FoldScores(list(self.counts)), *waiting)

    def cut(self, hardness: Hardness, n_bins: int, outlook: Outlook | None, class_number: int) -> tuple[Cut, Shortlist]:
        """The bins of a class, and its rows that may be drawn. All classes are cut at once, and the result is kept."""
        asked = (len(self.models), hardness, n_bins, outlook)
        if self._cuts is None or self._cuts[0] != asked:
            self.fold()
            tops = dict.fromkeys(self.counts, 1.0)
            if hardness.top_from_largest is not None:
                found = self.engine.ask(blocks.Largest(hardness, self._n_folded, list(self.counts)))
                tops = {number: hardness.top_from_largest(value) for number, value in found.items()}
            cuts = {number: Cut(hardness, n_bins, top, self._n_folded) for number, top in tops.items()}
            question = CutAndShortlist(cuts, self.counts, outlook, self.seed, self.generosity)
            self._cuts = asked, cuts, self.engine.ask(question)
        return self._cuts[1][class_number], self._cuts[2][class_number]

    def drawn(self, bins: blocks.Bins, quota: Sequence[int], counts: Sequence[int], round_number: int) -> Candidates:
        """The rows that are drawn, sorted by id. The driver receives ids, bins and keys of these and a few more."""

        def candidates(limits: Keys) -> Candidates:
            return self.engine.ask(blocks.CandidatesUnder(bins, limits, self.seed, round_number))

        return enough_under_limits(candidates, quota, counts).drawn(quota)

    def drop_easiest(self, class_number: int, n_rows: int, round_number: int) -> None:
        """Drop all rows of a class but the hardest. Of equally hard rows, those with the smallest keys stay."""
        upper, above, _ = self._reached(blocks.CountBits(class_number), n_rows)
        lower, above_too, n_equal = self._reached(blocks.CountBits(class_number, upper), n_rows - above)
        bits, n_wanted = upper << 16 | lower, n_rows - above - above_too
        kept = self.drawn(OneBin(class_number, bits), [n_wanted], [n_equal], round_number)
        limit = int(kept.keys.max(initial=0))
        self.engine.advance(blocks.DropEasier(class_number, bits, limit, self.seed, round_number))
        self.counts[class_number] = n_rows

    def _reached(self, question: blocks.CountBits, n_rows: int) -> tuple[int, int, int]:
        """The value at which so many rows are reached, counted from the largest; the rows above it, and at it."""
        counts = self.engine.ask(question)
        values = np.array(sorted(counts, reverse=True))
        reached = np.cumsum([counts[value] for value in values.tolist()])
        position = int(np.searchsorted(reached, n_rows))
        n_at = counts[int(values[position])]
        return int(values[position]), int(reached[position]) - n_at, n_at


class PartitionedPool(SharedPool):
    """The rows of one larger class in partitions. `foreseen` are a round, and rows that may be drawn in it."""

    def __init__(
        self, partitions: Partitions, own_class: int, n_rows: int, foreseen: tuple[int, Shortlist] | None = None
    ) -> None:
        super().__init__(partitions.models, own_class, n_rows)
        self._partitions = partitions
        self._bins: blocks.Bins = OneBin(own_class)
        self._counts: Sequence[int] = [n_rows]
        self._foreseen = foreseen

    def cut(self, hardness: Hardness, n_bins: int, outlook: Outlook | None = None) -> HardnessBins:
        cut, shortlist = self._partitions.cut(hardness, n_bins, outlook, self._own_class)
        self._bins = blocks.ManyBins(self._own_class, cut)
        self._counts = shortlist.totals.counts
        self._foreseen = None if outlook is None else (outlook.round_number, shortlist)
        return shortlist.totals.as_bins(cut.top)

    def draw(self, quota: Sequence[int], round_number: int) -> Rows:
        drawn = self._drawn(quota, round_number)
        limits = np.zeros(len(quota), dtype=np.uint64)
        np.maximum.at(limits, drawn.bins, drawn.keys)
        engine = self._partitions.engine
        under = blocks.RowsUnder(self._bins, limits, self._partitions.seed, round_number)
        rows = engine.stacked(engine.ask(under))
        return rows.standing_for(rows_behind(drawn.bins, quota, self._counts))

    def keep_hardest(self, n_rows: int, round_number: int) -> None:
        self._partitions.fold()
        if n_rows < self.n_rows:
            self._partitions.drop_easiest(self._own_class, n_rows, round_number)
            self.n_rows = n_rows
        self._bins, self._counts, self._foreseen = OneBin(self._own_class), [self.n_rows], None

    def _drawn(self, quota: Sequence[int], round_number: int) -> Candidates:
        if self._foreseen is not None and self._foreseen[0] == round_number:
            drawn = self._foreseen[1].drawn(quota)
            if drawn is not None:
                return drawn
            self._partitions.generosity = min(2 * self._partitions.generosity, MOST_GENEROUS)
        return self._partitions.drawn(self._bins, quota, self._counts, round_number)
