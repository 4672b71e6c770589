"""Probabilities from LightGBM: small trees as bits, faster than its own prediction and the same; others its own way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy.special import expit

from selfpaced.scoring.scorer import Probabilities, Scorer, as_is
from selfpaced.trees import (
    BoosterTrees,
    FrameColumns,
    Numbered,
    NumberedRows,
    Numbering,
    TreeSum,
    booster_trees,
    lightgbm_columns,
)

# Threads that take turns at short calls get into each other's way: chunks larger than a core's cache are faster.
BYTES_AT_ONCE = 2**23
# Tables for fewer rows take longer to make than the rows to score. LightGBM gives the same probabilities.
ROWS_WORTH_TABLES = 2**13


def lightgbm_scorers(models: Sequence[Any], n_rows: int) -> list[Scorer | None]:
    """The roads of some models. Those that were trained with the same categories number the values of a row once."""
    found = [small_trees(model) if n_rows >= ROWS_WORTH_TABLES else None for model in models]
    views: dict[str, NumberedRows] = {}
    for trees in found:
        if trees is not None and trees.key not in views:
            splits = [split for other in found if other and other.key == trees.key for split in other.splits]
            views[trees.key] = NumberedRows(Numbering(splits), FrameColumns(trees.categories), lightgbm_columns)
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
    return Scorer(view, BoosterScore(model, tree_sum, trees.steepness), BYTES_AT_ONCE, threads, reads_arrow=True)


def _has_own_objective(model: Any) -> bool:
    """Whether the scores are not probabilities, so that the wrapper must convert them."""
    return callable(model.objective_)


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


def small_trees(model: Any) -> BoosterTrees | None:
    return None if _has_own_objective(model) else booster_trees(model.booster_)
