"""The columns of any table in memory, one by one, as numbers or as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.tables.kinds import kind_of

LONGEST_TEXT = 60


@dataclass(frozen=True)
class Values:
    """A column: floats with NaN for missing values, or strings, as objects, with None for missing values."""

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


def shortened(text: str, longest: int = LONGEST_TEXT) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def column_names(table: Any) -> list[str]:
    """The names of the columns; x0, x1, ... if they have none."""
    return [str(name) for name in kind_of(table).names(table)]


def columns_of(table: Any, which: Sequence[int] | None = None) -> Iterator[Values]:
    """The columns at some positions, or all of them."""
    names, kind = column_names(table), kind_of(table)
    for position in range(len(names)) if which is None else which:
        column = kind.column(table, position)
        values = column.floats() if column.is_number else _texts(column.objects())
        yield Values(names[position], column.type, values)


def take_rows(table: Any, rows: NDArray[np.integer]) -> Any:
    """Some rows as a table of the same kind, or a pandas frame for a pyarrow table."""
    return kind_of(table).take(table, rows)


def _texts(values: Iterable[Any]) -> NDArray[np.object_]:
    return np.array([None if _is_missing(value) else str(value) for value in values], dtype=object)


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ == "NAType" or bool(value != value)
