"""The sums of many small trees, all at once, with the leaves of a tree as bits.

The idea is QuickScorer's (Lucchese et al., SIGIR 2015). Number the leaves of a tree from left to right. A row that goes
right at a node cannot end in the leaves on the node's left. Strike those out for every such node of the tree, in any
order, and the first leaf that is left is the row's own.

For many rows: what is struck out by the nodes on one feature depends on that feature's value alone, so a table per
feature holds it for all trees. Features with few thresholds share a table, which has a row for every combination of
their values: then a row needs fewer look-ups than there are features.

For few rows: it takes less time to ask all nodes of all trees at once, with a handful of operations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.trees.tree import Bools, Floats, Ints, Link, TreeModel

CELLS_PER_THRESHOLD, FEWEST_CELLS, MOST_CELLS = 2**5, 2**8, 2**12


# More thresholds than this in one cell are rare (a spike at zero, an outlier), and then a binary search does it.
MOST_IN_A_CELL = 4
# For fewer values it takes longer to make the grid of float32 than it saves.
VALUES_WORTH_HALVES = 2**14


class Grid:
    """Counts the thresholds below values, with cells laid over all numbers.

    A binary search takes a wrong turn at every other step, and the processor waits. Instead a value's cell says how
    many thresholds lie in cells before it, and the few in its own cell are compared one by one. `cell` must not place a
    larger number in an earlier cell; `in_order` are all cells, from that of the smallest numbers.
    """

    def __init__(self, thresholds: NDArray[Any], cell: Callable[[Any], NDArray[np.intp]], in_order: Ints) -> None:
        self._thresholds, self._cell = thresholds, cell
        cells = cell(thresholds)
        in_cell = np.bincount(cells, minlength=in_order.size)
        self._before = np.empty_like(in_order)
        self._before[in_order] = np.cumsum(in_cell[in_order]) - in_cell[in_order]
        self.is_crowded = bool(in_cell.max() > MOST_IN_A_CELL)
        if not self.is_crowded:
            self._own = np.full((in_cell.max(), in_order.size), np.inf, thresholds.dtype)
            self._own[np.arange(thresholds.size) - self._before[cells], cells] = thresholds

    def __call__(self, column: NDArray[Any]) -> NDArray[np.intp]:
        if self.is_crowded:
            return np.asarray(np.searchsorted(self._thresholds, column), dtype=np.intp)
        cell = self._cell(column)
        numbers: NDArray[np.intp] = self._before.take(cell)
        for thresholds in self._own:
            numbers += column > thresholds.take(cell)
        return numbers


class Digitizer:
    """Numbers values by the thresholds below them: 0 if there is none, and one above the last number for NaN.

    The cells of the grid are equal. Rounding in their arithmetic does no harm: it is monotone and the same for values
    and thresholds. Many float32 values take half of the time: the upper halves of their bits are their cells.

    >>> Digitizer(np.array([1.0, 2.0]))(np.array([0.5, 1.0, 1.5, 2.5, np.nan])).tolist()
    [0, 0, 1, 2, 3]
    """

    def __init__(self, thresholds: NDArray[np.float64]) -> None:
        """`thresholds` are sorted and all different."""
        self.n_numbers = thresholds.size + 2
        self.thresholds = thresholds
        # A split of missing values from all others has an infinite threshold, which lies outside of the grid.
        finite = thresholds[np.isfinite(thresholds)]
        self._first: float = finite[0] if finite.size else 0.0
        last = finite[-1] if finite.size else 0.0
        # A grid no finer than it needs to be, so that it stays in the cache.
        self._n_cells = int(np.clip(CELLS_PER_THRESHOLD * thresholds.size, FEWEST_CELLS, MOST_CELLS))
        with np.errstate(over="ignore", divide="ignore"):
            cells_per_unit = (self._n_cells - 3) / np.float64(last - self._first)
        # Neither zero nor infinite, so that no product is NaN.
        self._cells_per_unit = np.clip(cells_per_unit, np.finfo(np.float64).tiny, np.finfo(np.float64).max)
        self.grid = Grid(thresholds, self._cell, np.arange(self._n_cells))

    @cached_property
    def grid_of_halves(self) -> Grid:
        """The grid for float32. No value lies between a threshold and the largest float32 that is not above it."""
        with np.errstate(over="ignore", under="ignore"):
            near = self.thresholds.astype(np.float32)
            below = np.where(near > self.thresholds, np.nextafter(near, np.float32(-np.inf)), near)
        below += 0  # of the two zeros the positive one
        return Grid(below, _upper_halves, np.r_[2**16 - 1 : 2**15 - 1 : -1, 0 : 2**15])

    def __call__(self, column: NDArray[np.floating]) -> NDArray[np.intp]:
        is_wide = column.dtype != np.float32 or column.size < VALUES_WORTH_HALVES or self.grid_of_halves.is_crowded
        grid, column = (self.grid, np.asarray(column, np.float64)) if is_wide else (self.grid_of_halves, column)
        if not np.isnan(column.min(initial=np.inf)):  # one NaN makes the minimum NaN
            return grid(column)
        missing = np.isnan(column)
        numbers = grid(np.where(missing, column.dtype.type(0), column))
        numbers[missing] = self.n_numbers - 1
        return numbers

    def _cell(self, values: NDArray[np.float64]) -> NDArray[np.intp]:
        with np.errstate(over="ignore"):  # far beyond the outermost thresholds infinity is as good as any number
            position = values - self._first
            position *= self._cells_per_unit
        position += 1
        np.maximum(position, 0, out=position)
        np.minimum(position, self._n_cells - 1, out=position)
        cells: NDArray[np.intp] = position.astype(np.intp)
        return cells


def _upper_halves(values: NDArray[np.float32]) -> NDArray[np.intp]:
    return np.asarray(values.view(np.uint32) >> np.uint32(16), dtype=np.intp)


class CategoryNumbers:
    """Numbers categories by their codes, from 0. All codes that no split knows share the last number, with NaN.

    Codes are cut off to whole numbers, as gradient boosters do: 1.9 is 1, and -0.5 is 0.

    >>> CategoryNumbers(2)(np.array([0.0, 1.9, 2.0, -0.5, -1.0, np.inf, np.nan])).tolist()
    [0, 1, 2, 0, 2, 2, 2]
    """

    def __init__(self, n_known: int) -> None:
        self.n_numbers = n_known + 1

    def __call__(self, column: NDArray[np.float64]) -> NDArray[np.intp]:
        n_known = self.n_numbers - 1
        known = (column > -1) & (column < n_known)  # neither holds for NaN
        return np.asarray(np.where(known, column, n_known), dtype=np.intp)


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
class SmallTrees:
    """The splits of a model of two classes, in the order of its trees, and the values of the leaves."""

    # One entry for each split, as in `Trees`.
    tree: Ints
    feature: Ints
    threshold: Floats
    missing_left: Bools
    by_category: Bools
    left_leaves: Bits  # the leaves on the left of the split
    # Every category that goes left: the number of the split and the code of the category.
    category_splits: Ints
    category_codes: Ints
    n_codes: Mapping[int, int]  # by feature with categories, how many codes are known. Others are missing values.
    leaf_values: Floats  # one row a tree, one column a leaf from left to right
    start: float = 0.0
    factor: float = 1.0

    def between(self, begin: int, end: int) -> SmallTrees:
        """The trees from one number to another, numbered from 0."""
        first, last = np.searchsorted(self.tree, [begin, end])
        own = (self.category_splits >= first) & (self.category_splits < last)
        names = ("feature", "threshold", "missing_left", "by_category", "left_leaves")
        splits = {name: getattr(self, name)[first:last] for name in names} | {"tree": self.tree[first:last] - begin}
        categories = {"category_splits": self.category_splits[own] - first, "category_codes": self.category_codes[own]}
        return replace(self, **splits, **categories, leaf_values=self.leaf_values[begin:end], start=0.0, factor=1.0)


def small_trees_of(model: TreeModel) -> SmallTrees | None:
    """The model in the form that bit vectors need; None if it has several sums, or a tree with too many leaves."""
    trees = model.trees
    first, n_leaves = trees.leaf_ranges()
    if model.link is not Link.LOGISTIC or n_leaves.max(initial=0) > MOST_LEAVES:
        return None
    inner = np.flatnonzero(trees.is_inner)
    leaves = np.flatnonzero(~trees.is_inner)
    leaf_values = np.zeros((len(model.sums), MOST_LEAVES))
    leaf_values[trees.tree[leaves], first[leaves]] = trees.value[leaves]
    n_left = n_leaves[trees.left[inner]].astype(np.uint64)
    left_leaves = ((np.uint64(1) << n_left) - np.uint64(1)) << first[inner].astype(np.uint64)
    split_of_node = np.cumsum(trees.is_inner) - 1
    codes_by_feature = trees.feature[trees.category_nodes]
    n_codes = {
        int(feature): max(
            model.n_known.get(int(feature), 0),
            1 + int(trees.category_codes[codes_by_feature == feature].max(initial=0)),
        )
        for feature in np.unique(trees.feature[trees.by_category])
    }
    return SmallTrees(
        trees.tree[inner],
        trees.feature[inner],
        trees.threshold[inner],
        trees.missing_left[inner],
        trees.by_category[inner],
        left_leaves.astype(np.uint32),
        split_of_node[trees.category_nodes],
        trees.category_codes,
        n_codes,
        leaf_values,
        float(np.ravel(model.start)[0]),
        model.factor,
    )


class Numbering:
    """Numbers the values of every feature that some splits ask for: values that no split parts have the same number.

    Trees of several models can share a numbering, and with it the work of numbering.
    """

    def __init__(self, models: Sequence[SmallTrees]) -> None:
        feature = np.concatenate([each.feature[~each.by_category] for each in models])
        threshold = np.concatenate([each.threshold[~each.by_category] for each in models])
        self.digitizers: dict[Feature, Digitizer | CategoryNumbers] = {}
        for position, some in _by_feature(feature, threshold):
            own = threshold[some]
            self.digitizers[position, False] = Digitizer(own[np.r_[True, own[1:] != own[:-1]]])
        for position in sorted({position for each in models for position in each.n_codes}):
            n_codes = max(each.n_codes.get(position, 0) for each in models)
            self.digitizers[position, True] = CategoryNumbers(n_codes)

    def __call__(self, columns: NDArray[np.floating]) -> Numbers:
        """The numbers of some rows, from their columns by position."""
        return {feature: digitize(columns[feature[0]]) for feature, digitize in self.digitizers.items()}


def _by_feature(feature: Ints, threshold: Floats) -> Iterator[tuple[int, Ints]]:
    """The positions of the splits on each feature, in the order of their thresholds."""
    order = np.lexsort((threshold, feature))
    starts = np.flatnonzero(np.diff(feature[order], prepend=-1))
    for some in np.split(order, starts[1:]) if order.size else ():
        yield int(feature[some[0]]), some


class TreeSum:
    """Gives rows the sum of their leaves' values, added in the order of the trees. `numbering` is of these or more."""

    def __init__(self, trees: SmallTrees, numbering: Numbering) -> None:
        self._start = trees.start
        self._blocks = []
        for first in range(0, len(trees.leaf_values), TREES_AT_ONCE):
            some = trees.between(first, first + TREES_AT_ONCE)
            self._blocks.append((list(_look_ups(some, numbering)), some.leaf_values))

    def __call__(self, numbers: Numbers, n_rows: int) -> Floats:
        """The sums of some rows, by the numbers of their features."""
        total = np.full(n_rows, self._start)
        for start in range(0, n_rows, ROWS_AT_ONCE):
            some = slice(start, start + ROWS_AT_ONCE)
            self._add(numbers, some, total[some])
        return total

    def _add(self, numbers: Numbers, some: slice, total: Floats) -> None:
        for look_ups, leaf_values in self._blocks:
            struck_out = np.zeros((total.size, len(leaf_values)), dtype=np.uint32)
            for look_up in look_ups:
                struck_out |= look_up(numbers, some)
            by_tree = np.ascontiguousarray(_first_leaf(~struck_out).T)
            for leaves, values in zip(by_tree, leaf_values, strict=True):
                total += values.take(leaves)  # one after the other, as a booster does: other orders differ


