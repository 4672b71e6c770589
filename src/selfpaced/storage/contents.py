"""Checks of the trees of a loaded model.

An allow-list checks types, not contents. scikit-learn follows the numbers of a tree's nodes and features without
checking that they exist. Wrong numbers, by damage or by intent, would make it read other parts of the memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from selfpaced.exceptions import ModelFileError

LEAF = -1  # scikit-learn's number for "no child"


def check_contents(model: Any) -> None:
    """Refuse a model with a tree whose nodes or features do not exist."""
    for part in _estimators_in(model, set()):
        for kind in type(part).__mro__:
            check = CHECKS.get(kind.__name__)
            if check is not None:
                check(part)


def _estimators_in(thing: Any, seen: set[int]) -> Iterator[Any]:
    """All estimators in an object, including itself."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, BaseEstimator):
        yield thing
    for part in _parts(thing):
        yield from _estimators_in(part, seen)


def _parts(thing: Any) -> Iterable[Any]:
    if isinstance(thing, dict):
        return thing.values()
    if isinstance(thing, list | tuple | set):
        return thing
    if isinstance(thing, np.ndarray):
        return thing.ravel() if thing.dtype == object else ()
    # Estimators, and objects of scikit-learn between them, such as calibrated classifiers.
    return vars(thing).values() if hasattr(thing, "__dict__") and not isinstance(thing, type) else ()


def _check_tree(model: Any) -> None:
    tree = getattr(model, "tree_", None)
    if tree is None:  # a base model that is not fitted
        return
    if tree.node_count > tree.capacity:
        raise ModelFileError("a tree has fewer nodes than it says.")
    inner = tree.children_left != LEAF
    children = np.stack([tree.children_left, tree.children_right])[:, inner]
    _check_nodes(np.flatnonzero(inner), children, tree.feature[inner], tree.node_count, model.n_features_in_)


def _check_boosted_trees(model: Any) -> None:
    for predictor in (each for iteration in getattr(model, "_predictors", []) for each in iteration):
        nodes = predictor.nodes
        inner = nodes["is_leaf"] == 0
        sets_of_categories = nodes["bitset_idx"][inner & (nodes["is_categorical"] != 0)]
        if not (sets_of_categories < len(predictor.raw_left_cat_bitsets)).all():
            raise ModelFileError("a tree uses categories that do not exist.")
        children = np.stack([nodes["left"], nodes["right"]])[:, inner]
        _check_nodes(np.flatnonzero(inner), children, nodes["feature_idx"][inner], len(nodes), model.n_features_in_)


def _check_nodes(
    parents: NDArray[Any], children: NDArray[Any], features: NDArray[Any], n_nodes: int, n_features: int
) -> None:
    """Refuse children before their parents, with which a path through a tree could be endless."""
    if not ((children > parents) & (children < n_nodes)).all():
        raise ModelFileError("a tree has children that do not exist.")
    if not ((features >= 0) & (features < n_features)).all():
        raise ModelFileError(f"a tree uses a feature beyond the {n_features} of the model.")


def _check_members(model: Any) -> None:
    """Refuse members with another number of features than the ensemble."""
    for member in _parts(getattr(model, "estimators_", [])):
        # A loaded CatBoost model has 0 features, and checks their number itself.
        n_features = getattr(member, "n_features_in_", 0)
        if n_features and n_features != model.n_features_in_:
            raise ModelFileError(
                f"a member has {member.n_features_in_} features, but the ensemble has {model.n_features_in_}."
            )


def _check_ensemble(model: Any) -> None:
    """Refuse a record of the training rows with other classes than those that the members predict."""
    if not hasattr(model, "estimators_"):  # a base model that is not fitted
        return
    _check_members(model)
    record, labels = model.trained_on_, model.classes_.tolist()
    if list(record.classes) != labels or len(record.class_counts) != len(labels) or len(labels) < 2:
        raise ModelFileError(f"its classes are {labels}, but its record of the training rows has others.")
    if record.pos_label is not None and record.pos_label not in labels and True not in labels:
        raise ModelFileError(f"its scores are about the label {record.pos_label!r}, which it does not know.")


CHECKS: dict[str, Callable[[Any], None]] = {
    "BaseDecisionTree": _check_tree,
    "HistGradientBoostingClassifier": _check_boosted_trees,
    "AveragingEnsemble": _check_ensemble,
    "BaseForest": _check_members,
    "BaseWeightBoosting": _check_members,
    "BaseGradientBoosting": _check_members,
}
