"""The trees of several models on the same columns of numbers."""

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from selfpaced.trees.bitvectors import Numbering, RowSums, SmallTrees, TreeSum
from selfpaced.trees.tree import Floats

# So many rows are scored faster one by one than by tables.
FEW_ROWS = 16


def float64_columns(features: NDArray[Any]) -> Floats:
    """One row a feature."""
    return np.ascontiguousarray(features.T, dtype=np.float64)


def lightgbm_columns(features: NDArray[Any]) -> NDArray[np.floating]:
    """The same as LightGBM reads them: it takes floats as they are, and makes anything else a float32."""
    return np.ascontiguousarray(features.T, dtype=np.float64 if features.dtype == np.float64 else np.float32)


class SharedTrees:
    """The probabilities by the trees of several models of two classes, which share the reading and numbering of rows.

    What does not depend on the rows is made at the first call that needs it, once for all threads. `known` are the
    categories of each categorical column in training, in the order of the columns, and `at` their positions, if these
    are known. `of_array` reads the columns of arrays; None if the models cannot read arrays.
    """

    def __init__(
        self,
        models: Sequence[SmallTrees],
        known: Sequence[Sequence[Any]],
        at: Sequence[int] | None,
        of_array: Callable[[NDArray[Any]], NDArray[np.floating]] | None,
    ) -> None:
        self._models = models
        self._known = [tuple(own) for own in known]
        self._at = at
        self._of_array = of_array
        self._factors = np.array([[each.factor] for each in models])
        self._lock = Lock()

    def __call__(self, features: Any) -> list[Callable[[], Floats]] | None:
        """For each model, a function that gives the probabilities of an array or of coded rows; None if it cannot."""
        if isinstance(features, np.ndarray):
            columns = None if self._of_array is None else self._of_array(features)
        elif len(features.categories) != len(self._known):
            columns = None
        else:
            at = self._at or sorted(features.categories)
            columns = features.recoded(dict(zip(at, self._known, strict=True)))
        if columns is None:
            return None
        return self._of_few(columns) if columns.shape[1] <= FEW_ROWS else self._of_many(columns)

    def _of_few(self, columns: NDArray[np.floating]) -> list[Callable[[], Floats]]:
        with self._lock:
            row_sums = self._row_sums
        sums = np.column_stack([row_sums(row) for row in columns.T])
        both = _both(expit(self._factors * sums))
        return [partial(np.asarray, own) for own in both]

    def _of_many(self, columns: NDArray[np.floating]) -> list[Callable[[], Floats]]:
        with self._lock:
            numbering, tree_sums = self._tables
        numbers, n_rows = numbering(columns), columns.shape[1]
        return [
            partial(lambda factor, tree_sum: _both(expit(factor * tree_sum(numbers, n_rows))), each.factor, tree_sum)
            for each, tree_sum in zip(self._models, tree_sums, strict=True)
        ]

    @cached_property
    def _row_sums(self) -> RowSums:
        return RowSums(self._models)

    @cached_property
    def _tables(self) -> tuple[Numbering, list[TreeSum]]:
        numbering = Numbering(self._models)
        return numbering, [TreeSum(each, numbering) for each in self._models]


def _both(second: Floats) -> Floats:
    """The probabilities of both classes, from those of the second one."""
    return np.stack([1 - second, second], axis=-1)
