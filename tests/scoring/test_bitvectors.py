"""The sums of small trees against the same trees walked node by node."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from selfpaced.trees import NO_CHILD, Link, TreeModel, Trees, small_trees_of
from selfpaced.trees.bitvectors import MOST_LEAVES, TREES_AT_ONCE, Numbering, RowSums, TreeSum

N_FEATURES = 4
CATEGORY = 3  # the feature that is split by categories
N_KNOWN = 5


def grow(rng, n_leaves):
    """A random tree as a list of nodes; the children of a node are later in the list."""
    nodes = [{"n_leaves": n_leaves}]
    for node in nodes:  # grows while it is read
        node |= {"feature": 0, "threshold": 0.0, "missing_left": False, "left": NO_CHILD, "right": NO_CHILD}
        node |= {"value": rng.normal(), "codes": None}
        if node["n_leaves"] == 1:
            continue
        n_left = int(rng.integers(1, node["n_leaves"]))
        node |= {"left": len(nodes), "right": len(nodes) + 1, "missing_left": bool(rng.integers(2))}
        node |= {"feature": int(rng.integers(N_FEATURES)), "threshold": float(rng.integers(-3, 4))}
        if node["feature"] == CATEGORY:
            node["codes"] = rng.permutation(N_KNOWN)[: rng.integers(0, 4)].tolist()
        nodes += [{"n_leaves": n_left}, {"n_leaves": node["n_leaves"] - n_left}]
    return nodes


def trees_of(nodes):
    codes = [(number, code) for number, node in enumerate(nodes) for code in node["codes"] or []]
    return Trees(
        starts=np.array([0, len(nodes)]),
        **{name: np.array([node[name] for node in nodes]) for name in ("feature", "threshold", "left", "right")},
        **{name: np.array([node[name] for node in nodes]) for name in ("missing_left", "value")},
        by_category=np.array([node["codes"] is not None for node in nodes]),
        category_nodes=np.array([number for number, _ in codes], dtype=np.int64),
        category_codes=np.array([code for _, code in codes], dtype=np.int64),
    )


def model_of(trees, **parts):
    joined = Trees.joined(trees)
    return TreeModel(
        joined, np.zeros(len(trees), dtype=np.int64), 1, Link.LOGISTIC, n_known={CATEGORY: N_KNOWN}, **parts
    )


def walk(nodes, row):
    node = nodes[0]
    while node["left"] != NO_CHILD:
        node = nodes[node["left" if goes_left(node, row[node["feature"]]) else "right"]]
    return node["value"]


def goes_left(node, value):
    if node["codes"] is not None:
        return value in node["codes"] if 0 <= value < N_KNOWN else node["missing_left"]
    return node["missing_left"] if np.isnan(value) else value <= node["threshold"]


def sums_of_many(model, rows, others=()):
    numbering = Numbering([model, *others])
    return TreeSum(model, numbering)(numbering(np.ascontiguousarray(rows.T)), len(rows)).tolist()


@given(st.integers(0, 10**6), st.lists(st.integers(1, MOST_LEAVES), min_size=1, max_size=5))
@settings(deadline=None)
def test_the_sum_is_that_of_walking_the_trees_one_after_the_other(seed, sizes):
    rng = np.random.default_rng(seed)
    nodes = [grow(rng, n_leaves) for n_leaves in sizes]
    model = small_trees_of(model_of([trees_of(each) for each in nodes], start=0.3))
    other = small_trees_of(model_of([trees_of(grow(rng, MOST_LEAVES))]))
    rows = np.where(rng.uniform(size=(30, N_FEATURES)) < 0.2, np.nan, rng.integers(-3, 6, size=(30, N_FEATURES)))
    expected = []
    for row in rows:
        total = 0.3
        for each in nodes:
            total += walk(each, row)
        expected.append(total)
    assert sums_of_many(model, rows) == expected
    assert sums_of_many(model, rows, [other]) == expected
    of_a_row = RowSums([other, model])
    assert [of_a_row(row)[1] for row in rows] == expected


def test_more_trees_than_fit_at_once_are_added_in_order():
    rng = np.random.default_rng(0)
    n_trees = 2 * TREES_AT_ONCE + 3
    stump = {"feature": 0, "threshold": 0.0, "missing_left": True, "left": 1, "right": 2, "value": 0.0, "codes": None}
    leaf = stump | {"left": NO_CHILD, "right": NO_CHILD}
    values = (rng.normal(size=n_trees) * 10.0 ** rng.integers(-8, 8, size=n_trees)).tolist()
    model = small_trees_of(model_of([trees_of([stump, leaf | {"value": value}, leaf]) for value in values]))
    total = 0.0
    for value in values:
        total += value
    assert sums_of_many(model, np.array([[-1.0]])) == [total]
    assert RowSums([model])(np.array([-1.0])).tolist() == [total]


@pytest.mark.parametrize("n_rows", [0, 1])
def test_a_single_leaf_is_a_tree(n_rows):
    leaf = {"feature": 0, "threshold": 0.0, "missing_left": False, "left": NO_CHILD, "right": NO_CHILD}
    model = small_trees_of(model_of([trees_of([leaf | {"value": 0.25, "codes": None}])]))
    assert sums_of_many(model, np.zeros((n_rows, 2))) == [0.25] * n_rows
    assert RowSums([model])(np.zeros(2)).tolist() == [0.25]


def test_trees_with_more_leaves_than_bits_are_not_small():
    rng = np.random.default_rng(0)
    assert small_trees_of(model_of([trees_of(grow(rng, MOST_LEAVES))])) is not None
    assert small_trees_of(model_of([trees_of(grow(rng, MOST_LEAVES + 1))])) is None
