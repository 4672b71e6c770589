"""One ONNX graph for a model: the means of its ensembles, the pool of these, its calibration, the label.

Everything is computed in 64 bits, as in scikit-learn and LightGBM: with thresholds rounded to 32 bits, a row could take
the other branch. The operator TreeEnsemble supports 64 bits since ai.onnx.ml 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from selfpaced.calibration import Calibrator
from selfpaced.ensembles.pooling import LogOddsPool
from selfpaced.onnx_export.averaging import Average, add_average
from selfpaced.onnx_export.calibration import add_calibration
from selfpaced.onnx_export.nodes import Graph
from selfpaced.onnx_export.pooling import add_pool

OPSETS = {"": 18, "ai.onnx.ml": 5}
IR_VERSION = 10  # as old as the opsets, so that older runtimes can read it


def graph_of(
    averages: Sequence[Average],
    pool: LogOddsPool | None,
    calibrator: Calibrator | None,
    classes: NDArray[Any],
    n_features: int,
) -> Any:
    """The ONNX model. Without a pool there is one average."""
    from onnx import TensorProto, helper

    graph = Graph()
    means = [add_average(graph, average) for average in averages]
    pooled = means[0] if pool is None else add_pool(graph, means, pool, len(classes))
    probabilities = graph.add("Identity", add_calibration(graph, pooled, calibrator), output="probabilities")
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
