"""The sum of many small trees, all at once, with the leaves of a tree as bits.

The idea is QuickScorer's (Lucchese et al., SIGIR 2015). Number the leaves of a tree from left to right. A row that goes
right at a node cannot end in the leaves on the node's left. Strike those out for every such node of the tree, in any
order, and the first leaf that is left is the row's own. What is struck out by the nodes on one feature depends on that
feature's value alone, so a table per feature holds it for all trees. Features with few thresholds share a table, which
has a row for every combination of their values: then a row needs fewer look-ups than there are features.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from selfpaced.trees.digitize import CategoryNumbers, Digitizer

MOST_LEAVES = 32
# Look-ups of so many trees at once stay in a core's cache for a block of rows.
TREES_AT_ONCE = 64
ROWS_AT_ONCE = 2**12
# A table with more rows than this does not stay in the cache.
MOST_COMBINATIONS = 2**9

Bits = NDArray[np.uint32]
# A column by its position, and whether its values are read as codes of categories.
Feature = tuple[int, bool]
Numbers = Mapping[Feature, NDArray[np.intp]]


@dataclass(frozen=True)
class Split:
    """A node: rows with `value <= threshold` go left.

    Attributes
    ----------
    missing_left : bool
        Where a row goes whose value is NaN.
    left_leaves : int
        The bits of the leaves that lie on the left.
    """

    tree: int
    feature: int
    threshold: float
    missing_left: bool
    left_leaves: int

    @property
    def asks_for(self) -> Feature:
        return self.feature, False


@dataclass(frozen=True)
class CategorySplit:
    """A node: rows whose category has one of some codes go left, others right.

    Attributes
    ----------
    missing_left : bool, default=False
        Where a row goes whose value is NaN or not among the known codes.
    n_known : int, default=0
        Codes below this number are known. Those that go left always are.
    """

    tree: int
    feature: int
    codes: tuple[int, ...]
    left_leaves: int
    missing_left: bool = False
    n_known: int = 0

    @property
    def asks_for(self) -> Feature:
        return self.feature, True


AnySplit = Split | CategorySplit


class Numbering:
    """Numbers the values of every feature that some splits ask for: values that no split parts have the same number.

    Trees of several models can share a numbering, and with it the work of numbering.
    """

    def __init__(self, splits: Iterable[AnySplit]) -> None:
        by_feature = _by_feature(splits)
        self.digitizers = {feature: _digitizer(own) for feature, own in by_feature.items()}

    @property
    def positions(self) -> set[int]:
        """The columns that are needed."""
        return {position for position, _ in self.digitizers}

    def __call__(self, columns: Mapping[int, NDArray[np.float64]] | NDArray[np.float64]) -> Numbers:
        """The numbers of some rows, from their columns by position."""
        return {feature: digitize(columns[feature[0]]) for feature, digitize in self.digitizers.items()}


def _by_feature(splits: Iterable[AnySplit]) -> dict[Feature, list[AnySplit]]:
    by_feature: dict[Feature, list[AnySplit]] = {}
    for split in splits:
        by_feature.setdefault(split.asks_for, []).append(split)
    return by_feature


def _digitizer(splits: Sequence[AnySplit]) -> Digitizer | CategoryNumbers:
    known = [
        max(split.n_known, 1 + max(split.codes, default=0)) for split in splits if isinstance(split, CategorySplit)
    ]
    if known:
        return CategoryNumbers(max(known))
    return Digitizer(np.unique([split.threshold for split in splits if isinstance(split, Split)]))


class TreeSum:
    """Gives rows the sum of their leaves' values, added in the order of the trees.

    Parameters
    ----------
    leaf_values : NDArray[np.float64]
        One row a tree, one column a leaf from left to right.
    numbering : Numbering
        Numbers the features, by these splits or by more.
    start : float, default=0.0
        What the values are added to.
    """

    def __init__(
        self,
        splits: Sequence[AnySplit],
        leaf_values: NDArray[np.float64],
        numbering: Numbering,
        start: float = 0.0,
    ) -> None:
        self._start = start
        self._blocks = []
        for first in range(0, len(leaf_values), TREES_AT_ONCE):
            trees = range(first, min(first + TREES_AT_ONCE, len(leaf_values)))
            own = [split for split in splits if split.tree in trees]
            self._blocks.append((list(_look_ups(own, trees, numbering)), leaf_values[trees.start : trees.stop]))

    def __call__(self, numbers: Numbers, n_rows: int) -> NDArray[np.float64]:
        """The sums of some rows, by the numbers of their features."""
        total = np.full(n_rows, self._start)
        for start in range(0, n_rows, ROWS_AT_ONCE):
            some = slice(start, start + ROWS_AT_ONCE)
            self._add(numbers, some, total[some])
        return total

    def _add(self, numbers: Numbers, some: slice, total: NDArray[np.float64]) -> None:
        for look_ups, leaf_values in self._blocks:
            struck_out = np.zeros((total.size, len(leaf_values)), dtype=np.uint32)
            for look_up in look_ups:
                struck_out |= look_up(numbers, some)
            by_tree = np.ascontiguousarray(first_leaf(~struck_out).T)
            for leaves, values in zip(by_tree, leaf_values, strict=True):
                total += values.take(leaves)  # one after the other, as a booster does: other orders differ


@dataclass(frozen=True)
class LookUp:
    """The leaves that the splits on some features strike out, by the combination of their numbers.

    Attributes
    ----------
    parts : Mapping[Feature, NDArray[np.intp]]
        For each feature, its part in the number of the combination, by its own number.
    table : Bits
        One row for each combination, one column a tree.
    """

    parts: Mapping[Feature, NDArray[np.intp]]
    table: Bits

    def __call__(self, numbers: Numbers, some: slice) -> Bits:
        (first, part), *others = self.parts.items()
        combination = part.take(numbers[first][some])
        for feature, part in others:
            combination += part.take(numbers[feature][some])
        return self.table.take(combination, axis=0)


def _look_ups(splits: Iterable[AnySplit], trees: range, numbering: Numbering) -> Iterator[LookUp]:
    """The splits of some trees, in as few tables as the number of combinations allows."""
    own = [
        _of_one_feature(feature, some, trees, numbering.digitizers[feature])
        for feature, some in _by_feature(splits).items()
    ]
    shared: LookUp | None = None
    for look_up in sorted(own, key=lambda look_up: len(look_up.table)):
        if shared is not None and len(shared.table) * len(look_up.table) <= MOST_COMBINATIONS:
            shared = _combined(shared, look_up)
            continue
        if shared is not None:
            yield shared
        shared = look_up
    if shared is not None:
        yield shared


def _of_one_feature(
    feature: Feature, splits: Sequence[AnySplit], trees: range, digitizer: Digitizer | CategoryNumbers
) -> LookUp:
    if isinstance(digitizer, CategoryNumbers):
        return _of_categories(feature, [each for each in splits if isinstance(each, CategorySplit)], trees, digitizer)
    return _of_thresholds(feature, [each for each in splits if isinstance(each, Split)], trees, digitizer)


def _of_thresholds(feature: Feature, splits: Sequence[Split], trees: range, digitizer: Digitizer) -> LookUp:
    """One row for each of these splits' own thresholds that a value may exceed, from none to all; the last for NaN."""
    own, rank = np.unique([split.threshold for split in splits], return_inverse=True)
    tree = np.array([split.tree for split in splits]) - trees.start
    left_leaves = np.array([split.left_leaves for split in splits], dtype=np.uint32)
    table = np.zeros((own.size + 2, len(trees)), dtype=np.uint32)
    np.bitwise_or.at(table, (rank + 1, tree), left_leaves)
    np.bitwise_or.accumulate(table[:-1], axis=0, out=table[:-1])  # who exceeds a threshold exceeds the lower ones
    goes_right = ~np.array([split.missing_left for split in splits])
    np.bitwise_or.at(table[-1], tree[goes_right], left_leaves[goes_right])
    # Of the thresholds that the digitizer knows, those below a number are exceeded.
    part = np.searchsorted(np.searchsorted(digitizer.thresholds, own), np.arange(digitizer.n_numbers))
    part[-1] = own.size + 1
    return LookUp({feature: part}, table)


