"""Models that are formulas: logistic regression and networks of several layers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import ModelFileError
from selfpaced.onnx_export.member import FormulaMember, link_of
from selfpaced.onnx_export.nodes import Graph

Layer = tuple[NDArray[np.float64], NDArray[np.float64]]
OPERATORS = {"relu": "Relu", "tanh": "Tanh", "logistic": "Sigmoid"}


def read_logistic_regression(model: Any) -> FormulaMember:
    scheme = getattr(model, "multi_class", "auto")  # a parameter of earlier versions of scikit-learn
    if scheme not in ("auto", "deprecated", "warn"):
        raise ModelFileError(
            f"A LogisticRegression with multi_class={scheme!r} cannot be exported to ONNX. Use 'auto'."
        )
    sums = partial(_layered, [(model.coef_.T, model.intercept_)], "identity")
    return FormulaMember(sums, link_of(len(model.coef_)))


def read_mlp(model: Any) -> FormulaMember:
    layers = list(zip(model.coefs_, model.intercepts_, strict=True))
    return FormulaMember(partial(_layered, layers, model.activation), link_of(model.intercepts_[-1].size))


def _layered(layers: Sequence[Layer], activation: str, graph: Graph, rows: str) -> str:
    """Layers of sums of products. Every layer except the last is followed by an activation.

    The operator is Gemm, not MatMul, because onnxruntime rounds a factor before a MatMul to 32 bits.
    """
    for number, (weights, starts) in enumerate(layers):
        if number > 0 and activation in OPERATORS:
            rows = graph.add(OPERATORS[activation], rows)
        constants = [graph.constant(np.asarray(each, dtype=np.float64)) for each in (weights, starts)]
        rows = graph.add("Gemm", rows, *constants)
    return rows
