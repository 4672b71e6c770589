"""Probabilities from LightGBM: small trees as bits, faster than its own prediction and the same; others its own way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy.special import expit

from selfpaced.scoring.bitvectors import MOST_LEAVES, AnySplit, CategorySplit, Numbering, Numbers, Split, TreeSum
from selfpaced.scoring.columns import FrameColumns, array_columns, is_pandas
from selfpaced.scoring.plain import as_is
from selfpaced.scoring.scorer import Probabilities, Scorer

# Threads that take turns at short calls get into each other's way: chunks larger than a core's cache are faster.
BYTES_AT_ONCE = 2**23
# Tables for fewer rows take longer to make than the rows to score. LightGBM gives the same probabilities.
ROWS_WORTH_TABLES = 2**15
# LightGBM reads numbers up to this size as 0.
ZERO = float(np.float32(1e-35))


def lightgbm_scorers(models: Sequence[Any], n_rows: int) -> list[Scorer | None]:
    """The roads of some models. Those that were trained with the same categories number the values of a row once."""
    found = [_small_trees(model) if n_rows >= ROWS_WORTH_TABLES else None for model in models]
    views: dict[str, NumberedRows] = {}
    for trees in found:
        if trees is not None and trees.key not in views:
            splits = [split for other in found if other and other.key == trees.key for split in other.splits]
            views[trees.key] = NumberedRows(Numbering(splits), FrameColumns(trees.categories))
    return [
        _scorer(model, trees, None if trees is None else views[trees.key])
        for model, trees in zip(models, found, strict=True)
    ]


def _scorer(model: Any, trees: BoosterTrees | None, view: NumberedRows | None) -> Scorer | None:
    if _has_own_objective(model):
        return None
    # Chunks go to as many threads as LightGBM itself would have used.
    threads = effective_n_jobs(-1 if model.n_jobs is None or model.n_jobs < 1 else model.n_jobs)
    if trees is None or view is None:
        return Scorer(as_is, BoosterScore(model), BYTES_AT_ONCE, threads)
    tree_sum = TreeSum(trees.splits, trees.leaf_values, view.numbering)
    return Scorer(view, BoosterScore(model, tree_sum, trees.steepness), BYTES_AT_ONCE, threads)


def _has_own_objective(model: Any) -> bool:
    """Then its scores are no probabilities, and only the wrapper knows what they are."""
    return callable(model.objective_)


@dataclass(frozen=True)
class Numbered:
    """Some rows by the numbers of their features."""

    numbers: Numbers
    n_rows: int


class NumberedRows:
    """A view of arrays and pandas frames by the numbers of their values. Other rows are left as they are."""

    def __init__(self, numbering: Numbering, read: FrameColumns) -> None:
        self.numbering = numbering
        self._read = read

    def __call__(self, features: Any) -> Numbered | Any:
        if isinstance(features, np.ndarray):
            return Numbered(self.numbering(array_columns(features)), len(features))
        columns = self._read(features, self.numbering.positions) if is_pandas(features) else None
        return features if columns is None else Numbered(self.numbering(columns), len(features))


class BoosterScore:
    """The probabilities of one fitted LGBMClassifier: of numbered rows by its trees as bits, of others by itself."""

    def __init__(self, model: Any, tree_sum: TreeSum | None = None, steepness: float = 1.0) -> None:
        self._model = model
        self._tree_sum = tree_sum
        self._steepness = steepness

    def __call__(self, rows: Any) -> Probabilities:
        if isinstance(rows, Numbered) and self._tree_sum is not None:
            probabilities = expit(self._steepness * self._tree_sum(rows.numbers, rows.n_rows))
        elif isinstance(rows, np.ndarray):
            probabilities = self._model.booster_.predict(rows, num_threads=1)
        else:
            probabilities = np.asarray(self._model.predict_proba(rows, num_threads=1))
        return probabilities if probabilities.ndim == 2 else np.column_stack([1 - probabilities, probabilities])


@dataclass(frozen=True)
class BoosterTrees:
    """The trees of a booster of two classes, and the steepness of the logistic function that follows their sum.

    Attributes
    ----------
    categories : the categories of each categorical column of the frame that it was trained on.
    """

    splits: Sequence[AnySplit]
    leaf_values: NDArray[np.float64]
    steepness: float
    categories: Sequence[Sequence[Any]]

    @property
    def key(self) -> str:
        """The same for boosters that read frames alike."""
        return repr(self.categories)


def _small_trees(model: Any) -> BoosterTrees | None:
    return None if _has_own_objective(model) else booster_trees(model.booster_)


def booster_trees(booster: Any) -> BoosterTrees | None:
    """A booster of two classes as small trees.

    None if the booster is of another kind, or has trees that are too large or more than splits and constants.
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
    return BoosterTrees(splits, leaf_values, float(steepness), booster.pandas_categorical or [])


class NotASmallTreeError(Exception):
    """A tree with more than splits and constants, or with more leaves than there are bits."""


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


def _splits(node: dict[str, Any], tree: int, leaves: _Leaves) -> Iterator[AnySplit]:
    """The splits of a tree, its left side before its right."""
    if "split_feature" not in node:
        leaves.add(node)
        return
    first = leaves.count
    yield from _splits(node["left_child"], tree, leaves)
    left_leaves = (1 << leaves.count) - (1 << first)
    if node["decision_type"] == "==":
        codes = tuple(map(int, str(node["threshold"]).split("||")))
        yield CategorySplit(tree, node["split_feature"], codes, left_leaves)
    elif node["missing_type"] in ("None", "NaN"):
        yield Split(tree, node["split_feature"], _threshold(node), missing_goes_left(node), left_leaves)
    else:
        raise NotASmallTreeError
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