@dataclass(frozen=True)
class LookUp:
    """The leaves that the splits on some features strike out, by the combination of their numbers."""

    parts: Mapping[Feature, NDArray[np.intp]]  # of each feature in the number of the combination, by its own number
    table: Bits  # one row for each combination, one column a tree

    def __call__(self, numbers: Numbers, some: slice) -> Bits:
        (first, part), *others = self.parts.items()
        combination = part.take(numbers[first][some])
        for feature, part in others:
            combination += part.take(numbers[feature][some])
        return self.table.take(combination, axis=0)

    def combined(self, other: LookUp) -> LookUp:
        n_rows = len(other.table)
        table = (self.table[:, np.newaxis] | other.table).reshape(len(self.table) * n_rows, -1)
        return LookUp({feature: n_rows * part for feature, part in self.parts.items()} | dict(other.parts), table)


def _look_ups(trees: SmallTrees, numbering: Numbering) -> Iterator[LookUp]:
    """The splits of some trees, in as few tables as the number of combinations allows."""
    shared: LookUp | None = None
    for look_up in sorted(_of_each_feature(trees, numbering), key=lambda look_up: len(look_up.table)):
        if shared is not None and len(shared.table) * len(look_up.table) <= MOST_COMBINATIONS:
            shared = shared.combined(look_up)
            continue
        if shared is not None:
            yield shared
        shared = look_up
    if shared is not None:
        yield shared


