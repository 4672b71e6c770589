"""ONNX graphs: trees, means, pools and calibrations as nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced import calibration
from selfpaced.model import SUREST, LogOddsPool
from selfpaced.trees import NO_CHILD, Link, TreeModel, Trees

# A function that adds nodes which read an array, given by name, and returns the name of the result.
Nodes = Callable[["Graph", str], str]


@dataclass(frozen=True)
class Formula:
    """A model as a formula: `sums` are the nodes from rows to an array with a column for each sum."""

    sums: Nodes
    link: Link


@dataclass(frozen=True)
class Member:
    """A member of an ensemble, and the steps that prepare its rows."""

    model: TreeModel | Formula
    preparation: Nodes | None = None


class Graph:
    """Nodes and constants in the order in which they are computed."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, operator: str, *inputs: str, output: str | None = None, domain: str = "", **attributes: Any) -> str:
        """Add a node; return the name of its output."""
        from onnx import helper

        name = output or f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], domain=domain, **attributes))
        return name

    def constant(self, values: Any) -> str:
        from onnx import numpy_helper

        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def columns(self, array: str, numbers: Sequence[int] | NDArray[np.integer]) -> str:
        """Some columns of an array."""
        return self.add("Gather", array, self.constant(np.asarray(numbers, dtype=np.int64)), axis=1)

    def joined(self, arrays: Sequence[str]) -> str:
        """Several arrays side by side."""
        return arrays[0] if len(arrays) == 1 else self.add("Concat", *arrays, axis=1)


OPSETS = {"": 18, "ai.onnx.ml": 5}
IR_VERSION = 10  # as old as the opsets, so that older runtimes can read it


def graph_of(
    averages: Sequence[Average],
    pool: LogOddsPool | None,
    calibrator: calibration.Calibrator | None,
    classes: NDArray[Any],
    n_features: int,
) -> Any:
    """The ONNX model. Without a pool there is one average."""
    from onnx import TensorProto, helper

    graph = Graph()
    means = [add_average(graph, average) for average in averages]
    pooled = means[0] if pool is None else add_pool(graph, means, pool, len(classes))
    calibrated = pooled if calibrator is None else _calibrated(calibrator, graph, pooled)
    probabilities = graph.add("Identity", calibrated, output="probabilities")
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


@dataclass(frozen=True)
class Average:
    """Members and their weights; None if all have the same weight."""

    members: Sequence[Member]
    weights: NDArray[np.float64] | None


def add_average(graph: Graph, average: Average) -> str:
    """The name of the mean of the members' probabilities: rows, classes."""
    members = average.members
    weights = np.ones(len(members)) if average.weights is None else average.weights
    sums = []
    for group in _groups(members):
        probabilities = _probabilities(graph, [members[number] for number in group])
        if not (weights[group] == 1).all():
            probabilities = graph.add("Mul", probabilities, graph.constant(weights[group][:, np.newaxis]))
        sums.append(graph.add("ReduceSum", probabilities, graph.constant(np.array([1])), keepdims=0))
    total = sums[0] if len(sums) == 1 else graph.add("Sum", *sums)
    return graph.add("Div", total, graph.constant(float(weights.sum())))


