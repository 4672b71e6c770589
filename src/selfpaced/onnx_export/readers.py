"""Fitted members in the form of graphs, by kind of model."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from selfpaced.exceptions import ModelFileError
from selfpaced.onnx_export.graph import NO_CHILD, FormulaMember, Graph, Link, Member, Tree, TreeMember, link_of
from selfpaced.onnx_export.preparation import Given, read_steps
from selfpaced.trees import missing_goes_left

LOSSES = ("Logloss", "MultiClass")


def read_catboost(model: Any) -> TreeMember:
    parts = _as_json(model)
    loss = parts["model_info"]["params"]["loss_function"]["type"]
    if loss not in LOSSES or "oblivious_trees" not in parts or set(parts["features_info"]) != {"float_features"}:
        raise ModelFileError(
            f"A CatBoost model with the loss {loss!r} and columns of {', '.join(sorted(parts['features_info']))} "
            f"cannot be exported to ONNX. Use {' or '.join(LOSSES)} with symmetric trees on numbers."
        )
    columns = parts["features_info"]["float_features"]
    scale, start = parts["scale_and_bias"]
    trees = [
        [_symmetric(tree, number, len(start), columns) for tree in parts["oblivious_trees"]]
        for number in range(len(start))
    ]
    by = {"start": np.array(start, dtype=np.float64) / scale, "divisor": 1 / scale}
    return TreeMember(trees, link_of(len(start)), reads_float32=True, **by)


def _as_json(model: Any) -> dict[str, Any]:
    """CatBoost's description of a model, which it can only write to files."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        parts: dict[str, Any] = json.loads(path.read_text())
        return parts


def _symmetric(tree: dict[str, Any], number: int, n_sums: int, columns: list[dict[str, Any]]) -> Tree:
    """The tree of one sum, with its nodes numbered level by level. The last split comes first.

    A row goes right if its value is above the border, which is a bit of the number of its leaf.
    """
    asked = [_question(split, columns) for split in reversed(tree["splits"])]
    depth = len(asked)
    level = np.repeat(np.arange(depth + 1), 2 ** np.arange(depth + 1))
    is_leaf = level == depth
    features, borders, missing_left = (
        (np.array([*of_level, 0]) for of_level in zip(*asked, strict=True)) if asked else (np.zeros(1),) * 3
    )
    nodes = np.arange(level.size)
    return Tree(
        feature=features[level].astype(np.int64),
        threshold=borders[level].astype(np.float64),
        left=np.where(is_leaf, NO_CHILD, 2 * nodes + 1),
        right=np.where(is_leaf, NO_CHILD, 2 * nodes + 2),
        missing_left=missing_left[level].astype(bool),
        value=np.concatenate([np.zeros(2**depth - 1), np.array(tree["leaf_values"], dtype=np.float64)[number::n_sums]]),
    )


def _question(split: dict[str, Any], columns: list[dict[str, Any]]) -> tuple[int, float, bool]:
    """The feature and the border of a split, and whether missing values are below it."""
    column = columns[split["float_feature_index"]]
    return column["flat_feature_index"], split["border"], column["nan_value_treatment"] != "AsTrue"


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


def read_lightgbm(model: Any) -> TreeMember:
    booster = model.booster_.dump_model()
    objective, _, steepness = str(booster.get("objective", "")).partition(" sigmoid:")
    n_sums = booster["num_tree_per_iteration"]
    if objective not in ("binary", f"multiclass num_class:{n_sums}") or booster["average_output"]:
        raise ModelFileError(
            f"A LightGBM model with the objective {objective!r}{' as a forest' * booster['average_output']} cannot be "
            "exported to ONNX. Use the objective 'binary' or 'multiclass' with boosting."
        )
    trees = [_dumped(tree["tree_structure"]) for tree in booster["tree_info"]]
    divisor = 1 / float(steepness) if steepness else 1.0
    return TreeMember([trees[number::n_sums] for number in range(n_sums)], link_of(n_sums), divisor=divisor)