def _of_each_feature(trees: SmallTrees, numbering: Numbering) -> Iterator[LookUp]:
    by_threshold = np.flatnonzero(~trees.by_category)
    for position, some in _by_feature(trees.feature[by_threshold], trees.threshold[by_threshold]):
        digitizer = numbering.digitizers[position, False]
        assert isinstance(digitizer, Digitizer)
        part, table = _of_thresholds(trees, by_threshold[some], digitizer)
        yield LookUp({(position, False): part}, table)
    for position in np.unique(trees.feature[trees.by_category]).tolist():
        part, table = _of_categories(trees, position, numbering.digitizers[position, True].n_numbers)
        yield LookUp({(position, True): part}, table)


def _of_thresholds(trees: SmallTrees, some: Ints, digitizer: Digitizer) -> tuple[NDArray[np.intp], Bits]:
    """One row for each of these splits' own thresholds that a value may exceed, from none to all; the last for NaN.

    The splits come in the order of their thresholds.
    """
    threshold, tree, left_leaves = trees.threshold[some], trees.tree[some], trees.left_leaves[some]
    is_new = np.r_[True, threshold[1:] != threshold[:-1]]
    own, rank = threshold[is_new], np.cumsum(is_new)
    table = np.zeros((own.size + 2, len(trees.leaf_values)), dtype=np.uint32)
    np.bitwise_or.at(table, (rank, tree), left_leaves)
    np.bitwise_or.accumulate(table[:-1], axis=0, out=table[:-1])  # who exceeds a threshold exceeds the lower ones
    goes_right = ~trees.missing_left[some]
    np.bitwise_or.at(table[-1], tree[goes_right], left_leaves[goes_right])
    # Of the thresholds that the digitizer knows, those below a number are exceeded.
    part = np.searchsorted(np.searchsorted(digitizer.thresholds, own), np.arange(digitizer.n_numbers))
    part[-1] = own.size + 1
    return part, table


