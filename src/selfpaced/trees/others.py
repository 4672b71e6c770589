"""The trees of XGBoost and CatBoost, read from the JSON in which they save themselves."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.special import logit

from selfpaced.trees.tree import NO_CHILD, TreeModel, Trees, UnsupportedTreesError, link_of

OBJECTIVES = ("binary:logistic", "multi:softprob")
LOSSES = ("Logloss", "MultiClass")


def read_xgboost(model: Any) -> TreeModel:
    booster = model.get_booster()
    best = booster.attr("best_iteration")  # where training was stopped early
    parts = json.loads((booster if best is None else booster[: int(best) + 1]).save_raw("json"))["learner"]
    objective, kind = parts["objective"]["name"], parts["gradient_booster"]["name"]
    boosted = parts["gradient_booster"].get("model", {})
    trees = boosted.get("trees", [])
    by_category = any(any(tree["split_type"]) for tree in trees)
    if objective not in OBJECTIVES or kind != "gbtree" or by_category or not np.isnan(model.missing):
        raise UnsupportedTreesError(
            f"An XGBoost model with the objective {objective!r}, booster={kind!r}, missing={model.missing}"
            f"{' and splits by category' * by_category}",
            f"Use {' or '.join(OBJECTIVES)} with booster='gbtree', splits by numbers and missing=nan.",
        )
    n_sums = max(1, int(parts["learner_model_param"]["num_class"]))
    start = np.array(json.loads(parts["learner_model_param"]["base_score"]), dtype=np.float64)
    return TreeModel(
        Trees.joined([_xgboost_tree(tree) for tree in trees]),
        sums=np.array(boosted["tree_info"]),
        n_sums=n_sums,
        link=link_of(n_sums),
        start=logit(start) if n_sums == 1 else start,
        reads_float32=True,
    )


def _xgboost_tree(tree: dict[str, Any]) -> Trees:
    """A row goes left if its value is below the threshold, that is, at most the next smaller float32."""
    conditions = np.array(tree["split_conditions"], dtype=np.float32)
    return Trees(
        starts=np.array([0, conditions.size]),
        feature=np.array(tree["split_indices"]),
        threshold=np.nextafter(conditions, np.float32(-np.inf)).astype(np.float64),
        left=np.array(tree["left_children"]),
        right=np.array(tree["right_children"]),
        missing_left=np.array(tree["default_left"], dtype=bool),
        value=conditions.astype(np.float64),
    )


def read_catboost(model: Any) -> TreeModel:
    parts = _as_json(model)
    loss = parts["model_info"]["params"]["loss_function"]["type"]
    if loss not in LOSSES or "oblivious_trees" not in parts or set(parts["features_info"]) != {"float_features"}:
        raise UnsupportedTreesError(
            f"A CatBoost model with the loss {loss!r} and columns of {', '.join(sorted(parts['features_info']))}",
            f"Use {' or '.join(LOSSES)} with symmetric trees on numbers.",
        )
    columns = parts["features_info"]["float_features"]
    scale, start = parts["scale_and_bias"]
    n_sums, trees = len(start), parts["oblivious_trees"]
    return TreeModel(
        Trees.joined([_symmetric(tree, number, n_sums, columns) for number in range(n_sums) for tree in trees]),
        sums=np.repeat(np.arange(n_sums), len(trees)),
        n_sums=n_sums,
        link=link_of(n_sums),
        start=np.array(start, dtype=np.float64) / scale,
        factor=float(scale),
        reads_float32=True,
    )


def _as_json(model: Any) -> dict[str, Any]:
    """CatBoost's description of a model, which it can only write to files."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        parts: dict[str, Any] = json.loads(path.read_text())
        return parts


def _symmetric(tree: dict[str, Any], number: int, n_sums: int, columns: list[dict[str, Any]]) -> Trees:
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
    return Trees(
        starts=np.array([0, level.size]),
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