def _dumped(root: dict[str, Any]) -> Tree:
    """LightGBM's nested nodes, numbered level by level."""
    nodes, left, right = [root], [], []
    for node in nodes:  # grows while it is read
        if "split_feature" not in node:
            _refuse_formulas(node)
            left.append(NO_CHILD)
            right.append(NO_CHILD)
            continue
        _refuse_missing_zeros(node)
        left.append(len(nodes))
        right.append(len(nodes) + 1)
        nodes += [node["left_child"], node["right_child"]]
    categories = {number: _categories(node) for number, node in enumerate(nodes) if _is_by_category(node)}
    # NaN is in no category.
    missing_left = [_is_by_threshold(node) and _missing_goes_left(node) for node in nodes]
    return Tree(
        feature=np.array([node.get("split_feature", 0) for node in nodes]),
        threshold=np.array([node["threshold"] if _is_by_threshold(node) else 0.0 for node in nodes], dtype=np.float64),
        left=np.array(left),
        right=np.array(right),
        missing_left=np.array(missing_left),
        value=np.array([node.get("leaf_value", 0.0) for node in nodes], dtype=np.float64),
        categories=categories,
    )


def _missing_goes_left(node: dict[str, Any]) -> bool:
    return missing_goes_left(node["missing_type"], bool(node["default_left"]), node["threshold"])


def _is_by_category(node: dict[str, Any]) -> bool:
    return node.get("decision_type") == "=="


def _is_by_threshold(node: dict[str, Any]) -> bool:
    return node.get("decision_type") == "<="


def _categories(node: dict[str, Any]) -> NDArray[np.float64]:
    """
    >>> _categories({"threshold": "0||3"}).tolist()
    [0.0, 3.0]
    """
    return np.array(node["threshold"].split("||"), dtype=np.float64)


def _refuse_missing_zeros(node: dict[str, Any]) -> None:
    if node["missing_type"] == "Zero":
        raise ModelFileError(
            "A LightGBM model with zero_as_missing=True cannot be exported to ONNX. Replace zeros by NaN instead."
        )


def _refuse_formulas(leaf: dict[str, Any]) -> None:
    if "leaf_coeff" in leaf:
        raise ModelFileError(
            "A LightGBM model with linear_tree=True cannot be exported to ONNX. Use linear_tree=False."
        )


def read_tree(model: Any) -> TreeMember:
    return _voting([model])


def read_forest(model: Any) -> TreeMember:
    return _voting(model.estimators_)


def _voting(trees: Any) -> TreeMember:
    """Each tree gives shares of classes. A leaf of a graph adds to one sum, so there is a copy of it for each class."""
    n_classes = trees[0].tree_.value.shape[2]
    by_class = [[_shares(each.tree_, number) for each in trees] for number in range(n_classes)]
    return TreeMember(by_class, Link.SHARES, divisor=float(len(trees)), reads_float32=True)


def _shares(tree: Any, class_number: int) -> Tree:
    return Tree(
        feature=tree.feature,
        threshold=tree.threshold,
        left=tree.children_left,
        right=tree.children_right,
        missing_left=tree.missing_go_to_left.astype(bool),
        value=tree.value[:, 0, class_number],
    )


def read_hist_gradient_boosting(model: Any) -> TreeMember:
    """scikit-learn has no public name for these trees. `_predictors` has existed since their first version."""
    if model.is_categorical_ is not None and model.is_categorical_.any():
        names = getattr(model, "feature_names_in_", np.arange(model.n_features_in_))
        raise ModelFileError(
            f"HistGradientBoosting splits column {names[model.is_categorical_].tolist()[0]!r} by its categories, which "
            "cannot be exported to ONNX. Encode the categories as numbers first, or use LightGBM."
        )
    by_sum = zip(*model._predictors, strict=True)  # one tree for each sum in every iteration
    trees = [[_boosted(each.nodes) for each in of_sum] for of_sum in by_sum]
    return TreeMember(trees, link_of(len(trees)), start=np.ravel(model._baseline_prediction))