def _of_categories(trees: SmallTrees, position: int, n_numbers: int) -> tuple[NDArray[np.intp], Bits]:
    """Categories that strike out the same share a row of the table."""
    some = np.flatnonzero(trees.by_category & (trees.feature == position))
    goes_left = _goes_left(trees, some, n_numbers)
    bits = np.where(goes_left, np.uint32(0), trees.left_leaves[some, np.newaxis])
    own_trees, starts = np.unique(trees.tree[some], return_index=True)  # splits are in the order of trees
    struck_out = np.zeros((n_numbers, len(trees.leaf_values)), dtype=np.uint32)
    struck_out[:, own_trees] = np.bitwise_or.reduceat(bits, starts, axis=0).T
    as_bytes = struck_out.view(np.dtype((np.void, struck_out.strides[0]))).ravel()
    _, first, part = np.unique(as_bytes, return_index=True, return_inverse=True)
    return part.astype(np.intp), struck_out[first]


def _goes_left(trees: SmallTrees, some: Ints, n_numbers: int) -> Bools:
    """Which numbers of categories go left at some splits, a row each. The last one is that of missing values."""
    place = np.full(trees.tree.size, -1)
    place[some] = np.arange(some.size)
    own = place[trees.category_splits] >= 0
    goes_left = np.zeros((some.size, n_numbers), dtype=bool)
    goes_left[place[trees.category_splits[own]], trees.category_codes[own]] = True
    goes_left[:, -1] = trees.missing_left[some]
    return goes_left


