"""One ONNX graph for all members: their trees, their probabilities, the mean, its calibration, the label.

Everything is computed in 64 bits, as scikit-learn and LightGBM do: rounded to 32, a threshold could send a row the
other way. The operator TreeEnsemble has been able to since ai.onnx.ml 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.calibration import Calibrator
from selfpaced.onnx_export.calibration import add_calibration
from selfpaced.onnx_export.nodes import Graph
from selfpaced.onnx_export.tree import NO_CHILD, Link, Member, Tree

OPSETS = {"": 18, "ai.onnx.ml": 5}
IR_VERSION = 10  # of the same age as the opsets, so that older runtimes read it too
GOES_LEFT_IF_LESS_OR_EQUAL, GOES_LEFT_IF_MEMBER = 0, 6
SUM = 1
TENSORS = ("nodes_splits", "nodes_modes", "membership_values", "leaf_weights")


def graph_of(
    members: Sequence[Member],
    weights: NDArray[np.float64] | None,
    calibrator: Calibrator | None,
    classes: NDArray[Any],
    n_features: int,
) -> Any:
    """The ONNX model. Without weights all members count the same."""
    from onnx import TensorProto, helper

    graph = Graph()
    means = _mean(graph, _member_probabilities(graph, members), len(members), weights)
    probabilities = graph.add("Identity", add_calibration(graph, means, calibrator), output="probabilities")
    most_probable = graph.add("ArgMax", probabilities, axis=1, keepdims=0)
    labels = classes.astype(object) if classes.dtype.kind == "U" else classes
    graph.add("Gather", graph.constant(labels), most_probable, output="label")
    label_type = helper.np_dtype_to_tensor_dtype(labels.dtype)
    onnx_graph = helper.make_graph(
        graph.nodes,
        "selfpaced",
        [helper.make_tensor_value_info("X", TensorProto.DOUBLE, ["rows", n_features])],
        [
            helper.make_tensor_value_info("label", label_type, ["rows"]),
            helper.make_tensor_value_info("probabilities", TensorProto.DOUBLE, ["rows", len(classes)]),
        ],
        graph.constants,
    )
    opsets = [helper.make_opsetid(domain, version) for domain, version in OPSETS.items()]
    return helper.make_model(onnx_graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="selfpaced")


def _member_probabilities(graph: Graph, members: Sequence[Member]) -> str:
    """The name of an array of rows, members, classes. All members are of the kind of the first."""
    first, n_sums = members[0], len(members[0].trees)
    sums = _sums_of_trees(graph, _rows(graph, first), [of_sum for each in members for of_sum in each.trees])
    sums = graph.add("Reshape", sums, graph.constant(np.array([0, len(members), n_sums])))
    sums = graph.add("Add", sums, graph.constant(np.stack([np.broadcast_to(each.start, n_sums) for each in members])))
    sums = graph.add("Div", sums, graph.constant(np.array([[each.divisor] for each in members])))
    if first.link is Link.SHARES:
        return sums
    if first.link is Link.SOFTMAX:
        return graph.add("Softmax", sums, axis=2)
    second = graph.add("Sigmoid", sums)
    return graph.add("Concat", graph.add("Sub", graph.constant(1.0), second), second, axis=2)


def _rows(graph: Graph, member: Member) -> str:
    from onnx import TensorProto

    if not member.reads_float32:
        return "X"
    return graph.add("Cast", graph.add("Cast", "X", to=TensorProto.FLOAT), to=TensorProto.DOUBLE)


def _mean(graph: Graph, probabilities: str, n_members: int, weights: NDArray[np.float64] | None) -> str:
    if weights is not None:
        probabilities = graph.add("Mul", probabilities, graph.constant(weights[:, np.newaxis]))
    total = graph.add("ReduceSum", probabilities, graph.constant(np.array([1])), keepdims=0)
    by = float(n_members if weights is None else weights.sum())
    return graph.add("Div", total, graph.constant(by))


def _sums_of_trees(graph: Graph, rows: str, sums: Sequence[Sequence[Tree]]) -> str:
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
    # A runtime takes no empty list of categories, but does without.
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
    """A tree that is a leaf, as the graph needs it: with one split, both sides of which are the leaf."""
    return Tree(
        feature=np.zeros(2, dtype=np.int64),
        threshold=np.zeros(2),
        left=np.array([1, NO_CHILD]),
        right=np.array([1, NO_CHILD]),
        missing_left=np.ones(2, dtype=bool),
        value=np.repeat(leaf.value, 2),
    )