def _boosted(nodes: NDArray[Any]) -> Tree:
    is_leaf = nodes["is_leaf"].astype(bool)
    return Tree(
        feature=nodes["feature_idx"].astype(np.int64),
        threshold=nodes["num_threshold"],
        left=np.where(is_leaf, NO_CHILD, nodes["left"].astype(np.int64)),
        right=np.where(is_leaf, NO_CHILD, nodes["right"].astype(np.int64)),
        missing_left=nodes["missing_go_to_left"].astype(bool),
        value=nodes["value"],
    )


OBJECTIVES = ("binary:logistic", "multi:softprob")


def read_xgboost(model: Any) -> TreeMember:
    booster = model.get_booster()
    best = booster.attr("best_iteration")  # where training was stopped early
    parts = json.loads((booster if best is None else booster[: int(best) + 1]).save_raw("json"))["learner"]
    objective, kind = parts["objective"]["name"], parts["gradient_booster"]["name"]
    boosted = parts["gradient_booster"].get("model", {})
    trees = boosted.get("trees", [])
    by_category = any(any(tree["split_type"]) for tree in trees)
    if objective not in OBJECTIVES or kind != "gbtree" or by_category or not np.isnan(model.missing):
        raise ModelFileError(
            f"An XGBoost model with the objective {objective!r}, booster={kind!r}, missing={model.missing}"
            f"{' and splits by category' * by_category} cannot be exported to ONNX. Use {' or '.join(OBJECTIVES)} with "
            "booster='gbtree', splits by numbers and missing=nan."
        )
    n_sums = max(1, int(parts["learner_model_param"]["num_class"]))
    sums: list[list[Tree]] = [[] for _ in range(n_sums)]
    for number, tree in zip(boosted["tree_info"], trees, strict=True):
        sums[number].append(_tree(tree))
    start = np.array(json.loads(parts["learner_model_param"]["base_score"]), dtype=np.float64)
    return TreeMember(sums, link_of(n_sums), start=logit(start) if n_sums == 1 else start, reads_float32=True)


def _tree(tree: dict[str, Any]) -> Tree:
    """A row goes left if its value is below the threshold, that is, at most the next smaller float32."""
    conditions = np.array(tree["split_conditions"], dtype=np.float32)
    return Tree(
        feature=np.array(tree["split_indices"]),
        threshold=np.nextafter(conditions, np.float32(-np.inf)).astype(np.float64),
        left=np.array(tree["left_children"]),
        right=np.array(tree["right_children"]),
        missing_left=np.array(tree["default_left"], dtype=bool),
        value=conditions.astype(np.float64),
    )


# By package and class name, so that packages of unused models are not imported.
READERS: dict[tuple[str, str], Callable[[Any], Member]] = {
    ("sklearn", "DecisionTreeClassifier"): read_tree,
    ("sklearn", "RandomForestClassifier"): read_forest,
    ("sklearn", "ExtraTreesClassifier"): read_forest,
    ("sklearn", "HistGradientBoostingClassifier"): read_hist_gradient_boosting,
    ("sklearn", "LogisticRegression"): read_logistic_regression,
    ("sklearn", "MLPClassifier"): read_mlp,
    ("catboost", "CatBoostClassifier"): read_catboost,
    ("lightgbm", "LGBMClassifier"): read_lightgbm,
    ("xgboost", "XGBClassifier"): read_xgboost,
}


def read_member(model: Any, given: Given) -> Member:
    """A member in the common form. A member of an unsupported type raises. `given` are the columns that it gets."""
    if type(model).__module__ == "sklearn.pipeline" and type(model).__name__ == "Pipeline":
        *steps, (_, last) = model.steps
        preparation = read_steps([step for _, step in steps], given)
        return replace(read_member(last, Given()), preparation=preparation)
    for kind in type(model).__mro__:
        read = READERS.get((kind.__module__.partition(".")[0], kind.__name__))
        # A subclass with its own predict_proba may predict otherwise than its trees.
        if read is not None and type(model).predict_proba is kind.predict_proba:  # type: ignore[attr-defined]
            return read(model)
    kinds = ", ".join(sorted(name for _, name in READERS))
    raise ModelFileError(
        f"Members of the type {type(model).__name__} cannot be exported to ONNX. Supported types, also as the last "
        f"step of a Pipeline, are {kinds}."
    )
