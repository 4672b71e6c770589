"""The probabilities of a single row by many small trees, with a handful of operations on all their splits at once.

For one row it takes less time to ask every split of every tree than to walk the trees node by node: the answers strike
out leaves as in `bitvectors.py`, and all members are done together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from selfpaced.trees.bitvectors import AnySplit, CategorySplit, Split, first_leaf
from selfpaced.trees.lightgbm import BoosterTrees

Floats = NDArray[np.float64]


class BoostersOfARow:
    """What several boosters of two classes say of one row. Nothing is changed by a call, so threads can share it."""

    def __init__(self, boosters: Sequence[BoosterTrees], n_features: int) -> None:
        sizes = [len(booster.leaf_values) for booster in boosters]
        splits = _renumbered(boosters, np.cumsum([0, *sizes]).tolist())
        thresholds = [split for split in splits if isinstance(split, Split)]
        categories = [split for split in splits if isinstance(split, CategorySplit)]
        # Splits that send NaN left read the second half of the row, in which NaN is less than anything.
        self._reads = np.array([split.feature + n_features * split.missing_left for split in thresholds], dtype=np.intp)
        self._thresholds = np.array([split.threshold for split in thresholds])
        self._categories = _CategorySplits(categories)
        ordered: list[AnySplit] = [*thresholds, *categories]
        trees = np.array([split.tree for split in ordered], dtype=np.intp)
        self._by_tree = np.argsort(trees, kind="stable")
        self._left_leaves = np.array([split.left_leaves for split in ordered], dtype=np.uint32)[self._by_tree]
        self._split_trees, self._starts = np.unique(trees[self._by_tree], return_index=True)
        self._leaf_values = np.concatenate([booster.leaf_values for booster in boosters])
        # One row a booster, which are as long as the longest: what is behind the last tree adds nothing.
        self._places = np.full((len(boosters), max(sizes)), len(self._leaf_values), dtype=np.intp)
        for own, first, size in zip(self._places, np.cumsum([0, *sizes]), sizes, strict=False):
            own[:size] = np.arange(first, first + size)
        self._steepness = np.array([booster.steepness for booster in boosters])

    def __call__(self, row: Floats) -> Floats:
        """The probabilities of both classes by each booster, a row each, for the features of a row as floats."""
        values = np.zeros(len(self._leaf_values) + 1)
        values[:-1] = self._leaf_values[np.arange(len(self._leaf_values)), self._leaves(row)]
        # An accumulated sum adds one tree after the other, as a booster does.
        raw = values.take(self._places).cumsum(axis=1)[:, -1]
        probabilities: Floats = expit(self._steepness * raw)
        return np.column_stack([1 - probabilities, probabilities])

    def _leaves(self, row: Floats) -> NDArray[np.intp]:
        """The leaf of the row in each tree."""
        leaves = np.zeros(len(self._leaf_values), dtype=np.intp)
        if self._starts.size:
            low = np.where(np.isnan(row), -np.inf, row)
            left = np.concatenate([row, low]).take(self._reads) <= self._thresholds
            goes_left = np.concatenate([left, self._categories(row)]).take(self._by_tree)
            struck_out = np.bitwise_or.reduceat(np.where(goes_left, np.uint32(0), self._left_leaves), self._starts)
            leaves[self._split_trees] = first_leaf(~struck_out)
        return leaves


class _CategorySplits:
    """Which of some splits send a row left by its categories."""

    def __init__(self, splits: Sequence[CategorySplit]) -> None:
        self._features = np.array([split.feature for split in splits], dtype=np.intp)
        # The last column is for categories that no split knows, and for missing values.
        self._n_codes = 1 + max((max(split.codes) for split in splits), default=0)
        known = np.zeros((len(splits), self._n_codes + 1), dtype=bool)
        for own, split in zip(known, splits, strict=True):
            own[list(split.codes)] = True
        self._known = known.ravel()
        self._first = np.arange(len(splits), dtype=np.intp) * (self._n_codes + 1)

    def __call__(self, row: Floats) -> NDArray[np.bool_]:
        values = row.take(self._features)
        in_range = (values > -1) & (values < self._n_codes)  # neither holds for NaN
        codes = np.where(in_range, values, self._n_codes).astype(np.intp)
        return self._known.take(self._first + codes)


def _renumbered(boosters: Sequence[BoosterTrees], first_trees: Sequence[int]) -> list[AnySplit]:
    """The splits of all boosters, with trees numbered through."""
    return [
        replace(split, tree=first + split.tree)
        for booster, first in zip(boosters, first_trees, strict=False)
        for split in booster.splits
    ]
