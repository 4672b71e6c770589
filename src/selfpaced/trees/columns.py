"""The columns of rows as numbers that trees ask for, once for all models."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.trees.bitvectors import Numbering, RowSums, SmallTrees, TreeSum
from selfpaced.trees.tree import Floats


@dataclass(frozen=True)
class ArrowRows:
    """A record batch in the place of an array: consecutive rows of it are cut out by a slice, without a copy."""

    batch: Any
    itemsize: int = 8

    @property
    def shape(self) -> tuple[int, int]:
        return self.batch.num_rows, self.batch.num_columns

    def __len__(self) -> int:
        return int(self.batch.num_rows)

    def __getitem__(self, some: slice) -> ArrowRows:
        start, stop, _ = some.indices(len(self))
        return ArrowRows(self.batch.slice(start, stop - start))

    def to_pandas(self) -> Any:
        return self.batch.to_pandas()


def is_dictionary(column: Any) -> bool:
    """Whether a column holds categories."""
    return hasattr(column, "dictionary")


def holds_numbers(column: Any) -> bool:
    """Whether pandas reads a column as numbers. Of booleans with missing values it makes objects."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_boolean(kind):
        return bool(column.null_count == 0)
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def codes_of(column: Any) -> NDArray[np.integer]:
    """The place of each value among the categories of its column; -1 for missing values."""
    codes = column.indices.fill_null(-1) if column.indices.null_count else column.indices
    numbers: NDArray[np.integer] = codes.to_numpy()
    return numbers


NUMBERS = "biuf"
# So many rows are scored faster one by one than by tables.
FEW_ROWS = 16


class FrameColumns:
    """Reads columns of frames as floats: numbers as they are, categories as their codes among known ones.

    Frames are those of pandas, and record batches of Arrow.

    Parameters
    ----------
    known : Sequence[Sequence[Any]]
        The categories of each categorical column in the order of the columns, as they were in training.
    at : Sequence[int] | None, default=None
        The positions of these columns; None where they are not known.
    """

    def __init__(self, known: Sequence[Sequence[Any]], at: Sequence[int] | None = None) -> None:
        self._code_of = [{category: float(code) for code, category in enumerate(own)} for own in known]
        self._at = at

    def __call__(self, frame: Any, positions: Collection[int]) -> dict[int, Floats] | None:
        """The columns at some positions; None if there are columns that are neither numbers nor known categories."""
        columns: dict[int, Floats] = {}
        n_categorical = 0
        for position, column in enumerate(_columns(frame)):
            if column.categories is not None:
                if n_categorical == len(self._code_of) or (
                    self._at is not None and self._at[n_categorical] != position
                ):
                    return None
                if position in positions:
                    codes = codes_among(self._code_of[n_categorical], column.categories)
                    columns[position] = codes.take(column.values())  # the code of missing values, -1, takes the last
                n_categorical += 1
            elif not column.holds_numbers:
                return None
            elif position in positions:
                columns[position] = np.ascontiguousarray(column.values(), dtype=np.float64)
        return columns if n_categorical == len(self._code_of) else None


@dataclass(frozen=True)
class _Column:
    """A column of a frame.

    Attributes
    ----------
    values : Callable[[], NDArray[Any]]
        Reads its numbers, or the places of its values among its own categories.
    categories : Any, default=None
        Its own categories; None if it has none.
    """

    holds_numbers: bool
    values: Callable[[], NDArray[Any]]
    categories: Any = None


def _columns(frame: Any) -> Iterator[_Column]:
    return map(_of_arrow, frame.batch.columns) if isinstance(frame, ArrowRows) else map(_of_pandas, _series(frame))


def _series(frame: Any) -> Iterator[Any]:
    return (column for _, column in frame.items())


def _of_pandas(column: Any) -> _Column:
    if type(column.dtype).__name__ == "CategoricalDtype":
        return _Column(False, column.cat.codes.to_numpy, column.cat.categories)
    return _Column(isinstance(column.dtype, np.dtype) and column.dtype.kind in NUMBERS, column.to_numpy)


