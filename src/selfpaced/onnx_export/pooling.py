"""The pool of several ensembles as nodes of a graph: the steps that `LogOddsPool` takes with numpy."""

from __future__ import annotations

from collections.abc import Sequence

from selfpaced.ensembles.pooling import SUREST, LogOddsPool
from selfpaced.onnx_export.calibration import shares, two_classes
from selfpaced.onnx_export.nodes import Graph


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
