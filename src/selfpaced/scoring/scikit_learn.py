"""Probabilities from scikit-learn's trees and from ensembles of them, leaf by leaf.

`tree_.apply` runs without the interpreter's lock on float32 rows and skips the checks and conversions that
`predict_proba` makes in each call. The public attributes `tree_`, `estimators_` and their like are all that is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import softmax
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import assert_all_finite, check_array

from selfpaced.scoring.scorer import Probabilities, Scorer, as_is

# Threads that take turns at short calls get into each other's way: chunks larger than a core's cache are faster.
BYTES_AT_ONCE = 2**23

LeafValues = NDArray[np.float64]


def as_float32(features: Any) -> Any:
    """The rows as scikit-learn's trees read them; no copy if they are so already."""
    if isinstance(features, np.ndarray):
        return np.ascontiguousarray(features, dtype=np.float32)
    if issparse(features):
        return features.astype(np.float32, copy=False)
    return check_array(features, dtype=np.float32, ensure_all_finite=False)


def as_finite_float32(features: Any) -> Any:
    """The same for AdaBoost, which takes no missing values although its trees would."""
    rows = as_float32(features)
    assert_all_finite(rows.data if issparse(rows) else rows, input_name="X")
    return rows


def tree_scorer(model: Any) -> Scorer:
    return _scorer([model], [leaf_shares(model)], finish=as_is)


def forest_scorer(model: Any) -> Scorer:
    trees = model.estimators_
    return _scorer(trees, [leaf_shares(tree) for tree in trees], finish=lambda total: total / len(trees))


def bagging_scorer(model: Any) -> Scorer | None:
    """Bags of trees that see all classes and all features; other bags are left to their own `predict_proba`."""
    trees = model.estimators_
    all_features = np.arange(model.n_features_in_)
    if not (
        all(_is_plain_tree(tree) and tree.n_classes_ == model.n_classes_ for tree in trees)
        and all(np.array_equal(features, all_features) for features in model.estimators_features_)
    ):
        return None
    return forest_scorer(model)


def adaboost_scorer(model: Any) -> Scorer | None:
    """Each tree votes for one class with its weight, and the softmax of the votes is the probability."""
    trees = model.estimators_
    if not all(_is_plain_tree(tree) and tree.n_classes_ == model.n_classes_ for tree in trees):
        return None
    scale = model.estimator_weights_.sum() * (model.n_classes_ - 1)
    votes = [leaf_votes(tree, weight) for tree, weight in zip(trees, model.estimator_weights_, strict=False)]
    return _scorer(trees, votes, finish=lambda total: softmax(total / scale, axis=1), view=as_finite_float32)


def leaf_shares(tree: Any) -> LeafValues:
    """The share of each class in every node of a tree."""
    return np.ascontiguousarray(tree.tree_.value[:, 0, :])


def leaf_votes(tree: Any, weight: float) -> LeafValues:
    """AdaBoost's votes of every node: `weight` for its largest class, the same against it shared by the others."""
    shares = leaf_shares(tree)
    votes = np.full_like(shares, -weight / (shares.shape[1] - 1))
    votes[np.arange(len(shares)), shares.argmax(axis=1)] = weight
    return votes


def _is_plain_tree(model: Any) -> bool:
    return isinstance(model, DecisionTreeClassifier) and (
        type(model).predict_proba is DecisionTreeClassifier.predict_proba
    )


def _scorer(
    trees: Sequence[Any],
    leaves: Sequence[LeafValues],
    finish: Callable[[Probabilities], Probabilities],
    view: Callable[[Any], Any] = as_float32,
) -> Scorer:
    applies = [tree.tree_.apply for tree in trees]

    def score(rows: Any) -> Probabilities:
        total = leaves[0].take(applies[0](rows), axis=0)
        for apply, leaf_values in zip(applies[1:], leaves[1:], strict=True):
            total += leaf_values.take(apply(rows), axis=0)
        return finish(total)

    return Scorer(view, score, BYTES_AT_ONCE, threads=None, reads_float32=True)
