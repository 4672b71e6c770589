"""The calibration of an ensemble as nodes of a graph: the steps that `selfpaced.calibration` takes with numpy."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.calibration import (
    SMOOTH_SHARE,
    SOFT,
    BetaMap,
    Calibrator,
    ClassMaps,
    IsotonicMap,
    PriorCorrection,
    RareClassMap,
)
from selfpaced.onnx_export.nodes import Graph


def add_calibration(graph: Graph, means: str, calibrator: Calibrator | None) -> str:
    """The name of the calibrated probabilities; without a calibration, the name of the means."""
    return means if calibrator is None else _calibrated(calibrator, graph, means)


@singledispatch
def _calibrated(calibrator: Any, graph: Graph, means: str) -> str:
    raise NotImplementedError(type(calibrator).__name__)


@_calibrated.register
def _(calibrator: PriorCorrection, graph: Graph, means: str) -> str:
    return shares(graph, graph.add("Mul", means, graph.constant(calibrator.factors)))


@_calibrated.register
def _(calibrator: RareClassMap, graph: Graph, means: str) -> str:
    rare = _mapped(calibrator.map, graph, graph.columns(means, [calibrator.rare]))
    return two_classes(graph, rare, calibrator.rare)


@_calibrated.register
def _(calibrator: ClassMaps, graph: Graph, means: str) -> str:
    columns = [_mapped(each, graph, graph.columns(means, [number])) for number, each in enumerate(calibrator.maps)]
    return shares(graph, graph.add("Concat", *columns, axis=1))


@singledispatch
def _mapped(score_map: Any, graph: Graph, scores: str) -> str:
    """A column of scores as a column of probabilities."""
    raise NotImplementedError(type(score_map).__name__)


@_mapped.register
def _(score_map: BetaMap, graph: Graph, scores: str) -> str:
    below = graph.add("Log", graph.add("Add", scores, graph.constant(SOFT)))
    above = graph.add("Log", graph.add("Sub", graph.constant(1 + SOFT), scores))
    rise = graph.add("Mul", below, graph.constant(score_map.from_0))
    fall = graph.add("Mul", above, graph.constant(score_map.from_1))
    odds = graph.add("Add", graph.add("Sub", rise, fall), graph.constant(score_map.constant))
    return graph.add("Sigmoid", odds)


@_mapped.register
def _(score_map: IsotonicMap, graph: Graph, scores: str) -> str:
    """Straight lines between corners are a sum of ramps, each of which rises from one corner to the next."""
    starts, widths, rises = _ramps(score_map.scores, score_map.shares)
    beyond = graph.add("Div", graph.add("Sub", scores, graph.constant(starts)), graph.constant(widths))
    within = graph.add("Clip", beyond, graph.constant(0.0), graph.constant(1.0))
    # The share of the steps is in the constants: a factor after a MatMul is rounded to 32 bits by onnxruntime.
    steps = 1 - SMOOTH_SHARE
    risen = graph.add("MatMul", within, graph.constant(steps * rises[:, np.newaxis]))
    stairs = graph.add("Add", risen, graph.constant(steps * float(score_map.shares[0])))
    smooth = graph.add("Mul", _mapped(score_map.smooth, graph, scores), graph.constant(SMOOTH_SHARE))
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