def _of_categories(
    feature: Feature, splits: Sequence[CategorySplit], trees: range, digitizer: CategoryNumbers
) -> LookUp:
    """Categories that strike out the same share a row of the table."""
    struck_out = np.zeros((digitizer.n_numbers, len(trees)), dtype=np.uint32)
    for split in splits:
        right = np.ones(digitizer.n_numbers, dtype=bool)
        right[list(split.codes)] = False
        right[-1] = not split.missing_left
        struck_out[right, split.tree - trees.start] |= np.uint32(split.left_leaves)
    as_bytes = struck_out.view(np.dtype((np.void, struck_out.strides[0]))).ravel()
    _, first, part = np.unique(as_bytes, return_index=True, return_inverse=True)
    return LookUp({feature: part.astype(np.intp)}, struck_out[first])


def _combined(one: LookUp, other: LookUp) -> LookUp:
    n_rows = len(other.table)
    table = (one.table[:, np.newaxis] | other.table).reshape(len(one.table) * n_rows, -1)
    return LookUp({feature: n_rows * part for feature, part in one.parts.items()} | dict(other.parts), table)


def first_leaf(left_over: Bits) -> NDArray[np.uint8]:
    """The number of the lowest bit that is set: as many as there are below it."""
    below = ~left_over
    below += np.uint32(1)
    below &= left_over
    below -= np.uint32(1)
    return np.bitwise_count(below)
