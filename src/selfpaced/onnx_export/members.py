"""Fitted members as sums of trees, by kind of model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import ModelFileError
from selfpaced.onnx_export.tree import NO_CHILD, Link, Member, Tree
from selfpaced.scoring.lightgbm import missing_goes_left

PIPELINES = (
    " A pipeline makes words into numbers for members that read numbers only. Train with LightGBM, which reads words "
    "by itself (--base lightgbm), or on columns of numbers only (--exclude the others)."
)


def read_member(model: Any) -> Member:
    """A member as sums of trees, or an error that names its kind."""
    for kind in type(model).__mro__:
        read = READERS.get((kind.__module__.partition(".")[0], kind.__name__))
        # What a subclass predicts in its own way is not in its trees.
        if read is not None and type(model).predict_proba is kind.predict_proba:  # type: ignore[attr-defined]
            return read(model)
    kinds = ", ".join(sorted(name for _, name in READERS))
    raise ModelFileError(
        f"The members are of the kind {type(model).__name__}, which cannot be exported to ONNX. These can: {kinds}."
        f"{PIPELINES if type(model).__name__ == 'Pipeline' else ''}"
    )


def _read_tree(model: Any) -> Member:
    return _voting([model])


def _read_forest(model: Any) -> Member:
    return _voting(model.estimators_)


def _voting(trees: Any) -> Member:
    """Each tree gives shares of classes. A leaf of a graph adds to one sum, so that there is a copy for each class."""
    n_classes = trees[0].tree_.value.shape[2]
    by_class = [[_shares(each.tree_, number) for each in trees] for number in range(n_classes)]
    return Member(by_class, Link.SHARES, divisor=float(len(trees)), reads_float32=True)


def _shares(tree: Any, class_number: int) -> Tree:
    return Tree(
        feature=tree.feature,
        threshold=tree.threshold,
        left=tree.children_left,
        right=tree.children_right,
        missing_left=tree.missing_go_to_left.astype(bool),
        value=tree.value[:, 0, class_number],
    )


def _read_hist_gradient_boosting(model: Any) -> Member:
    """scikit-learn shows these trees by no public name; `_predictors` has been there since they are."""
    if model.is_categorical_ is not None and model.is_categorical_.any():
        names = getattr(model, "feature_names_in_", np.arange(model.n_features_in_))
        raise ModelFileError(
            f"HistGradientBoosting splits column {names[model.is_categorical_].tolist()[0]!r} by its categories, which "
            "cannot be exported to ONNX. Make numbers of them first, or take LightGBM."
        )
    by_sum = zip(*model._predictors, strict=True)  # one tree for each sum in every iteration
    trees = [[_boosted(each.nodes) for each in of_sum] for of_sum in by_sum]
    return Member(trees, _link(len(trees)), start=np.ravel(model._baseline_prediction))


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


def _read_lightgbm(model: Any) -> Member:
    booster = model.booster_.dump_model()
    objective, _, steepness = str(booster.get("objective", "")).partition(" sigmoid:")
    n_sums = booster["num_tree_per_iteration"]
    if objective not in ("binary", f"multiclass num_class:{n_sums}") or booster["average_output"]:
        raise ModelFileError(
            f"A LightGBM of the objective {objective!r}{' as a forest' * booster['average_output']} cannot be exported "
            "to ONNX; one of the objective 'binary' or 'multiclass' with boosting can."
        )
    trees = [_dumped(tree["tree_structure"]) for tree in booster["tree_info"]]
    divisor = 1 / float(steepness) if steepness else 1.0
    return Member([trees[number::n_sums] for number in range(n_sums)], _link(n_sums), divisor=divisor)


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
    missing_left = [_is_by_threshold(node) and missing_goes_left(node) for node in nodes]
    return Tree(
        feature=np.array([node.get("split_feature", 0) for node in nodes]),
        threshold=np.array([node["threshold"] if _is_by_threshold(node) else 0.0 for node in nodes], dtype=np.float64),
        left=np.array(left),
        right=np.array(right),
        missing_left=np.array(missing_left),
        value=np.array([node.get("leaf_value", 0.0) for node in nodes], dtype=np.float64),
        categories=categories,
    )


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
        raise ModelFileError("A LightGBM with zero_as_missing=True cannot be exported to ONNX; make zeros NaN before.")


def _refuse_formulas(leaf: dict[str, Any]) -> None:
    if "leaf_coeff" in leaf:
        raise ModelFileError("A LightGBM with linear_tree=True cannot be exported to ONNX.")


def _link(n_sums: int) -> Link:
    return Link.LOGISTIC if n_sums == 1 else Link.SOFTMAX


# By package and class name, so that no package is imported for the sake of a model nobody uses.
READERS: dict[tuple[str, str], Callable[[Any], Member]] = {
    ("sklearn", "DecisionTreeClassifier"): _read_tree,
    ("sklearn", "RandomForestClassifier"): _read_forest,
    ("sklearn", "ExtraTreesClassifier"): _read_forest,
    ("sklearn", "HistGradientBoostingClassifier"): _read_hist_gradient_boosting,
    ("lightgbm", "LGBMClassifier"): _read_lightgbm,
}
