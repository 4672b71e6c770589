"""Trees of scikit-learn as sums of trees."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import ModelFileError
from selfpaced.onnx_export.member import NO_CHILD, Link, Tree, TreeMember, link_of


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
