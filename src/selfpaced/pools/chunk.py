"""Rows on their way to members, pure functions on a chunk of rows, and what pools that score rows together share."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from selfpaced.algorithms import Hardness, HardnessBins
from selfpaced.pools.keys import Ids, Keys, row_keys, smallest_keys
from selfpaced.scoring import Scorer, Spans, probabilities_by

# Under these names the metadata of rows hold the hashes of their groups, and their times as numbers. Base models get
# neither.
GROUP, TIME = "__selfpaced_group__", "__selfpaced_time__"


@dataclass(frozen=True)
class Rows:
    """Some rows: their ids, their features in the user's own kind of table, and what else goes with each of them."""

    ids: NDArray[np.integer]
    features: Any
    metadata: dict[str, Any]  # arguments of the base model's `fit`, such as sample_weight; groups and times
    # For rows that a pool has drawn: the rows in its hardness bin, divided by those that were drawn from the bin.
    stands_for: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return int(self.ids.size)

    @property
    def groups(self) -> NDArray[np.uint64] | None:
        """The hash of each row's group; None if the rows have no groups."""
        return self.metadata.get(GROUP)

    @property
    def arguments(self) -> dict[str, Any]:
        """The per-row arguments of the base model's `fit`."""
        return {name: values for name, values in self.metadata.items() if name not in (GROUP, TIME)}

    def with_ids(self, ids: NDArray[np.integer]) -> Self:
        return replace(self, ids=ids)

    def standing_for(self, n_rows: NDArray[np.float64]) -> Self:
        return replace(self, stands_for=n_rows)

    def weighted(self, factors: NDArray[np.float64]) -> Self:
        """The same rows with their sample weights, 1 where there are none, multiplied by some factors."""
        weights = self.metadata.get("sample_weight", 1.0) * factors
        return replace(self, metadata={**self.metadata, "sample_weight": weights})


class RowsOnDemand(Spans, Protocol):
    """What a pool in memory asks of the table that holds its rows."""

    def take(self, positions: NDArray[np.integer]) -> Any:
        """The features of the rows at some positions."""

    def rows(self, positions: NDArray[np.integer]) -> Rows:
        """The same with their ids and metadata."""


Floats = NDArray[np.float32]
BinNumbers = NDArray[np.unsignedinteger]

# Whole units: float sums depend on chunk order, and one ulp can move a quota.
UNITS_PER_TOP = 2.0**32
# So many rows of at most 2^32 units each add up without rounding in the float64 sums of np.bincount.
ROWS_SUMMED_EXACTLY = 2**20
# The class number of rows that have been dropped.
NO_CLASS = np.iinfo(np.uint8).max


def bin_dtype(n_bins: int) -> np.dtype[np.unsignedinteger]:
    """The smallest type that numbers the bins: one byte a row for up to 256 of them."""
    return np.min_scalar_type(n_bins - 1)


def doubt(probabilities: NDArray[np.floating], own_class: int) -> Floats:
    """The probability given to the classes that the rows do not belong to; for two classes the paper's F(x)."""
    if probabilities.shape[1] == 2:
        doubts = probabilities[:, 1 - own_class].astype(np.float32)
    else:
        doubts = (1 - probabilities[:, own_class]).astype(np.float32)
    np.clip(doubts, 0, 1, out=doubts)
    if doubts.size and np.isnan(doubts.max()):
        raise ValueError("A member of the ensemble predicted NaN as a probability of a training row.")
    return doubts


def add_doubts(
    doubt_sum: Floats, scorers: Sequence[Scorer], features: Any, codes: NDArray[Any], classes: Sequence[int]
) -> None:
    """Add the doubt of each model to the sums of the rows of some classes. `codes` are the classes of all rows."""
    for probabilities in probabilities_by(scorers, features):
        for number in classes:
            own = np.flatnonzero(codes == number)
            doubt_sum[own] += doubt(probabilities[own], number)


def mean_doubt(doubt_sum: Floats, n_models: int) -> Floats:
    """F_i of line 4, from the running sum."""
    return doubt_sum / np.float32(n_models)


@dataclass(frozen=True)
class BinTotals:
    """Rows and units of hardness in each bin of some rows: whole numbers of any size, which add up in any order."""

    counts: tuple[int, ...]
    units: tuple[int, ...]

    @classmethod
    def summed(cls, parts: Sequence[Self]) -> Self:
        by_bin = (zip(*(getattr(part, name) for part in parts), strict=True) for name in ("counts", "units"))
        return cls(*(tuple(map(sum, bins)) for bins in by_bin))

    def as_bins(self, top: float) -> HardnessBins:
        """Counts and means. A bin of hardness zero counts as one unit: 1 / (h + alpha) stays finite at alpha = 0."""
        means = [
            max(units, 1) / count / UNITS_PER_TOP * top if count else np.nan
            for units, count in zip(self.units, self.counts, strict=True)
        ]
        return HardnessBins(np.array(self.counts, dtype=np.int64), np.array(means))


