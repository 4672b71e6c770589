"""CatBoost as sums of trees. All nodes of a level have the same split, which is one bit of the number of the leaf."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from selfpaced.exceptions import ModelFileError
from selfpaced.onnx_export.member import NO_CHILD, Tree, TreeMember, link_of

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
