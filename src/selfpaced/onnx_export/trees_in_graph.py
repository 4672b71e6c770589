"""Trees as nodes of a graph: one operator adds up all trees of some members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.onnx_export.member import NO_CHILD, Tree
from selfpaced.onnx_export.nodes import Graph

GOES_LEFT_IF_LESS_OR_EQUAL, GOES_LEFT_IF_MEMBER = 0, 6
SUM = 1
TENSORS = ("nodes_splits", "nodes_modes", "membership_values", "leaf_weights")


def sums_of_trees(graph: Graph, rows: str, sums: Sequence[Sequence[Tree]]) -> str:
    """One operator for all trees: a column for each sum."""
    from onnx import numpy_helper

    tables: list[dict[str, NDArray[Any]]] = []
    n_nodes = n_leaves = 0
    for number, trees in enumerate(sums):
        for tree in trees:
            tables.append(_numbered(tree, number, n_nodes, n_leaves))
            n_nodes += tables[-1]["nodes_featureids"].size
            n_leaves += tables[-1]["leaf_targetids"].size
    joined = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
    # A runtime refuses an empty list of categories, but accepts none.
    tensors = {name: numpy_helper.from_array(joined[name]) for name in TENSORS if joined[name].size}
    numbers = {name: joined[name].astype(np.int64).tolist() for name in joined if name not in TENSORS}
    return graph.add(
        "TreeEnsemble",
        rows,
        domain="ai.onnx.ml",
        n_targets=len(sums),
        aggregate_function=SUM,
        **tensors,
        **numbers,
    )


def _numbered(tree: Tree, target: int, first_node: int, first_leaf: int) -> dict[str, NDArray[Any]]:
    """The attributes that a tree contributes, with its inner nodes and its leaves numbered apart."""
    tree = tree if tree.is_inner.any() else _with_a_split(tree)
    inner = tree.is_inner
    by_category = np.isin(np.flatnonzero(inner), list(tree.categories))
    number = np.where(inner, first_node + np.cumsum(inner) - 1, first_leaf + np.cumsum(~inner) - 1)
    left, right = tree.left[inner], tree.right[inner]
    return {
        "tree_roots": number[:1],
        "nodes_featureids": tree.feature[inner],
        "nodes_splits": tree.threshold[inner],
        "nodes_modes": np.where(by_category, GOES_LEFT_IF_MEMBER, GOES_LEFT_IF_LESS_OR_EQUAL).astype(np.uint8),
        "membership_values": _separated(tree.categories),
        "nodes_missing_value_tracks_true": tree.missing_left[inner],
        "nodes_truenodeids": number[left],
        "nodes_trueleafs": ~inner[left],
        "nodes_falsenodeids": number[right],
        "nodes_falseleafs": ~inner[right],
        "leaf_targetids": np.full(int(np.sum(~inner)), target),
        "leaf_weights": tree.value[~inner],
    }


def _separated(categories: Mapping[int, NDArray[np.float64]]) -> NDArray[np.float64]:
    """One set after the other in the order of the nodes, each with NaN at its end.

    >>> _separated({2: np.array([0.0, 3.0]), 1: np.array([5.0])}).tolist()
    [5.0, nan, 0.0, 3.0, nan]
    """
    return np.concatenate([np.empty(0), *(np.append(categories[node], np.nan) for node in sorted(categories))])


def _with_a_split(leaf: Tree) -> Tree:
    """A tree with only a leaf, as the graph needs it: with one split, both sides of which are the leaf."""
    return Tree(
        feature=np.zeros(2, dtype=np.int64),
        threshold=np.zeros(2),
        left=np.array([1, NO_CHILD]),
        right=np.array([1, NO_CHILD]),
        missing_left=np.ones(2, dtype=bool),
        value=np.repeat(leaf.value, 2),
    )