def _groups(members: Sequence[Member]) -> list[list[int]]:
    """The numbers of members that one operator computes: plain trees of one kind. Each other member has its own."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for number, member in enumerate(members):
        model, kind = member.model, tuple[object, ...]((number,))
        if isinstance(model, TreeModel) and member.preparation is None:
            kind = (model.link, model.n_sums, model.reads_float32)
        groups.setdefault(kind, []).append(number)
    return list(groups.values())


def _probabilities(graph: Graph, members: Sequence[Member]) -> str:
    """The name of an array of rows, members, classes."""
    first, prepare = members[0].model, members[0].preparation
    rows = "X" if prepare is None else prepare(graph, "X")
    if isinstance(first, Formula):
        sums = graph.add("Unsqueeze", first.sums(graph, rows), graph.constant(np.array([1])))
    else:
        sums = _tree_sums(graph, rows, [each.model for each in members if isinstance(each.model, TreeModel)])
    if first.link is Link.SHARES:
        return sums
    if first.link is Link.SOFTMAX:
        return graph.add("Softmax", sums, axis=2)
    second = graph.add("Sigmoid", sums)
    return graph.add("Concat", graph.add("Sub", graph.constant(1.0), second), second, axis=2)


def _tree_sums(graph: Graph, rows: str, models: Sequence[TreeModel]) -> str:
    """The name of an array of rows, members, sums."""
    from onnx import TensorProto

    n_sums = models[0].n_sums
    if models[0].reads_float32:
        rows = graph.add("Cast", graph.add("Cast", rows, to=TensorProto.FLOAT), to=TensorProto.DOUBLE)
    targets = [each.sums + n_sums * number for number, each in enumerate(models)]
    trees = Trees.joined([each.trees for each in models])
    sums = sums_of_trees(graph, rows, trees, np.concatenate(targets), n_sums * len(models))
    sums = graph.add("Reshape", sums, graph.constant(np.array([0, len(models), n_sums])))
    if models[0].link is Link.SHARES:
        return graph.add("Div", sums, graph.constant(np.array([[each.sums.size / n_sums] for each in models])))
    sums = graph.add("Add", sums, graph.constant(np.stack([np.broadcast_to(each.start, n_sums) for each in models])))
    return graph.add("Mul", sums, graph.constant(np.array([[each.factor] for each in models])))


def add_pool(graph: Graph, means: Sequence[str], pool: LogOddsPool, n_classes: int) -> str:
    """The name of the probabilities of all ensembles together. `means` are those of each."""
    terms = []
    for number, each in enumerate(means):
        odds = _log_odds(graph, graph.columns(each, pool.classes))
        centred = graph.add("Sub", odds, graph.constant(pool.centres[number]))
        terms.append(graph.add("Mul", centred, graph.constant(pool.weights[number] / pool.spreads[number])))
    standard = graph.add("Sum", *terms)
    scaled = graph.add("Mul", standard, graph.constant(pool.weights @ pool.spreads))
    pooled = graph.add("Sigmoid", graph.add("Add", scaled, graph.constant(pool.weights @ pool.centres)))
    return shares(graph, pooled) if n_classes > 2 else two_classes(graph, pooled, pool.classes[0])


def _log_odds(graph: Graph, probabilities: str) -> str:
    clipped = graph.add("Clip", probabilities, graph.constant(SUREST), graph.constant(1 - SUREST))
    against = graph.add("Log", graph.add("Sub", graph.constant(1.0), clipped))
    return graph.add("Sub", graph.add("Log", clipped), against)


@singledispatch
def _calibrated(calibrator: Any, graph: Graph, means: str) -> str:
    """The name of the calibrated probabilities."""
    raise NotImplementedError(type(calibrator).__name__)


@_calibrated.register
def _(calibrator: calibration.PriorCorrection, graph: Graph, means: str) -> str:
    return shares(graph, graph.add("Mul", means, graph.constant(calibrator.factors)))


@_calibrated.register
def _(calibrator: calibration.RareClassMap, graph: Graph, means: str) -> str:
    rare = _mapped(calibrator.map, graph, graph.columns(means, [calibrator.rare]))
    return two_classes(graph, rare, calibrator.rare)


@_calibrated.register
def _(calibrator: calibration.ClassMaps, graph: Graph, means: str) -> str:
    columns = [_mapped(each, graph, graph.columns(means, [number])) for number, each in enumerate(calibrator.maps)]
    return shares(graph, graph.add("Concat", *columns, axis=1))


@singledispatch
def _mapped(score_map: Any, graph: Graph, scores: str) -> str:
    """A column of scores as a column of probabilities."""
    raise NotImplementedError(type(score_map).__name__)


@_mapped.register
def _(score_map: calibration.BetaMap, graph: Graph, scores: str) -> str:
    below = graph.add("Log", graph.add("Add", scores, graph.constant(calibration.SOFT)))
    above = graph.add("Log", graph.add("Sub", graph.constant(1 + calibration.SOFT), scores))
    rise = graph.add("Mul", below, graph.constant(score_map.from_0))
    fall = graph.add("Mul", above, graph.constant(score_map.from_1))
    odds = graph.add("Add", graph.add("Sub", rise, fall), graph.constant(score_map.constant))
    return graph.add("Sigmoid", odds)


@_mapped.register
def _(score_map: calibration.IsotonicMap, graph: Graph, scores: str) -> str:
    """Straight lines between corners are a sum of ramps, each of which rises from one corner to the next."""
    starts, widths, rises = _ramps(score_map.scores, score_map.shares)
    beyond = graph.add("Div", graph.add("Sub", scores, graph.constant(starts)), graph.constant(widths))
    within = graph.add("Clip", beyond, graph.constant(0.0), graph.constant(1.0))
    # The share of the steps is in the constants: a factor after a MatMul is rounded to 32 bits by onnxruntime.
    steps = 1 - calibration.SMOOTH_SHARE
    risen = graph.add("MatMul", within, graph.constant(steps * rises[:, np.newaxis]))
    stairs = graph.add("Add", risen, graph.constant(steps * float(score_map.shares[0])))
    smooth = graph.add("Mul", _mapped(score_map.smooth, graph, scores), graph.constant(calibration.SMOOTH_SHARE))
    return graph.add("Add", stairs, smooth)


def _ramps(scores: NDArray[np.float64], shares: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Where each ramp starts, how long it is, and how high.

    >>> [ramps.tolist() for ramps in _ramps(np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.0, 1.0]))]
    [[0.5], [0.5], [1.0]]
    """
    widths, rises = np.diff(scores), np.diff(shares)
    steep = rises > 0
    if not steep.any():
        return np.zeros(1), np.ones(1), np.zeros(1)
    return scores[:-1][steep], widths[steep], rises[steep]


