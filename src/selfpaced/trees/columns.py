"""Rows as columns of numbers: read once, for all models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from selfpaced.trees.bitvectors import Numbering, RowSums, SmallTrees, TreeSum
from selfpaced.trees.tree import Floats

NUMBERS = "biuf"
# So many rows are scored faster one by one than by tables.
FEW_ROWS = 16
# Beyond it, a float does not hold every whole number.
LARGEST_WHOLE = 2**53


@dataclass(frozen=True, eq=False)
class CodedRows:
    """Rows of a frame as numbers. Consecutive rows are cut out by a slice, without a copy.

    Attributes
    ----------
    numbers : Floats
        One row for each column of the frame: its numbers, or the codes of its categories; NaN for missing values.
    categories : Mapping[int, tuple[Any, ...]]
        The categories of each categorical column, by its position. A code is a place among them.
    make_frame : Callable[[], Any]
        Gives the same rows as a pandas frame.
    is_exact : bool, default=True
        Whether the frame has no whole numbers that are too large for floats. LightGBM rounds them in the same way.
    """

    numbers: Floats
    categories: Mapping[int, tuple[Any, ...]]
    make_frame: Callable[[], Any]
    is_exact: bool = True
    itemsize: int = 8

    @property
    def shape(self) -> tuple[int, int]:
        return self.numbers.shape[1], self.numbers.shape[0]

    def __len__(self) -> int:
        return int(self.numbers.shape[1])

    def __getitem__(self, some: slice) -> CodedRows:
        if some.start == 0 and some.stop == len(self):
            return self
        return CodedRows(self.numbers[:, some], self.categories, lambda: self.frame.iloc[some], self.is_exact)

    @cached_property
    def frame(self) -> Any:
        """The rows as a pandas frame, made once."""
        return self.make_frame()

    def recoded(self, known: Mapping[int, tuple[Any, ...]]) -> Floats | None:
        """The numbers with the codes of other categories; None if other columns than these are categorical."""
        if self.categories.keys() != known.keys():
            return None
        places = {at: own for at in known if (own := _codes_among(self.categories[at], known[at])) is not None}
        numbers = self.numbers.copy() if places else self.numbers
        for at, own in places.items():
            numbers[at] = own.take(as_codes(numbers[at]))
        return numbers


def as_codes(numbers: Floats) -> NDArray[np.intp]:
    """Codes of categories as whole numbers; -1 for missing values."""
    return np.where(np.isnan(numbers), -1, numbers).astype(np.intp)


@lru_cache(maxsize=1024)
def _codes_among(categories: tuple[Any, ...], known: tuple[Any, ...]) -> Floats | None:
    """The code of each category, NaN for those that are not known, and a NaN at the end; None if they are the same."""
    if categories == known:
        return None
    code_of = {category: float(code) for code, category in enumerate(known)}
    return np.array([*(code_of.get(category, np.nan) for category in categories), np.nan])


def coded(features: Any) -> CodedRows | None:
    """The rows of a pandas frame as numbers; None for other features, and for frames with other columns."""
    if isinstance(features, CodedRows):
        return features
    if type(features).__name__ != "DataFrame" or type(features).__module__.partition(".")[0] != "pandas":
        return None
    types = list(features.dtypes)
    categorical = [at for at, kind in enumerate(types) if hasattr(kind, "categories")]
    plain = [at for at, kind in enumerate(types) if isinstance(kind, np.dtype) and kind.kind in NUMBERS]
    if len(plain) + len(categorical) < len(types):
        return None
    numbers = np.empty((len(types), len(features)))
    numbers[plain] = (features.iloc[:, plain] if categorical else features).to_numpy(np.float64).T
    for at in categorical:
        numbers[at] = as_numbers(features.iloc[:, at].array.codes)
    categories = {at: tuple(types[at].categories.tolist()) for at in categorical}
    return CodedRows(numbers, categories, lambda: features, are_exact(numbers, types))


def are_exact(numbers: Floats, types: Sequence[Any]) -> bool:
    """Whether all whole numbers of some columns are the same as floats."""
    wide = [at for at, kind in enumerate(types) if str(kind) in ("int64", "uint64")]
    return not wide or bool((np.abs(numbers[wide]) < LARGEST_WHOLE).all())


def as_numbers(codes: NDArray[np.integer]) -> Floats:
    """Codes of categories as floats; NaN for missing values, whose code is -1."""
    return np.where(codes < 0, np.nan, codes)


def coded_batch(batch: Any) -> CodedRows | None:
    """The same for a record batch of Arrow."""
    import pyarrow as pa

    numbers, categories = np.empty((batch.num_columns, batch.num_rows)), {}
    for at, column in enumerate(batch.columns):
        kind = column.type
        if hasattr(column, "dictionary"):
            codes = column.indices.fill_null(-1) if column.indices.null_count else column.indices
            numbers[at] = as_numbers(codes.to_numpy())
            categories[at] = tuple(column.dictionary.to_pylist())
        elif (
            pa.types.is_integer(kind)
            or pa.types.is_floating(kind)
            or (
                pa.types.is_boolean(kind)
                and not column.null_count  # of booleans with missing values pandas makes objects
            )
        ):
            numbers[at] = column.to_numpy(zero_copy_only=False)
        else:
            return None
    return CodedRows(numbers, categories, batch.to_pandas, are_exact(numbers, batch.schema.types))


def float64_columns(features: NDArray[Any]) -> Floats:
    """One row a feature."""
    return np.ascontiguousarray(features.T, dtype=np.float64)


def lightgbm_columns(features: NDArray[Any]) -> Floats:
    """The same as LightGBM reads them: it takes floats as they are, and makes anything else a float32."""
    return float64_columns(features if features.dtype in (np.float32, np.float64) else features.astype(np.float32))


class SharedTrees:
    """The probabilities by the trees of several models of two classes, which share the reading and numbering of rows.

    What does not depend on the rows is made at the first call that needs it, once for all threads.

    Parameters
    ----------
    models : Sequence[SmallTrees]
        Trees of models that read frames in the same way.
    known : Sequence[Sequence[Any]]
        The categories of each categorical column in the order of the columns, as they were in training.
    at : Sequence[int] | None
        The positions of these columns; None where they are not known.
    of_array : Callable[[NDArray[Any]], Floats] | None
        Reads the columns of arrays; None if the models cannot read arrays.
    """

    def __init__(
        self,
        models: Sequence[SmallTrees],
        known: Sequence[Sequence[Any]],
        at: Sequence[int] | None,
        of_array: Callable[[NDArray[Any]], Floats] | None,
    ) -> None:
        self._models = models
        self._known = [tuple(own) for own in known]
        self._at = at
        self._of_array = of_array
        self._factors = np.array([[each.factor] for each in models])
        self._lock = Lock()

    def __call__(self, features: Any) -> list[Callable[[], Floats]] | None:
        """For each model, a function that gives the probabilities of some rows. None if they cannot be read here."""
        if isinstance(features, np.ndarray):
            columns = None if self._of_array is None else self._of_array(features)
        else:
            columns = self._of_frame(features)
        if columns is None:
            return None
        return self._of_few(columns) if columns.shape[1] <= FEW_ROWS else self._of_many(columns)

    def _of_frame(self, features: Any) -> Floats | None:
        rows = coded(features)
        if rows is None or len(rows.categories) != len(self._known):
            return None
        return rows.recoded(dict(zip(self._at or sorted(rows.categories), self._known, strict=True)))

    def _of_few(self, columns: Floats) -> list[Callable[[], Floats]]:
        with self._lock:
            row_sums = self._row_sums
        sums = np.column_stack([row_sums(row) for row in columns.T])
        both = _both(expit(self._factors * sums))
        return [partial(np.asarray, own) for own in both]

    def _of_many(self, columns: Floats) -> list[Callable[[], Floats]]:
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
