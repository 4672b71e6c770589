"""Probabilities from LightGBM: small trees as bits, faster than its own prediction and the same; others its own way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy.special import expit

from selfpaced.scoring.bitvectors import MOST_LEAVES, Split, TreeSum
from selfpaced.scoring.plain import as_is
from selfpaced.scoring.scorer import Probabilities, Scorer

# Threads that take turns at short calls get into each other's way: chunks larger than a core's cache are faster.
BYTES_AT_ONCE = 2**22
# Tables for fewer rows take longer to make than the rows to score. LightGBM gives the same probabilities.
ROWS_WORTH_TABLES = 2**15
# LightGBM reads numbers up to this size as 0.
ZERO = float(np.float32(1e-35))


def lightgbm_scorer(model: Any, n_rows: int) -> Scorer | None:
    if callable(model.objective_):  # its scores are no probabilities, and only the wrapper knows what they are
        return None
    # Chunks go to as many threads as LightGBM itself would have used.
    threads = effective_n_jobs(-1 if model.n_jobs is None or model.n_jobs < 1 else model.n_jobs)
    tree_sum = tree_sum_of(model.booster_) if n_rows >= ROWS_WORTH_TABLES else None
    return Scorer(as_is, BoosterScore(model, tree_sum), BYTES_AT_ONCE, threads)


class BoosterScore:
    """The probabilities of one fitted LGBMClassifier, by its trees as bits if they are given."""

    def __init__(self, model: Any, tree_sum: tuple[TreeSum, float] | None) -> None:
        self._model = model
        self._tree_sum = tree_sum

    def __call__(self, features: Any) -> Probabilities:
        if not isinstance(features, np.ndarray):  # categories and missing values of frames are the wrapper's work
            return np.asarray(self._model.predict_proba(features, num_threads=1))
        if self._tree_sum is not None:
            tree_sum, steepness = self._tree_sum
            probabilities = expit(steepness * tree_sum(columns_as_lightgbm_reads_them(features)))
        else:
            probabilities = self._model.booster_.predict(features, num_threads=1)
        return probabilities if probabilities.ndim == 2 else np.column_stack([1 - probabilities, probabilities])


def columns_as_lightgbm_reads_them(features: NDArray[Any]) -> NDArray[np.float64]:
    """One row a feature. LightGBM takes floats as they are, and makes anything else a float32."""
    floats = features if features.dtype in (np.float32, np.float64) else features.astype(np.float32)
    return np.ascontiguousarray(floats.T, dtype=np.float64)


def tree_sum_of(booster: Any) -> tuple[TreeSum, float] | None:
    """A booster of two classes as a sum of trees, with the steepness of the logistic function that follows it.

    None if the booster is of another kind, or has trees that are too large or more than thresholds and constants.
    """
    model = booster.dump_model()
    kind, _, steepness = str(model.get("objective", "")).partition(" sigmoid:")
    if kind != "binary" or model["average_output"]:
        return None
    leaf_values = np.zeros((len(model["tree_info"]), MOST_LEAVES))
    try:
        splits = [
            split
            for number, tree in enumerate(model["tree_info"])
            for split in _splits(tree["tree_structure"], number, _Leaves(leaf_values[number]))
        ]
    except NotASmallTreeError:
        return None
    return TreeSum(splits, leaf_values), float(steepness)


class NotASmallTreeError(Exception):
    """A tree with more than thresholds and constants, or with more leaves than there are bits."""


class _Leaves:
    """Numbers the leaves of a tree in the order in which they come, and notes their values."""

    def __init__(self, values: NDArray[np.float64]) -> None:
        self._values = values
        self.count = 0

    def add(self, leaf: dict[str, Any]) -> None:
        if self.count == MOST_LEAVES or "leaf_coeff" in leaf:
            raise NotASmallTreeError
        self._values[self.count] = leaf["leaf_value"]
        self.count += 1


def _splits(node: dict[str, Any], tree: int, leaves: _Leaves) -> Iterator[Split]:
    """The splits of a tree, its left side before its right."""
    if "split_feature" not in node:
        leaves.add(node)
        return
    if node["decision_type"] != "<=" or node["missing_type"] not in ("None", "NaN"):
        raise NotASmallTreeError
    first = leaves.count
    yield from _splits(node["left_child"], tree, leaves)
    left_leaves = (1 << leaves.count) - (1 << first)
    yield Split(tree, node["split_feature"], _threshold(node), missing_goes_left(node), left_leaves)
    yield from _splits(node["right_child"], tree, leaves)


def _threshold(node: dict[str, Any]) -> float:
    """As a float, because LightGBM writes whole numbers without a point. Values that it reads as 0 go where 0 goes."""
    threshold = float(node["threshold"])
    if not -ZERO <= threshold < ZERO:
        return threshold
    return ZERO if threshold >= 0 else float(np.nextafter(-ZERO, -np.inf))


def missing_goes_left(node: dict[str, Any]) -> bool:
    """Whether NaN goes left at a split by a threshold. LightGBM reads it as 0 if training met no NaN there."""
    return bool(node["default_left"] if node["missing_type"] == "NaN" else node["threshold"] >= 0)
