"""The mean of an ensemble's members as nodes of a graph. Members of one kind are one operator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from selfpaced.onnx_export.member import FormulaMember, Link, Member, TreeMember
from selfpaced.onnx_export.nodes import Graph
from selfpaced.onnx_export.trees_in_graph import sums_of_trees


@dataclass(frozen=True)
class Average:
    """Members and their weights; None if all have the same weight."""

    members: Sequence[Member]
    weights: NDArray[np.float64] | None


def add_average(graph: Graph, average: Average) -> str:
    """The name of the mean of the members' probabilities: rows, classes."""
    members = average.members
    weights = np.ones(len(members)) if average.weights is None else average.weights
    sums = [_sum_of_group(graph, [members[number] for number in group], weights[group]) for group in _groups(members)]
    total = sums[0] if len(sums) == 1 else graph.add("Sum", *sums)
    return graph.add("Div", total, graph.constant(float(weights.sum())))


def _groups(members: Sequence[Member]) -> list[list[int]]:
    """The numbers of members that one operator computes: plain trees of one kind. Each other member has its own."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for number, member in enumerate(members):
        kind: tuple[object, ...] = (number,)
        if isinstance(member, TreeMember) and not member.preparation:
            kind = (member.link, len(member.trees), member.reads_float32)
        groups.setdefault(kind, []).append(number)
    return list(groups.values())


def _sum_of_group(graph: Graph, members: Sequence[Member], weights: NDArray[np.float64]) -> str:
    """The name of an array of rows, classes."""
    probabilities = _probabilities(graph, members)
    if not (weights == 1).all():
        probabilities = graph.add("Mul", probabilities, graph.constant(weights[:, np.newaxis]))
    return graph.add("ReduceSum", probabilities, graph.constant(np.array([1])), keepdims=0)


def _probabilities(graph: Graph, members: Sequence[Member]) -> str:
    """The name of an array of rows, members, classes."""
    first, rows = members[0], "X"
    for step in first.preparation:
        rows = step(graph, rows)
    if isinstance(first, FormulaMember):
        sums = graph.add("Unsqueeze", first.sums(graph, rows), graph.constant(np.array([1])))
    else:
        sums = _tree_sums(graph, rows, [each for each in members if isinstance(each, TreeMember)])
    if first.link is Link.SHARES:
        return sums
    if first.link is Link.SOFTMAX:
        return graph.add("Softmax", sums, axis=2)
    second = graph.add("Sigmoid", sums)
    return graph.add("Concat", graph.add("Sub", graph.constant(1.0), second), second, axis=2)


def _tree_sums(graph: Graph, rows: str, members: Sequence[TreeMember]) -> str:
    """The name of an array of rows, members, sums."""
    n_sums = len(members[0].trees)
    rows = _rounded(graph, rows) if members[0].reads_float32 else rows
    sums = sums_of_trees(graph, rows, [of_sum for each in members for of_sum in each.trees])
    sums = graph.add("Reshape", sums, graph.constant(np.array([0, len(members), n_sums])))
    sums = graph.add("Add", sums, graph.constant(np.stack([np.broadcast_to(each.start, n_sums) for each in members])))
    return graph.add("Div", sums, graph.constant(np.array([[each.divisor] for each in members])))


def _rounded(graph: Graph, rows: str) -> str:
    from onnx import TensorProto

    return graph.add("Cast", graph.add("Cast", rows, to=TensorProto.FLOAT), to=TensorProto.DOUBLE)