def shares(graph: Graph, parts: str) -> str:
    """Numbers that add up to 1 in every row."""
    total = graph.add("ReduceSum", parts, graph.constant(np.array([1])), keepdims=1)
    return graph.add("Div", parts, total)


def two_classes(graph: Graph, column: str, number: int) -> str:
    """The probabilities of both classes, from a column with those of one of them."""
    other = graph.add("Sub", graph.constant(1.0), column)
    return graph.add("Concat", *([other, column] if number else [column, other]), axis=1)


GOES_LEFT_IF_LESS_OR_EQUAL, GOES_LEFT_IF_MEMBER = 0, 6
SUM = 1
TENSORS = ("nodes_splits", "nodes_modes", "membership_values", "leaf_weights")


def sums_of_trees(graph: Graph, rows: str, trees: Trees, targets: NDArray[np.int64], n_targets: int) -> str:
    """One operator for all trees: a column for each sum. `targets` are the numbers of the sums of the trees."""
    from onnx import numpy_helper

    attributes = _attributes(trees, targets)
    # A runtime refuses an empty list of categories, but accepts none.
    tensors = {name: numpy_helper.from_array(attributes[name]) for name in TENSORS if attributes[name].size}
    numbers = {name: attributes[name].astype(np.int64).tolist() for name in attributes if name not in TENSORS}
    return graph.add(
        "TreeEnsemble",
        rows,
        domain="ai.onnx.ml",
        n_targets=n_targets,
        aggregate_function=SUM,
        **tensors,
        **numbers,
    )


def _attributes(trees: Trees, targets: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """The attributes of the operator, with inner nodes and leaves numbered apart. Trees of one sum come together."""
    trees = _with_splits(trees)
    inner = trees.is_inner
    number = np.where(inner, np.cumsum(inner), np.cumsum(~inner)) - 1
    left, right = trees.left[inner], trees.right[inner]
    by_category = trees.by_category[inner]
    return {
        "tree_roots": number[trees.starts[:-1]][np.argsort(targets, kind="stable")],
        "nodes_featureids": trees.feature[inner],
        "nodes_splits": trees.threshold[inner],
        "nodes_modes": np.where(by_category, GOES_LEFT_IF_MEMBER, GOES_LEFT_IF_LESS_OR_EQUAL).astype(np.uint8),
        "membership_values": _separated(np.flatnonzero(trees.by_category), trees.category_nodes, trees.category_codes),
        "nodes_missing_value_tracks_true": trees.missing_left[inner],
        "nodes_truenodeids": number[left],
        "nodes_trueleafs": ~inner[left],
        "nodes_falsenodeids": number[right],
        "nodes_falseleafs": ~inner[right],
        "leaf_targetids": targets[trees.tree[~inner]],
        "leaf_weights": trees.value[~inner],
    }


def _separated(nodes: NDArray[Any], category_nodes: NDArray[Any], codes: NDArray[Any]) -> NDArray[np.float64]:
    """The categories of some nodes, one set after the other, each with NaN at its end.

    >>> _separated(np.array([1, 2]), np.array([2, 2, 1]), np.array([0, 3, 5])).tolist()
    [5.0, nan, 0.0, 3.0, nan]
    """
    values = np.concatenate([codes, np.full(nodes.size, np.nan)])
    return values[np.argsort(np.concatenate([category_nodes, nodes]), kind="stable")]


def _with_splits(trees: Trees) -> Trees:
    """The same trees. Those with only a leaf get a split before it, both sides of which are the leaf."""
    roots = trees.starts[:-1]
    leaves = roots[~trees.is_inner[roots]]
    place = np.arange(trees.feature.size) + np.searchsorted(leaves, np.arange(trees.feature.size), side="right")
    child = place[leaves]

    def moved(children: NDArray[np.int64]) -> NDArray[np.int64]:
        of_node = np.where(children == NO_CHILD, NO_CHILD, place[children])
        return np.insert(of_node, leaves, child)

    return Trees(
        starts=trees.starts + np.searchsorted(leaves, trees.starts),
        feature=np.insert(trees.feature, leaves, 0),
        threshold=np.insert(trees.threshold, leaves, 0.0),
        left=moved(trees.left),
        right=moved(trees.right),
        missing_left=np.insert(trees.missing_left, leaves, True),
        value=np.insert(trees.value, leaves, 0.0),
        by_category=np.insert(trees.by_category, leaves, False),
        category_nodes=place[trees.category_nodes],
        category_codes=trees.category_codes,
    )
