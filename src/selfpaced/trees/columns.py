"""The columns of rows as numbers that trees ask for, once for all models."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.trees.bitvectors import Numbering, Numbers


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


Floats = NDArray[np.float64]
NUMBERS = "biuf"


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
        # By categorical column, the categories that came last and their codes: chunks of a frame share them.
        self._last: dict[int, tuple[Any, Floats]] = {}

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
                    columns[position] = self._codes(n_categorical, column)
                n_categorical += 1
            elif not column.holds_numbers:
                return None
            elif position in positions:
                columns[position] = np.ascontiguousarray(column.values(), dtype=np.float64)
        return columns if n_categorical == len(self._code_of) else None

    def _codes(self, number: int, column: _Column) -> Floats:
        """The codes of a categorical column, NaN for missing values and for categories that are not known."""
        own, (last, codes) = column.categories, self._last.get(number, (None, np.empty(0)))
        if last is not own:
            codes = codes_among(self._code_of[number], own)
            self._last[number] = own, codes
        taken: Floats = codes.take(column.values())  # the code of missing values, -1, takes the last
        return taken


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


@dataclass(frozen=True)
class Numbered:
    """Some rows by the numbers of their features."""

    numbers: Numbers
    n_rows: int


@dataclass(frozen=True, eq=False)
class NumberedRows:
    """A view of arrays and frames by the numbers of their values. Other rows are left as they are.

    Attributes
    ----------
    of_frame, of_array
        Read the columns as floats.
    """

    numbering: Numbering
    of_frame: FrameColumns
    of_array: Callable[[NDArray[Any]], NDArray[np.float64]] | None

    def __call__(self, features: Any) -> Numbered | Any:
        if isinstance(features, np.ndarray) and self.of_array is not None:
            return Numbered(self.numbering(self.of_array(features)), len(features))
        is_frame = isinstance(features, ArrowRows) or is_pandas(features)
        columns = self.of_frame(features, self.numbering.positions) if is_frame else None
        if columns is not None:
            return Numbered(self.numbering(columns), len(features))
        return features.to_pandas() if isinstance(features, ArrowRows) else features
