"""The trees of scikit-learn: decision trees, forests, and histogram gradient boosting.

Histogram gradient boosting has no public name for its trees. `_predictors` has existed since its first version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.trees.tree import NO_CHILD, Ints, Link, TreeModel, Trees, UnsupportedTreesError, link_of


def read_forest(trees: Sequence[Any]) -> TreeModel:
    """Decision trees that each give the shares of classes. A leaf adds to one sum, so each class has copies of them."""
    forest = Trees.joined([_decision_tree(each.tree_) for each in trees])
    shares = np.concatenate([each.tree_.value[:, 0, :] for each in trees])
    n_classes = shares.shape[1]
    copies = Trees.joined([replace(forest, value=shares[:, number]) for number in range(n_classes)])
    sums = np.repeat(np.arange(n_classes), len(trees))
    return TreeModel(copies, sums, n_classes, Link.SHARES, reads_float32=True)


def read_hist_gradient_boosting(model: Any) -> TreeModel:
    """A model whose categories, if it has any, are those of a frame's types."""
    categories = hist_categories(model)
    predictors = [each for iteration in model._predictors for each in iteration]
    trees = _boosted_trees(predictors)
    if categories:
        # In training categorical columns come first.
        others = [position for position in range(model.n_features_in_) if position not in categories]
        positions = np.array([*categories, *others])
        nodes, codes = _category_bits(predictors, trees)
        trees = replace(trees, feature=positions[trees.feature], category_nodes=nodes, category_codes=codes)
    n_sums = model.n_trees_per_iteration_
    return TreeModel(
        trees,
        sums=np.arange(len(predictors)) % n_sums,
        n_sums=n_sums,
        link=link_of(n_sums),
        start=np.ravel(model._baseline_prediction),
        n_known={position: len(own) for position, own in categories.items()},
    )


def hist_categories(model: Any) -> Mapping[int, Sequence[Any]]:
    """The categories that a model was trained with, by the position of the column. A NaN among them is left out."""
    if model.is_categorical_ is None or not model.is_categorical_.any():
        return {}
    if not (isinstance(model.categorical_features, str) and model.categorical_features == "from_dtype"):
        raise UnsupportedTreesError(
            "HistGradientBoosting with codes of categories", "Use the categories of the columns' types."
        )
    known = model._preprocessor.named_transformers_["encoder"].categories_
    positions = np.flatnonzero(model.is_categorical_).tolist()
    return {at: [each for each in own if each == each] for at, own in zip(positions, known, strict=True)}


def check_decision_tree(model: Any) -> None:
    """Refuse a tree whose nodes or features do not exist. A model that is not fitted has no tree."""
    tree = getattr(model, "tree_", None)
    if tree is None:
        return
    if tree.node_count > tree.capacity:
        raise ValueError("a tree has fewer nodes than it says.")
    _decision_tree(tree).check(model.n_features_in_)


def check_hist_gradient_boosting(model: Any) -> None:
    """The same for the trees of histogram gradient boosting, and their categories."""
    predictors = [each for iteration in getattr(model, "_predictors", []) for each in iteration]
    if not predictors:
        return
    for predictor in predictors:
        nodes = predictor.nodes
        sets = nodes["bitset_idx"][(nodes["is_leaf"] == 0) & (nodes["is_categorical"] != 0)]
        if not (sets < len(predictor.raw_left_cat_bitsets)).all():
            raise ValueError("a tree uses categories that do not exist.")
    _boosted_trees(predictors).check(model.n_features_in_)


def _decision_tree(tree: Any) -> Trees:
    return Trees(
        starts=np.array([0, tree.node_count]),
        feature=tree.feature,
        threshold=tree.threshold,
        left=tree.children_left,
        right=tree.children_right,
        missing_left=tree.missing_go_to_left.astype(bool),
        value=np.zeros(tree.node_count),
    )


def _boosted_trees(predictors: Sequence[Any]) -> Trees:
    """Without the categories of their splits."""
    sizes = [len(each.nodes) for each in predictors]
    starts = np.cumsum([0, *sizes])
    nodes = np.concatenate([each.nodes for each in predictors])
    first, is_leaf = np.repeat(starts[:-1], sizes), nodes["is_leaf"].astype(bool)
    return Trees(
        starts=starts,
        feature=nodes["feature_idx"].astype(np.int64),
        threshold=nodes["num_threshold"],
        left=np.where(is_leaf, NO_CHILD, first + nodes["left"]),
        right=np.where(is_leaf, NO_CHILD, first + nodes["right"]),
        missing_left=nodes["missing_go_to_left"].astype(bool),
        value=nodes["value"],
        by_category=nodes["is_categorical"].astype(bool) & ~is_leaf,
    )


def _category_bits(predictors: Sequence[Any], trees: Trees) -> tuple[Ints, Ints]:
    """The nodes and the codes of all categories that go left: the bits of the words of each node."""
    nodes = np.flatnonzero(trees.by_category)
    numbers: NDArray[Any] = np.concatenate([each.nodes["bitset_idx"] for each in predictors])[nodes]
    n_sets = [len(each.raw_left_cat_bitsets) for each in predictors]
    words = np.concatenate([each.raw_left_cat_bitsets for each in predictors])
    first_sets = np.cumsum([0, *n_sets])[trees.tree[nodes]]
    own = np.ascontiguousarray(words[first_sets + numbers].astype("<u4"))
    bits = np.unpackbits(own.view(np.uint8).reshape(len(nodes), -1), axis=1, bitorder="little")
    splits, codes = np.nonzero(bits)
    return nodes[splits], codes
