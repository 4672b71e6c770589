"""The steps of pipelines before a model, as nodes of a graph."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.ensembles.auto import numbered_columns
from selfpaced.exceptions import ModelFileError
from selfpaced.onnx_export.graph import Graph, Nodes
from selfpaced.scoring import code_table


@dataclass(frozen=True)
class Given:
    """The columns that a step gets."""

    names: Sequence[str] | None = None  # None if they have none
    # Of each categorical column. The graph reads a category as its number.
    categories: Mapping[str, Sequence[str]] = field(default_factory=dict)


UNCHANGED: Nodes = lambda graph, rows: rows  # noqa: E731


def read_step(step: Any, given: Given) -> Nodes:
    """A fitted step of a pipeline as nodes. A step of an unsupported type raises."""
    kind = type(step)
    read = STEPS.get(kind.__name__)
    if read is None or not kind.__module__.startswith("sklearn."):
        raise ModelFileError(
            f"A pipeline with the step {kind.__name__} cannot be exported to ONNX. Supported steps are "
            f"{', '.join(sorted(STEPS))}."
        )
    return read(step, given)


def read_steps(steps: Sequence[Any], given: Given) -> Nodes:
    """Steps one after the other. Only the first one knows the names of columns."""
    read = [read_step(step, Given() if number else given) for number, step in enumerate(steps)]
    return lambda graph, rows: reduce(lambda made, step: step(graph, made), read, rows)


def _read_imputer(imputer: Any, given: Given) -> Nodes:
    if not (isinstance(imputer.missing_values, float) and np.isnan(imputer.missing_values)):
        raise ModelFileError(
            f"A SimpleImputer with missing_values={imputer.missing_values!r} cannot be exported to ONNX. Use nan."
        )
    filling = np.asarray(imputer.statistics_, dtype=np.float64)
    kept = np.flatnonzero(~np.isnan(filling))
    marked = imputer.indicator_.features_ if imputer.add_indicator else np.empty(0, dtype=np.intp)

    def filled(graph: Graph, rows: str) -> str:
        """Missing values filled, columns without any value dropped, and columns added that mark what was missing."""
        from onnx import TensorProto

        missing = graph.add("IsNaN", rows)
        found = graph.add("Where", missing, graph.constant(filling), rows)
        if kept.size < filling.size:
            found = graph.columns(found, kept)
        if not marked.size:
            return found
        marks = graph.add("Cast", graph.columns(missing, marked), to=TensorProto.DOUBLE)
        return graph.add("Concat", found, marks, axis=1)

    return filled


def _read_scaler(scaler: Any, given: Given) -> Nodes:
    def scaled(graph: Graph, rows: str) -> str:
        rows = graph.add("Sub", rows, graph.constant(scaler.mean_)) if scaler.with_mean else rows
        return rows if scaler.scale_ is None else graph.add("Div", rows, graph.constant(scaler.scale_))

    return scaled


def _read_function(step: Any, given: Given) -> Nodes:
    if step.func not in (None, numbered_columns):
        raise ModelFileError(
            f"A pipeline with the function {step.func!r} cannot be exported to ONNX. Remove this step."
        )
    return UNCHANGED


def _read_column_transformer(step: Any, given: Given) -> Nodes:
    parts = []
    for name, transformer, columns in step.transformers_:
        if isinstance(transformer, str) and transformer == "drop":
            continue
        chosen = _places(name, columns, given)
        names = None if given.names is None else [given.names[place] for place in chosen]
        own = Given(names, given.categories)
        passed_on = isinstance(transformer, str)  # "passthrough"
        if chosen.size:
            parts.append((chosen, UNCHANGED if passed_on else read_step(transformer, own)))
    return lambda graph, rows: graph.joined([step(graph, graph.columns(rows, chosen)) for chosen, step in parts])


def _places(name: str, columns: Any, given: Given) -> NDArray[np.intp]:
    """The numbers of the columns that a part of a ColumnTransformer gets."""
    with warnings.catch_warnings():
        # scikit-learn 1.6 announces that it will store names instead of numbers. Both are read here.
        warnings.simplefilter("ignore", FutureWarning)
        chosen = list(columns) if isinstance(columns, Sequence) and not isinstance(columns, str) else [columns]
    if all(isinstance(each, str) for each in chosen) and given.names is not None:
        return np.array([list(given.names).index(each) for each in chosen], dtype=np.intp)
    if all(isinstance(each, int | np.integer) and not isinstance(each, bool) for each in chosen):
        return np.array(chosen, dtype=np.intp)
    raise ModelFileError(
        f"The part {name!r} of a ColumnTransformer selects its columns by {columns!r}, which cannot be exported to "
        "ONNX. Give a list of names or numbers."
    )


def _read_encoder(encoder: Any, given: Given) -> Nodes:
    """The outputs of an encoder for each category, as tables by the numbers of the categories."""
    unknown = [name for name in given.names or ["without names"] if name not in given.categories]
    if unknown:
        raise ModelFileError(
            f"The {type(encoder).__name__} reads the column {unknown[0]!r}, whose categories the model has not stored, "
            "so it cannot be exported to ONNX. Train with fit_table, or with AutoSelfPacedClassifier on a frame."
        )
    assert given.names is not None
    found = code_table(encoder, [given.categories[name] for name in given.names])
    assert found is not None  # each output of these encoders depends on one column
    outputs = np.arange(found.base.size)
    places, tables = [outputs[own] for own, _ in found.blocks], [table for _, table in found.blocks]
    constant = np.setdiff1d(outputs, np.concatenate(places))  # those of no column are looked up with the first one
    tables[0] = np.hstack([tables[0], np.broadcast_to(found.base[constant], (len(tables[0]), constant.size))])
    places[0] = np.concatenate([places[0], constant])
    order = np.argsort(np.concatenate(places))

    def looked_up(graph: Graph, rows: str) -> str:
        """The outputs for columns of category numbers, from a table for each, in the order of the encoder."""
        from onnx import TensorProto

        made = []
        for number, table in enumerate(tables):
            column = graph.add("Squeeze", graph.columns(rows, [number]), graph.constant(np.array([1])))
            known = graph.add("Where", graph.add("IsNaN", column), graph.constant(float(len(table) - 1)), column)
            code = graph.add("Cast", known, to=TensorProto.INT64)
            made.append(graph.add("Gather", graph.constant(table), code, axis=0))
        return graph.columns(graph.joined(made), order)

    return looked_up


STEPS: dict[str, Callable[[Any, Given], Nodes]] = {
    "ColumnTransformer": _read_column_transformer,
    "FunctionTransformer": _read_function,
    "OneHotEncoder": _read_encoder,
    "OrdinalEncoder": _read_encoder,
    "Pipeline": lambda pipeline, given: read_steps([step for _, step in pipeline.steps], given),
    "SimpleImputer": _read_imputer,
    "StandardScaler": _read_scaler,
}
