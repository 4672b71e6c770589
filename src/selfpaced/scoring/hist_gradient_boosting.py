"""Probabilities from scikit-learn's histogram gradient boosting: small trees as bits, others its own way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from threadpoolctl import ThreadpoolController

from selfpaced.scoring.lightgbm import ROWS_WORTH_TABLES
from selfpaced.scoring.scorer import BYTES_AT_ONCE, Probabilities, Scorer, as_is
from selfpaced.trees import (
    MOST_LEAVES,
    AnySplit,
    CategorySplit,
    FrameColumns,
    Numbered,
    NumberedRows,
    Numbering,
    Split,
    TreeSum,
    float64_columns,
)

BITS_OF_A_WORD = 32


def hist_gradient_boosting_scorers(models: Sequence[Any], n_rows: int) -> list[Scorer]:
    """The roads of some models. Those without categories number the values of a row once."""
    found = [_small_trees(model) if n_rows >= ROWS_WORTH_TABLES else None for model in models]
    of_numbers = [trees for trees in found if trees is not None and not trees.categories]
    shared = _view(of_numbers) if of_numbers else None
    return [
        Scorer(as_is, HistBoosterScore(model), BYTES_AT_ONCE, threads=None)
        if trees is None
        else _bits_scorer(model, trees, shared if shared is not None and not trees.categories else _view([trees]))
        for model, trees in zip(models, found, strict=True)
    ]


def _view(some: Sequence[SmallTrees]) -> NumberedRows:
    categories = some[0].categories
    read = FrameColumns(list(categories.values()), at=list(categories))
    splits = [split for trees in some for split in trees.splits]
    return NumberedRows(Numbering(splits), read, None if categories else float64_columns)


def _bits_scorer(model: Any, trees: SmallTrees, view: NumberedRows) -> Scorer:
    tree_sum = TreeSum(trees.splits, trees.leaf_values, view.numbering, trees.start)
    return Scorer(view, HistBoosterScore(model, tree_sum), BYTES_AT_ONCE, threads=None, reads_arrow=True)


class HistBoosterScore:
    """The probabilities of one fitted model: of numbered rows by its trees as bits, of others by itself.

    Chunks are scored in our threads rather than each in the model's own: those wait for each other on busy cores.
    """

    def __init__(self, model: Any, tree_sum: TreeSum | None = None) -> None:
        self._model = model
        self._tree_sum = tree_sum

    def __call__(self, rows: Any) -> Probabilities:
        if isinstance(rows, Numbered) and self._tree_sum is not None:
            rare = expit(self._tree_sum(rows.numbers, rows.n_rows))
            return np.column_stack([1 - rare, rare])
        with _controller().limit(limits=1, user_api="openmp"):
            probabilities: Probabilities = self._model.predict_proba(rows)
        return probabilities


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    """Finding the libraries takes longer than scoring a chunk."""
    return ThreadpoolController()


@dataclass(frozen=True)
class SmallTrees:
    """The trees of a model of two classes, and the value that their sum starts from.

    Attributes
    ----------
    categories : Mapping[int, Sequence[Any]]
        The categories of each categorical column, by its position.
    """

    splits: Sequence[AnySplit]
    leaf_values: NDArray[np.float64]
    start: float
    categories: Mapping[int, Sequence[Any]]


def _small_trees(model: Any) -> SmallTrees | None:
    """None for more than two classes, large trees, and categories that are not those of a frame's own types."""
    is_categorical = model.is_categorical_
    has_categories = is_categorical is not None and bool(is_categorical.any())
    by_type = isinstance(model.categorical_features, str) and model.categorical_features == "from_dtype"
    trees = [tree for of_iteration in model._predictors for tree in of_iteration]
    if (
        model.n_trees_per_iteration_ != 1
        or (has_categories and not by_type)
        or any(tree.get_n_leaf_nodes() > MOST_LEAVES for tree in trees)
    ):
        return None
    categories = _categories(model) if has_categories else {}
    # In training categorical columns come first.
    positions = [*categories, *(position for position in range(model.n_features_in_) if position not in categories)]
    leaf_values, splits = np.zeros((len(trees), MOST_LEAVES)), list[AnySplit]()
    for number, tree in enumerate(trees):
        walk = _Walk(number, tree, positions, categories)
        splits += walk.splits
        leaf_values[number, : len(walk.values)] = walk.values
    return SmallTrees(splits, leaf_values, float(np.ravel(model._baseline_prediction)[0]), categories)


def _categories(model: Any) -> dict[int, Sequence[Any]]:
    """The categories that a model was trained with, by the position of the column. NaN, which may be last, is none."""
    known = model._preprocessor.named_transformers_["encoder"].categories_
    positions = np.flatnonzero(model.is_categorical_).tolist()
    return {at: [each for each in own if each == each] for at, own in zip(positions, known, strict=True)}


class _Walk:
    """The splits of a tree, and the values of its leaves from left to right."""

    def __init__(
        self, number: int, tree: Any, positions: Sequence[int], categories: Mapping[int, Sequence[Any]]
    ) -> None:
        self._number = number
        self._nodes = tree.nodes
        self._bitsets = tree.raw_left_cat_bitsets
        self._positions = positions
        self._categories = categories
        self.splits: list[AnySplit] = []
        self.values: list[float] = []
        self._walk(0)

    def _walk(self, number: int) -> None:
        node = self._nodes[number]
        if node["is_leaf"]:
            self.values.append(float(node["value"]))
            return
        first = len(self.values)
        self._walk(int(node["left"]))
        left_leaves = (1 << len(self.values)) - (1 << first)
        feature, missing_left = self._positions[int(node["feature_idx"])], bool(node["missing_go_to_left"])
        if node["is_categorical"]:
            codes, n_known = self._codes(int(node["bitset_idx"])), len(self._categories[feature])
            self.splits.append(CategorySplit(self._number, feature, codes, left_leaves, missing_left, n_known))
        else:
            threshold = float(node["num_threshold"])
            self.splits.append(Split(self._number, feature, threshold, missing_left, left_leaves))
        self._walk(int(node["right"]))

    def _codes(self, bitset: int) -> tuple[int, ...]:
        bits = range(BITS_OF_A_WORD)
        words = enumerate(self._bitsets[bitset].tolist())
        return tuple(BITS_OF_A_WORD * place + bit for place, word in words for bit in bits if word >> bit & 1)