def cut(doubts: Floats, hardness: Hardness, top: float, bins: BinNumbers, n_bins: int) -> BinTotals:
    """Write each row's bin into `bins` and return the totals. The bins are equal parts of [0, top], the last closed."""
    starts = range(0, max(doubts.size, 1), ROWS_SUMMED_EXACTLY)  # no rows are a block of none
    blocks = [slice(start, start + ROWS_SUMMED_EXACTLY) for start in starts]
    return BinTotals.summed([_cut_block(hardness(doubts[block]), top, bins[block], n_bins) for block in blocks])


def binned(doubts: Floats, hardness: Hardness, top: float, n_bins: int) -> tuple[BinNumbers, BinTotals]:
    """The bins of some rows, and their totals."""
    bins = np.empty(doubts.size, dtype=bin_dtype(n_bins))
    return bins, cut(doubts, hardness, top, bins, n_bins)


def _cut_block(hardness: Floats, top: float, bins: BinNumbers, n_bins: int) -> BinTotals:
    # A float32 times a small whole number is exact in float64, so no row slips over the edge of its bin.
    share = hardness.astype(np.float64)
    if top != 1:
        share /= top
    number = (share * n_bins).astype(np.intp)
    np.minimum(number, n_bins - 1, out=number)
    bins[:] = number
    share *= UNITS_PER_TOP
    units = np.bincount(number, weights=np.rint(share, out=share), minlength=n_bins)
    return BinTotals(tuple(np.bincount(number, minlength=n_bins).tolist()), tuple(map(int, units.tolist())))


def hardest(doubts: Floats, keys: Keys, n_rows: int) -> NDArray[np.intp]:
    """Where the `n_rows` largest doubts stand, in order. Of equal ones the smallest keys go first, not the first rows.

    >>> hardest(np.float32([0.5, 0.1, 0.5, 0.9]), np.uint64([7, 1, 3, 9]), 2).tolist()
    [2, 3]
    """
    if n_rows >= doubts.size:
        return np.arange(doubts.size)
    least = np.partition(doubts, doubts.size - n_rows)[doubts.size - n_rows]
    above, equal = np.flatnonzero(doubts > least), np.flatnonzero(doubts == least)
    chosen = equal[np.argsort(keys[equal], kind="stable")[: n_rows - above.size]]
    return np.sort(np.concatenate([above, chosen]))


@dataclass(frozen=True)
class Candidates:
    """Rows that may be drawn: the ids, bins and keys of those under their bin's key limit."""

    ids: Ids
    bins: BinNumbers
    keys: Keys

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("ids", "bins", "keys")))

    def found(self, n_bins: int) -> NDArray[np.int64]:
        return np.bincount(self.bins, minlength=n_bins)

    def under(self, limits: Keys) -> Self:
        """Those whose keys are not above the limits of their bins."""
        return self._some(np.flatnonzero(self.keys <= limits.take(self.bins)))

    def drawn(self, quota: Sequence[int]) -> Self:
        """The `quota[b]` smallest keys of every bin b, in the order of the ids."""
        chosen = smallest_keys(self.keys, self.bins, quota)
        return self._some(chosen[np.argsort(self.ids[chosen])])

    def _some(self, chosen: NDArray[np.intp]) -> Self:
        return type(self)(self.ids[chosen], self.bins[chosen], self.keys[chosen])


def take_candidates(ids: Ids, bins: BinNumbers, limits: Keys, seed: int, round_number: int) -> Candidates:
    """The rows whose key is not above the limit of their bin."""
    return Candidates(ids, bins, row_keys(ids, seed, round_number)).under(limits)


class SharedPool:
    """The rows of one larger class. The pools of all classes share a list of models, and score the rows together."""

    def __init__(self, models: list[Any], own_class: int, n_rows: int) -> None:
        self._models = models
        self._own_class = own_class
        self._n_scored = 0
        self.n_rows = n_rows

    def score(self, model: Any) -> None:
        """Remember the model, if another of the pools has not done so already."""
        if self._n_scored == len(self._models):
            self._models.append(model)
        self._n_scored += 1