def _of_arrow(column: Any) -> _Column:
    if is_dictionary(column):
        return _Column(False, partial(codes_of, column), column.dictionary.to_pylist())
    return _Column(holds_numbers(column), partial(column.to_numpy, zero_copy_only=False))


def codes_among(code_of: Mapping[Any, float], categories: Sequence[Any]) -> Floats:
    """The code of each category, NaN for those that are not known, and a NaN at the end.

    >>> codes_among({"a": 0.0, "b": 1.0}, ["b", "c"]).tolist()
    [1.0, nan, nan]
    """
    return np.array([*(code_of.get(category, np.nan) for category in categories), np.nan])


def float64_columns(features: NDArray[Any]) -> Floats:
    """One row a feature."""
    return np.ascontiguousarray(features.T, dtype=np.float64)


def lightgbm_columns(features: NDArray[Any]) -> Floats:
    """The same as LightGBM reads them: it takes floats as they are, and makes anything else a float32."""
    return float64_columns(features if features.dtype in (np.float32, np.float64) else features.astype(np.float32))


def is_pandas(features: Any) -> bool:
    return type(features).__name__ == "DataFrame" and type(features).__module__.partition(".")[0] == "pandas"


class SharedTrees:
    """The sums of the trees of several models, which share the reading and numbering of rows.

    What does not depend on the rows is made at the first call that needs it, once for all threads.

    Parameters
    ----------
    models : Sequence[SmallTrees]
        Trees of models that read frames in the same way.
    of_frame : FrameColumns
        Reads the columns of frames.
    of_array : Callable[[NDArray[Any]], Floats] | None
        Reads the columns of arrays; None if the models cannot read arrays.
    """

    def __init__(
        self,
        models: Sequence[SmallTrees],
        of_frame: FrameColumns,
        of_array: Callable[[NDArray[Any]], Floats] | None,
    ) -> None:
        self._models = models
        self._of_frame = of_frame
        self._of_array = of_array
        self._positions = set(np.concatenate([each.feature for each in models]).tolist())
        self._lock = Lock()

    def __call__(self, features: Any) -> list[Callable[[], Floats]] | None:
        """For each model, a function that gives the sums of some rows. None for rows that cannot be read here."""
        columns: Mapping[int, Floats] | Floats | None = None
        if isinstance(features, np.ndarray):
            columns = None if self._of_array is None else self._of_array(features)
        elif isinstance(features, ArrowRows) or is_pandas(features):
            columns = self._of_frame(features, self._positions)
        if columns is None:
            return None
        n_rows = features.shape[0]
        return self._of_few(columns, n_rows) if n_rows <= FEW_ROWS else self._of_many(columns, n_rows)

    def _of_few(self, columns: Mapping[int, Floats] | Floats, n_rows: int) -> list[Callable[[], Floats]]:
        with self._lock:
            row_sums = self._row_sums
        rows = np.zeros((n_rows, 1 + max(self._positions, default=0)))
        for position in self._positions:
            rows[:, position] = columns[position]
        sums = np.array([row_sums(row) for row in rows]).reshape(n_rows, len(self._models))
        return [partial(np.multiply, each.factor, own) for each, own in zip(self._models, sums.T, strict=True)]

    def _of_many(self, columns: Mapping[int, Floats] | Floats, n_rows: int) -> list[Callable[[], Floats]]:
        with self._lock:
            numbering, tree_sums = self._tables
        numbers = numbering(columns)
        return [
            partial(lambda factor, tree_sum: factor * tree_sum(numbers, n_rows), each.factor, tree_sum)
            for each, tree_sum in zip(self._models, tree_sums, strict=True)
        ]

    @cached_property
    def _row_sums(self) -> RowSums:
        return RowSums(self._models)

    @cached_property
    def _tables(self) -> tuple[Numbering, list[TreeSum]]:
        numbering = Numbering(self._models)
        return numbering, [TreeSum(each, numbering) for each in self._models]
