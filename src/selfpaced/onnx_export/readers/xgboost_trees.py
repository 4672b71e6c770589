"""XGBoost as sums of trees. It adds up in 32 bits, so its probabilities differ from the graph's by about 1e-6."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from scipy.special import logit

from selfpaced.exceptions import ModelFileError
from selfpaced.onnx_export.member import Tree, TreeMember, link_of

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
