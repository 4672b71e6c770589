"""Fitted members in the form of graphs, by kind of model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import ModelFileError
from selfpaced.onnx_export.graph import Formula, Graph, Member
from selfpaced.onnx_export.preparation import Given, read_steps
from selfpaced.trees import (
    TreeModel,
    UnsupportedTreesError,
    link_of,
    read_booster,
    read_catboost,
    read_forest,
    read_hist_gradient_boosting,
    read_xgboost,
)

Layer = tuple[NDArray[np.float64], NDArray[np.float64]]
OPERATORS = {"relu": "Relu", "tanh": "Tanh", "logistic": "Sigmoid"}


def read_logistic_regression(model: Any) -> Formula:
    scheme = getattr(model, "multi_class", "auto")  # a parameter of earlier versions of scikit-learn
    if scheme not in ("auto", "deprecated", "warn"):
        raise ModelFileError(
            f"A LogisticRegression with multi_class={scheme!r} cannot be exported to ONNX. Use 'auto'."
        )
    sums = partial(_layered, [(model.coef_.T, model.intercept_)], "identity")
    return Formula(sums, link_of(len(model.coef_)))


def read_mlp(model: Any) -> Formula:
    layers = list(zip(model.coefs_, model.intercepts_, strict=True))
    return Formula(partial(_layered, layers, model.activation), link_of(model.intercepts_[-1].size))


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


def read_histogram_trees(model: Any) -> TreeModel:
    if model.is_categorical_ is not None and model.is_categorical_.any():
        names = getattr(model, "feature_names_in_", np.arange(model.n_features_in_))
        raise ModelFileError(
            f"HistGradientBoosting splits column {names[model.is_categorical_].tolist()[0]!r} by its categories, which "
            "cannot be exported to ONNX. Encode the categories as numbers first, or use LightGBM."
        )
    return read_hist_gradient_boosting(model)


# By package and class name, so that packages of unused models are not imported.
READERS: dict[tuple[str, str], Callable[[Any], TreeModel | Formula]] = {
    ("sklearn", "DecisionTreeClassifier"): lambda model: read_forest([model]),
    ("sklearn", "RandomForestClassifier"): lambda model: read_forest(model.estimators_),
    ("sklearn", "ExtraTreesClassifier"): lambda model: read_forest(model.estimators_),
    ("sklearn", "HistGradientBoostingClassifier"): read_histogram_trees,
    ("sklearn", "LogisticRegression"): read_logistic_regression,
    ("sklearn", "MLPClassifier"): read_mlp,
    ("catboost", "CatBoostClassifier"): read_catboost,
    ("lightgbm", "LGBMClassifier"): lambda model: read_booster(model.booster_),
    ("xgboost", "XGBClassifier"): read_xgboost,
}


def read_member(model: Any, given: Given) -> Member:
    """A member in the common form. A member of an unsupported type raises. `given` are the columns that it gets."""
    if type(model).__module__ == "sklearn.pipeline" and type(model).__name__ == "Pipeline":
        *steps, (_, last) = model.steps
        preparation = read_steps([step for _, step in steps], given)
        return Member(read_member(last, Given()).model, preparation)
    for kind in type(model).__mro__:
        read = READERS.get((kind.__module__.partition(".")[0], kind.__name__))
        # A subclass with its own predict_proba may predict otherwise than its trees.
        if read is not None and type(model).predict_proba is kind.predict_proba:  # type: ignore[attr-defined]
            try:
                return Member(read(model))
            except UnsupportedTreesError as error:
                raise ModelFileError(f"{error} cannot be exported to ONNX. {error.advice}") from error
    kinds = ", ".join(sorted(name for _, name in READERS))
    raise ModelFileError(
        f"Members of the type {type(model).__name__} cannot be exported to ONNX. Supported types, also as the last "
        f"step of a Pipeline, are {kinds}."
    )
