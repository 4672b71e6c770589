"""A short list of the rows that may be drawn, made by every block while it counts its bins.

The draw that follows a cut depends on the bins of all blocks, and a block knows only its own. It takes them for a
sample of all, guesses the draw, and tells the keys below a limit that is likely to suffice. It also tells the limit: so
the merged list shows by itself whether it holds every row that is drawn. If not, the blocks are asked again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from selfpaced.algorithms.outlook import Outlook
from selfpaced.algorithms.pool import HardnessBins
from selfpaced.algorithms.self_paced import quota_of
from selfpaced.pools.blocks import Block, Cut, own_rows
from selfpaced.pools.chunk import BinTotals, Candidates, take_candidates
from selfpaced.pools.keys import LARGEST_KEY, Keys, key_limits

# How many times the guessed draw is told. It doubles after a list that was too short, up to the second number.
GENEROSITY, MOST_GENEROUS = 2.0, 16.0
# The rows of a block's bin vary by their square root. The guess takes so many of these off.
DEVIATIONS = 3


@dataclass(frozen=True)
class Shortlist:
    """The bins of one class, counted, and all of its rows whose keys are not above the limits of their bins."""

    totals: BinTotals
    limits: Keys
    candidates: Candidates

    @staticmethod
    def merge(parts: Sequence[Shortlist]) -> Shortlist:
        """The list of all parts reaches as far as the shortest of them."""
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
class CutAndShortlist:
    """The bins of every class, counted, with the rows that may be drawn.

    Attributes
    ----------
    cuts : Mapping[int, Cut]
        How the rows of each class are sorted into bins.
    n_rows : Mapping[int, int]
        How many rows each class has in all blocks.
    generosity : float
        How many times the guessed draw is told.
    """

    cuts: Mapping[int, Cut]
    n_rows: Mapping[int, int]
    outlook: Outlook
    seed: int
    generosity: float

    def __call__(self, block: Block) -> dict[int, Shortlist]:
        return {number: self._of_class(block, number) for number in self.cuts}

    def _of_class(self, block: Block, number: int) -> Shortlist:
        own = own_rows(block.tags, number)
        bins, totals = self.cuts[number](block.tags, own)
        limits = self._limits(totals.as_bins(self.cuts[number].top), self.n_rows[number])
        ids = block.tags.ids[own]
        return Shortlist(totals, limits, take_candidates(ids, bins, limits, self.seed, self.outlook.round_number))

    def _limits(self, bins: HardnessBins, n_rows: int) -> Keys:
        """Limits for a draw from all blocks, as far as one block can tell. It tells all rows of a bin with few."""
        n_seen = int(bins.counts.sum())
        if not n_seen:
            return np.full(bins.counts.size, LARGEST_KEY, dtype=np.uint64)
        scale = n_rows / n_seen
        everywhere = HardnessBins(np.rint(bins.counts * scale).astype(np.int64), bins.mean_hardness)
        likely = np.maximum(quota_of(everywhere, self.outlook), 1)
        fewest = np.maximum(bins.counts - DEVIATIONS * np.sqrt(bins.counts), 0) * scale
        return key_limits(np.ceil(self.generosity * likely).tolist(), fewest.tolist())

    @staticmethod
    def merge(parts: Sequence[dict[int, Shortlist]]) -> dict[int, Shortlist]:
        return {number: Shortlist.merge([part[number] for part in parts]) for number in parts[0]}
