"""The columns of any table in memory, one by one, as numbers or as words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.tables.kinds import ARRAY, ARROW, PANDAS, POLARS, SPARSE, Kind, kind_of

LONGEST_WORD = 60


@dataclass(frozen=True)
class Values:
    """A column. Numbers are floats with NaN for gaps; words are objects, text with None for gaps."""

    name: str
    type: str
    values: NDArray[Any]

    @property
    def are_numbers(self) -> bool:
        return self.values.dtype.kind == "f"

    @property
    def is_missing(self) -> NDArray[np.bool_]:
        if self.are_numbers:
            missing: NDArray[np.bool_] = np.isnan(self.values)
            return missing
        return np.fromiter((value is None for value in self.values), bool, self.values.size)

    @property
    def present(self) -> NDArray[Any]:
        return self.values[~self.is_missing]

    def text(self, row: int) -> str:
        value = self.values[row]
        if value is None or value != value:
            return "missing"
        return number_text(float(value)) if self.are_numbers else shortened(value)


def number_text(value: float) -> str:
    """
    >>> [number_text(value) for value in (3.0, 1234567.0, 0.123456, 1e-9, -0.0)]
    ['3', '1,234,567', '0.1235', '1e-09', '0']
    """
    if abs(value) < 1e15 and value == round(value):
        return f"{int(value):,}"
    return f"{value:,.2f}" if 100 <= abs(value) < 1e15 else f"{value:.4g}"


def shortened(text: str, longest: int = LONGEST_WORD) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def column_names(table: Any) -> list[str]:
    """The names of the columns; x0, x1, ... where they have none."""
    kind = kind_of(table)
    if kind in (ARRAY, SPARSE):
        return [f"x{number}" for number in range(table.shape[1])]
    return [str(name) for name in (table.column_names if kind is ARROW else table.columns)]


def columns_of(table: Any, which: Sequence[int] | None = None) -> Iterator[Values]:
    """The columns at some places, or all of them."""
    names, read = column_names(table), READERS[kind_of(table)]
    for place in range(len(names)) if which is None else which:
        type_name, values = read(table, place)
        yield Values(names[place], type_name, _as_numbers_or_words(values))


def take_rows(table: Any, rows: NDArray[np.integer]) -> Any:
    """Some rows as a table of the same kind, or a pandas frame for pyarrow's."""
    return kind_of(table).take(table, rows)


def _as_numbers_or_words(values: Any) -> NDArray[Any]:
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        return values.astype(np.float64)
    given = list(values)
    words = np.empty(len(given), dtype=object)
    words[:] = [None if _is_gap(value) else str(value) for value in given]
    return words


def _is_gap(value: Any) -> bool:
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def _read_array(table: Any, place: int) -> tuple[str, Any]:
    return str(table.dtype), np.asarray(table[:, place])


def _read_sparse(table: Any, place: int) -> tuple[str, Any]:
    return str(table.dtype), table[:, [place]].toarray().ravel()


def _read_pandas(table: Any, place: int) -> tuple[str, Any]:
    column = table.iloc[:, place]
    if getattr(column.dtype, "kind", None) in tuple("biuf"):
        return str(column.dtype), column.to_numpy(dtype=np.float64, na_value=np.nan)
    return str(column.dtype), column.tolist()


def _read_polars(table: Any, place: int) -> tuple[str, Any]:
    import polars as pl

    column = table.to_series(place)
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        return str(column.dtype), column.cast(pl.Float64).to_numpy()
    return str(column.dtype), column.to_list()


def _read_arrow(table: Any, place: int) -> tuple[str, Any]:
    import pyarrow as pa

    column = table.column(place)
    is_number = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
    if any(is_kind(column.type) for is_kind in is_number):
        return str(column.type), column.cast(pa.float64()).to_numpy()
    return str(column.type), column.to_pylist()


READERS: dict[Kind, Callable[[Any, int], tuple[str, Any]]] = {
    ARRAY: _read_array,
    SPARSE: _read_sparse,
    PANDAS: _read_pandas,
    POLARS: _read_polars,
    ARROW: _read_arrow,
}
