"""The sum of many small trees, all at once, with the leaves of a tree as bits.

The idea is QuickScorer's (Lucchese et al., SIGIR 2015). Number the leaves of a tree from left to right. A row that goes
right at a node cannot end in the leaves on the node's left. Strike those out for every such node of the tree, in any
order, and the first leaf that is left is the row's own. What is struck out by the nodes on one feature depends on that
feature's value alone, so a table per feature holds it for all trees, and a row needs one look-up per feature.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from selfpaced.scoring.digitize import Digitizer

MOST_LEAVES = 32
# Look-ups of so many trees at once stay in a core's cache for a chunk of a few thousand rows.
TREES_AT_ONCE = 64

Bits = NDArray[np.uint32]


@dataclass(frozen=True)
class Split:
    """A node: rows with `value <= threshold` go left.

    Attributes
    ----------
    missing_left : where a row goes whose value is NaN.
    left_leaves : the bits of the leaves that lie on the left.
    """

    tree: int
    feature: int
    threshold: float
    missing_left: bool
    left_leaves: int


class TreeSum:
    """Gives rows the sum of their leaves' values, added in the order of the trees.

    Parameters
    ----------
    leaf_values : one row a tree, one column a leaf from left to right.
    """

    def __init__(self, splits: Sequence[Split], leaf_values: NDArray[np.float64]) -> None:
        by_feature: dict[int, list[Split]] = {}
        for split in splits:
            by_feature.setdefault(split.feature, []).append(split)
        thresholds = {f: np.unique([split.threshold for split in own]) for f, own in by_feature.items()}
        self._digitizers = {feature: Digitizer(thresholds[feature]) for feature in by_feature}
        self._blocks = []
        for first in range(0, len(leaf_values), TREES_AT_ONCE):
            trees = range(first, min(first + TREES_AT_ONCE, len(leaf_values)))
            tables = {f: _struck_out(own, thresholds[f], trees) for f, own in by_feature.items()}
            used = {feature: table for feature, table in tables.items() if table.any()}
            self._blocks.append((used, leaf_values[trees.start : trees.stop]))

    def __call__(self, columns: NDArray[np.float64]) -> NDArray[np.float64]:
        """The sums of the rows whose features are the rows of `columns`."""
        numbers = {feature: digitize(columns[feature]) for feature, digitize in self._digitizers.items()}
        total = np.zeros(columns.shape[1])
        for tables, leaf_values in self._blocks:
            struck_out = np.zeros((columns.shape[1], len(leaf_values)), dtype=np.uint32)
            for feature, table in tables.items():
                struck_out |= table.take(numbers[feature], axis=0)
            for values in _values_of(_first_leaf(~struck_out), leaf_values):
                total += values  # one after the other, as a booster does: a sum in another order differs
        return total


def _struck_out(splits: Sequence[Split], thresholds: NDArray[np.float64], trees: range) -> Bits:
    """For each number that the digitizer gives (NaN last), the leaves that splits on one feature strike out."""
    table = np.zeros((thresholds.size + 2, len(trees)), dtype=np.uint32)
    for split in splits:
        if split.tree in trees:
            column = table[:, split.tree - trees.start]
            column[np.searchsorted(thresholds, split.threshold) + 1 : -1] |= np.uint32(split.left_leaves)
            column[-1] |= np.uint32(0 if split.missing_left else split.left_leaves)
    return table


def _first_leaf(left_over: Bits) -> NDArray[np.uint8]:
    """The number of the lowest bit that is set: as many as there are below it."""
    below = ~left_over
    below += np.uint32(1)
    below &= left_over
    below -= np.uint32(1)
    return np.bitwise_count(below)


def _values_of(leaves: NDArray[np.uint8], leaf_values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The value of each row's leaf, one row a tree."""
    n_trees, n_leaves = leaf_values.shape
    positions = leaves.T + n_leaves * np.arange(n_trees, dtype=np.intp)[:, np.newaxis]
    values: NDArray[np.float64] = leaf_values.ravel().take(positions)
    return values
