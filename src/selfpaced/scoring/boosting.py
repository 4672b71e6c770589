"""Probabilities from LightGBM and from scikit-learn's histogram gradient boosting.

Small trees are scored as bit vectors, bit-identical to the libraries and faster; all other trees by the libraries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from threading import Lock
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy.special import expit
from threadpoolctl import ThreadpoolController

from selfpaced.scoring.scorer import BYTES_AT_ONCE, Probabilities, Scorer
from selfpaced.trees import (
    ArrowRows,
    FrameColumns,
    SharedTrees,
    SmallTrees,
    UnsupportedTreesError,
    float64_columns,
    hist_categories,
    lightgbm_columns,
    read_booster,
    read_hist_gradient_boosting,
    small_trees_of,
)

# Threads that take turns at short calls get into each other's way: chunks larger than a core's cache are faster.
BYTES_AT_ONCE_OF_LIGHTGBM = 2**23
# For fewer rows it takes longer to make the tables of a model's trees than to let the library score the rows.
ROWS_WORTH_TABLES = 2**13


@dataclass(frozen=True)
class LaidOut:
    """Rows as some models read them.

    Attributes
    ----------
    rows : Any
        For models whose library scores them.
    sums : Mapping[int, Callable[[], Any]]
        For models with small trees, by the number of the model: gives the sums of the trees.
    """

    rows: Any
    sums: Mapping[int, Callable[[], Any]]


Shared = tuple[Sequence[int], SharedTrees]


class SharedView:
    """Lays rows out for all models of a kind.

    The trees are read once, at the second call, or at the first one with many rows. So a scorer that is used for a
    few rows only once does not pay for it. The probabilities are the same.

    Parameters
    ----------
    share : Callable[[], Sequence[Shared]]
        Reads the trees: the numbers of models that can share the reading of rows, and their trees.
    n_models : int
        How many models there are.
    """

    def __init__(self, share: Callable[[], Sequence[Shared]], n_models: int) -> None:
        self._share = share
        self._n_models = n_models
        self._was_called = False
        self._shared: Sequence[Shared] | None = None
        self._lock = Lock()

    def prepare(self) -> Sequence[Shared]:
        """Read the trees now."""
        with self._lock:
            if self._shared is None:
                self._shared = self._share()
            return self._shared

    def __call__(self, features: Any) -> LaidOut:
        is_worth_tables = self._shared is not None or self._was_called or features.shape[0] >= ROWS_WORTH_TABLES
        self._was_called = True
        sums: dict[int, Callable[[], Any]] = {}
        for numbers, trees in self.prepare() if is_worth_tables else ():
            sums |= zip(numbers, trees(features) or (), strict=False)
        needs_rows = isinstance(features, ArrowRows) and len(sums) < self._n_models
        return LaidOut(features.to_pandas() if needs_rows else features, sums)


@dataclass(frozen=True)
class BoostedScore:
    """The probabilities of one model: of two classes by the sums of its trees, or else by `own`, its library."""

    number: int
    own: Callable[[Any], Probabilities]

    def __call__(self, laid_out: LaidOut) -> Probabilities:
        sums = laid_out.sums.get(self.number)
        if sums is None:
            return self.own(laid_out.rows)
        second = expit(sums())
        return np.column_stack([1 - second, second])


def lightgbm_scorers(models: Sequence[Any]) -> list[Scorer | None]:
    """One scorer per model. Models trained with the same categories share the binning of rows.

    A model with an objective of the user's own has none: its wrapper must convert the sums.
    """
    view = SharedView(partial(_share_lightgbm, models), len(models))
    return [
        None if callable(model.objective_) else _lightgbm_scorer(view, number, model)
        for number, model in enumerate(models)
    ]


def _lightgbm_scorer(view: SharedView, number: int, model: Any) -> Scorer:
    # Chunks go to as many threads as LightGBM itself would have used.
    threads = effective_n_jobs(-1 if model.n_jobs is None or model.n_jobs < 1 else model.n_jobs)
    score = BoostedScore(number, partial(_by_lightgbm, model))
    return Scorer(view, score, BYTES_AT_ONCE_OF_LIGHTGBM, threads, reads_arrow=True)


def _by_lightgbm(model: Any, rows: Any) -> Probabilities:
    if not isinstance(rows, np.ndarray):
        return np.asarray(model.predict_proba(rows, num_threads=1))
    probabilities: Probabilities = model.booster_.predict(rows, num_threads=1)
    return probabilities if probabilities.ndim == 2 else np.column_stack([1 - probabilities, probabilities])


def _share_lightgbm(models: Sequence[Any]) -> list[Shared]:
    by_categories: dict[str, dict[int, SmallTrees]] = {}
    for number, model in enumerate(models):
        trees = small_trees(model)
        if trees is not None:
            by_categories.setdefault(repr(model.booster_.pandas_categorical), {})[number] = trees
    return [
        _shared(some, FrameColumns(models[min(some)].booster_.pandas_categorical or []), lightgbm_columns)
        for some in by_categories.values()
    ]


def _shared(trees: Mapping[int, SmallTrees], of_frame: FrameColumns, of_array: Any) -> Shared:
    return list(trees), SharedTrees(list(trees.values()), of_frame, of_array)


def small_trees(model: Any) -> SmallTrees | None:
    """The trees of an LGBMClassifier for scoring as bit vectors; None if it has others, or an objective of its own."""
    if callable(model.objective_):
        return None
    try:
        return small_trees_of(read_booster(model.booster_))
    except UnsupportedTreesError:
        return None


def hist_gradient_boosting_scorers(models: Sequence[Any]) -> list[Scorer]:
    """One scorer per model. Models without categories share the binning of rows.

    Chunks are scored in our threads rather than each in the model's own: those wait for each other on busy cores.
    """
    view = SharedView(partial(_share_hist_gradient_boosting, models), len(models))
    return [
        Scorer(view, BoostedScore(number, partial(_by_scikit_learn, model)), BYTES_AT_ONCE, None, reads_arrow=True)
        for number, model in enumerate(models)
    ]


def _by_scikit_learn(model: Any, rows: Any) -> Probabilities:
    with _controller().limit(limits=1, user_api="openmp"):
        probabilities: Probabilities = model.predict_proba(rows)
    return probabilities


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    """Finding the libraries takes longer than scoring a chunk."""
    return ThreadpoolController()


def _share_hist_gradient_boosting(models: Sequence[Any]) -> list[Shared]:
    """Each model with categories has an encoder of its own, so it shares nothing. It does not read arrays."""
    of_numbers: dict[int, SmallTrees] = {}
    shared: list[Shared] = []
    for number, model in enumerate(models):
        try:
            categories = hist_categories(model)
            trees = small_trees_of(read_hist_gradient_boosting(model))
        except UnsupportedTreesError:
            continue
        if trees is not None and categories:
            read = FrameColumns(list(categories.values()), at=list(categories))
            shared.append(_shared({number: trees}, read, None))
        elif trees is not None:
            of_numbers[number] = trees
    return [*shared, _shared(of_numbers, FrameColumns([]), float64_columns)] if of_numbers else shared
