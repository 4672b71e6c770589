"""Probabilities from LightGBM and from scikit-learn's histogram gradient boosting.

Small trees are scored as bit vectors, bit-identical to the libraries and faster; all other trees by the libraries.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from threading import Lock
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

import selfpaced.trees as trees
from selfpaced.scoring.scorer import BYTES_AT_ONCE, Probabilities, Scorer, as_frame, coded

# Threads that take turns at short calls get into each other's way: chunks larger than a core's cache are faster.
BYTES_AT_ONCE_OF_LIGHTGBM = 2**23
# For fewer rows it takes longer to make the tables of a model's trees than to let the library score the rows.
ROWS_WORTH_TABLES = 2**11

Shared = tuple[Sequence[int], trees.SharedTrees]


@dataclass(frozen=True)
class LaidOut:
    """Rows as some models read them."""

    rows: Any  # for models whose library scores them
    probabilities: Mapping[int, Callable[[], Any]]  # for models with small trees, by the number of the model


class SharedView:
    """Lays rows out for all models of a kind.

    The trees are read once, at the second call, or at the first one with many rows. So a scorer that is used for a
    few rows only once does not pay for it. The probabilities are the same. `share` reads the trees: the numbers of
    models that can share the reading of rows, and their trees.
    """

    def __init__(self, share: Callable[[], Sequence[Shared]]) -> None:
        self._share = share
        self._was_called = False
        self._shared: Sequence[Shared] | None = None
        self._lock = Lock()

    def prepare(self) -> Sequence[Shared]:
        """Read the trees now."""
        with self._lock:
            if self._shared is None:
                self._shared = self._share()
            return self._shared

    def has(self, number: int) -> bool:
        """Whether a model has small trees."""
        return any(number in numbers for numbers, _ in self.prepare())

    def __call__(self, features: Any) -> LaidOut:
        is_worth_tables = self._shared is not None or self._was_called or features.shape[0] >= ROWS_WORTH_TABLES
        self._was_called = True
        found: dict[int, Callable[[], Any]] = {}
        rows = features if isinstance(features, np.ndarray) else coded(features)
        for numbers, shared in self.prepare() if is_worth_tables and rows is not None else ():
            found |= zip(numbers, shared(rows) or (), strict=False)
        return LaidOut(features, found)


@dataclass(frozen=True)
class BoostedScore:
    """The probabilities of one model: by its small trees, or else by `own`, its library."""

    number: int
    own: Callable[[Any], Probabilities]

    def __call__(self, laid_out: LaidOut) -> Probabilities:
        by_trees = laid_out.probabilities.get(self.number)
        return self.own(as_frame(laid_out.rows)) if by_trees is None else by_trees()


@dataclass(frozen=True, eq=False)
class BoosterTrees:
    """The small trees of an LGBMClassifier, which is scored by them alone: LightGBM need not be installed."""

    trees: trees.SmallTrees
    categories: Sequence[Sequence[Any]]
    classes_: Any
    n_jobs: int | None = None

    def predict_proba(self, X: Any) -> Any:
        raise TypeError(f"Rows of the type {type(X).__name__} are scored by LightGBM itself. Load the model instead.")


def trees_of(model: Any) -> BoosterTrees | None:
    """The trees of an LGBMClassifier for scoring as bit vectors; None if it has others, or an objective of its own."""
    if isinstance(model, BoosterTrees):
        return model
    if callable(model.objective_):
        return None
    try:
        small = trees.small_trees_of(trees.read_booster(model.booster_))
    except trees.UnsupportedTreesError:
        return None
    categories = model.booster_.pandas_categorical or []
    return None if small is None else BoosterTrees(small, categories, model.classes_, model.n_jobs)


def lightgbm_scorers(models: Sequence[Any]) -> list[Scorer | None]:
    """One scorer per model. Models trained with the same categories share the binning of rows.

    A model with an objective of the user's own has none: its wrapper must convert the sums.
    """
    view = SharedView(partial(_share_lightgbm, models))

    def scorer(number: int, model: Any) -> Scorer | None:
        if callable(getattr(model, "objective_", None)):
            return None
        # Chunks go to as many threads as LightGBM itself would have used.
        threads = effective_n_jobs(-1 if model.n_jobs is None or model.n_jobs < 1 else model.n_jobs)
        score, is_fast = BoostedScore(number, partial(_by_lightgbm, model)), partial(view.has, number)
        return Scorer(view, score, BYTES_AT_ONCE_OF_LIGHTGBM, threads, False, True, reads_columns=True, is_fast=is_fast)

    return list(map(scorer, range(len(models)), models))


def _by_lightgbm(model: Any, rows: Any) -> Probabilities:
    if isinstance(model, BoosterTrees):
        return np.asarray(model.predict_proba(rows))
    if not isinstance(rows, np.ndarray):
        return np.asarray(model.predict_proba(rows, num_threads=1))
    probabilities: Probabilities = model.booster_.predict(rows, num_threads=1)
    return probabilities if probabilities.ndim == 2 else np.column_stack([1 - probabilities, probabilities])


def _share_lightgbm(models: Sequence[Any]) -> list[Shared]:
    by_categories: dict[str, dict[int, BoosterTrees]] = {}
    for number, model in enumerate(models):
        own = trees_of(model)
        if own is not None:
            by_categories.setdefault(repr(own.categories), {})[number] = own
    return [
        _shared({number: own.trees for number, own in some.items()}, some[min(some)].categories, None, True)
        for some in by_categories.values()
    ]


def _shared(
    small: Mapping[int, trees.SmallTrees], known: Sequence[Any], at: Sequence[int] | None, of_lightgbm: bool
) -> Shared:
    # Models of scikit-learn with categories do not read arrays.
    of_array = trees.lightgbm_columns if of_lightgbm else None if known else trees.float64_columns
    return list(small), trees.SharedTrees(list(small.values()), known, at, of_array)


def hist_gradient_boosting_scorers(models: Sequence[Any]) -> list[Scorer]:
    """One scorer per model. Models without categories share the binning of rows.

    Chunks are scored in our threads rather than each in the model's own: those wait for each other on busy cores.
    """
    view = SharedView(partial(_share_hist_gradient_boosting, models))
    scores = [BoostedScore(number, partial(_by_scikit_learn, model)) for number, model in enumerate(models)]
    return [
        Scorer(view, score, BYTES_AT_ONCE, None, reads_coded=True, is_fast=partial(view.has, score.number))
        for score in scores
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
    """Each model with categories has an encoder of its own, so it shares nothing."""
    of_numbers: dict[int, trees.SmallTrees] = {}
    shared: list[Shared] = []
    for number, model in enumerate(models):
        try:
            categories = trees.hist_categories(model)
            small = trees.small_trees_of(trees.read_hist_gradient_boosting(model))
        except trees.UnsupportedTreesError:
            continue
        if small is not None and categories:
            shared.append(_shared({number: small}, list(categories.values()), list(categories), False))
        elif small is not None:
            of_numbers[number] = small
    return [*shared, _shared(of_numbers, [], None, False)] if of_numbers else shared