def _first_leaf(left_over: Bits) -> NDArray[np.uint8]:
    """The number of the lowest bit that is set: as many as there are below it."""
    below = ~left_over
    below += np.uint32(1)
    below &= left_over
    below -= np.uint32(1)
    return np.bitwise_count(below)


class RowSums:
    """The sums of several models for one row at a time. Nothing is changed by a call, so threads can share it."""

    def __init__(self, models: Sequence[SmallTrees]) -> None:
        sizes = [len(each.leaf_values) for each in models]
        firsts = np.cumsum([0, *sizes])
        tree = np.concatenate([each.tree + first for each, first in zip(models, firsts[:-1], strict=True)])
        # Every value of a row has two places. In the second, which splits that send NaN left read, NaN is below all.
        self._reads = np.concatenate([2 * each.feature + each.missing_left for each in models])
        self._thresholds = np.concatenate([each.threshold for each in models])
        self._left_leaves = np.concatenate([each.left_leaves for each in models])
        self._by_category = np.flatnonzero(np.concatenate([each.by_category for each in models]))
        self._n_codes = np.concatenate([_codes_of_splits(each) for each in models])
        self._known, self._first_known = _known_codes(models)
        self._split_trees, self._starts = np.unique(tree, return_index=True)
        self._leaf_values = np.concatenate([each.leaf_values for each in models])
        # One row a model, as long as the longest: what is behind its last tree adds nothing.
        places = np.arange(max(sizes)) + firsts[:-1, np.newaxis]
        self._places = np.where(np.arange(max(sizes)) < np.array(sizes)[:, np.newaxis], places, firsts[-1])
        self._start = np.array([[each.start] for each in models])

    def __call__(self, row: Floats) -> Floats:
        """The sum of each model, for the features of a row as floats."""
        values = np.zeros(len(self._leaf_values) + 1)
        values[:-1] = self._leaf_values[np.arange(len(self._leaf_values)), self._leaves(row)]
        # An accumulated sum adds one tree after the other, as a booster does.
        sums: Floats = np.concatenate([self._start, values.take(self._places)], axis=1).cumsum(axis=1)[:, -1]
        return sums

    def _leaves(self, row: Floats) -> NDArray[np.intp]:
        leaves = np.zeros(len(self._leaf_values), dtype=np.intp)
        if not self._starts.size:
            return leaves
        both = np.column_stack([row, np.where(np.isnan(row), -np.inf, row)])
        goes_left = both.take(self._reads) <= self._thresholds
        if self._by_category.size:
            codes = row.take(self._reads[self._by_category] // 2)
            known = (codes > -1) & (codes < self._n_codes)  # neither holds for NaN
            numbers = np.where(known, codes, self._n_codes).astype(np.intp)
            goes_left[self._by_category] = self._known.take(self._first_known + numbers)
        struck_out = np.bitwise_or.reduceat(np.where(goes_left, np.uint32(0), self._left_leaves), self._starts)
        leaves[self._split_trees] = _first_leaf(~struck_out)
        return leaves


def _codes_of_splits(trees: SmallTrees) -> Ints:
    """How many codes are known at each split by categories."""
    features = trees.feature[trees.by_category].tolist()
    return np.array([trees.n_codes[feature] for feature in features], dtype=np.int64)


def _known_codes(models: Sequence[SmallTrees]) -> tuple[Bools, Ints]:
    """Which codes go left at each split by categories, one split after the other, and where each split begins."""
    tables, sizes = [np.zeros(0, dtype=bool)], []
    for trees in models:
        n_numbers = 1 + _codes_of_splits(trees)
        splits = np.flatnonzero(trees.by_category)
        begin = np.zeros(trees.tree.size, dtype=np.int64)
        begin[splits] = np.cumsum(n_numbers) - n_numbers
        table = np.zeros(n_numbers.sum(), dtype=bool)
        table[begin[trees.category_splits] + trees.category_codes] = True
        table[begin[splits] + n_numbers - 1] = trees.missing_left[splits]
        tables.append(table)
        sizes.append(n_numbers)
    n_numbers = np.concatenate(sizes)
    return np.concatenate(tables), np.cumsum(n_numbers) - n_numbers
