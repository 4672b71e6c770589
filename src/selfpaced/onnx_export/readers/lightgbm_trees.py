"""LightGBM as sums of trees."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import ModelFileError
from selfpaced.onnx_export.member import NO_CHILD, Tree, TreeMember, link_of
from selfpaced.scoring.lightgbm_trees import missing_goes_left


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
