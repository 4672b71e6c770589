"""A tree of bits against the same tree walked node by node."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from selfpaced.trees import MOST_LEAVES, CategorySplit, Numbering, Split, TreeSum
from selfpaced.trees.bitvectors import TREES_AT_ONCE

N_FEATURES = 4
CATEGORY = 3  # the feature that is split by categories
N_KNOWN = 5


def tree_sum(splits, leaf_values, columns, numbering=None):
    numbering = numbering or Numbering(splits)
    return TreeSum(splits, leaf_values, numbering)(numbering(columns), columns.shape[1]).tolist()


def grow(rng, tree, n_leaves, first=0):
    """A random tree as nested tuples, and its splits as bits."""
    if n_leaves == 1:
        return rng.normal(), []
    n_left = int(rng.integers(1, n_leaves))
    feature, left_leaves = int(rng.integers(N_FEATURES)), ((1 << n_left) - 1) << first
    if feature == CATEGORY:
        codes = tuple(rng.permutation(N_KNOWN)[: rng.integers(0, 4)].tolist())
        split = CategorySplit(tree, feature, codes, left_leaves, bool(rng.integers(2)), N_KNOWN)
    else:
        split = Split(tree, feature, float(rng.integers(-3, 4)), bool(rng.integers(2)), left_leaves)
    left, left_splits = grow(rng, tree, n_left, first)
    right, right_splits = grow(rng, tree, n_leaves - n_left, first + n_left)
    return (split, left, right), [split, *left_splits, *right_splits]


def walk(node, row):
    while isinstance(node, tuple):
        split, left, right = node
        node = left if goes_left(split, row[split.feature]) else right
    return node


def goes_left(split, value):
    if isinstance(split, CategorySplit):
        return value in split.codes if 0 <= value < N_KNOWN else split.missing_left
    return split.missing_left if np.isnan(value) else value <= split.threshold


def values_of(node):
    return values_of(node[1]) + values_of(node[2]) if isinstance(node, tuple) else [node]


@given(st.integers(0, 10**6), st.lists(st.integers(1, MOST_LEAVES), min_size=1, max_size=5))
@settings(deadline=None)
def test_the_sum_is_that_of_walking_the_trees_one_after_the_other(seed, sizes):
    rng = np.random.default_rng(seed)
    trees, splits = [], []
    leaf_values = np.zeros((len(sizes), MOST_LEAVES))
    for number, n_leaves in enumerate(sizes):
        tree, own = grow(rng, number, n_leaves)
        trees.append(tree)
        splits += own
        leaf_values[number, :n_leaves] = values_of(tree)
    rows = np.where(rng.uniform(size=(30, N_FEATURES)) < 0.2, np.nan, rng.integers(-3, 6, size=(30, N_FEATURES)))
    expected = []
    for row in rows:
        total = 0.0
        for tree in trees:
            total += walk(tree, row)
        expected.append(total)
    assert tree_sum(splits, leaf_values, rows.T) == expected
    others = grow(rng, 0, MOST_LEAVES)[1]
    assert tree_sum(splits, leaf_values, rows.T, Numbering([*splits, *others])) == expected


def test_more_trees_than_fit_at_once_are_added_in_order():
    rng = np.random.default_rng(0)
    n_trees = 2 * TREES_AT_ONCE + 3
    leaf_values = np.zeros((n_trees, MOST_LEAVES))
    leaf_values[:, :2] = rng.normal(size=(n_trees, 2)) * 10.0 ** rng.integers(-8, 8, size=(n_trees, 1))
    splits = [Split(tree, 0, 0.0, True, 1) for tree in range(n_trees)]
    total = 0.0
    for value in leaf_values[:, 0]:
        total += value
    assert tree_sum(splits, leaf_values, np.array([[-1.0]])) == [total]


@pytest.mark.parametrize("n_rows", [0, 1])
def test_a_single_leaf_is_a_tree(n_rows):
    leaf_values = np.zeros((1, MOST_LEAVES))
    leaf_values[0, 0] = 0.25
    assert tree_sum([], leaf_values, np.zeros((2, n_rows))) == [0.25] * n_rows
