"""What the columns of a table are like: how many values are missing, how many differ, what they lie between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from selfpaced.tables.files import import_arrow
from selfpaced.tables.schema import MOST_CATEGORIES, are_dates, are_words
from selfpaced.tables.streamed import StreamedTable

# Whether values repeat is seen in the first so many rows.
ROWS_LOOKED_AT = 2**17


@dataclass(frozen=True)
class ColumnProfile:
    """A column of a table.

    Attributes
    ----------
    type : its Arrow type.
    n_distinct : different values; of words up to `MOST_CATEGORIES` and a few, of others those of the first rows.
    smallest, largest : the least and the most of numbers and dates; None for words, and where all values are missing.
    repeats : whether a value comes twice in the first rows.
    rises : whether each value of the first rows is larger than the one before.
    """

    name: str
    type: str
    n_rows: int
    n_missing: int
    n_distinct: int
    smallest: Any
    largest: Any
    repeats: bool
    rises: bool

    @property
    def share_missing(self) -> float:
        return self.n_missing / max(self.n_rows, 1)


def profile(table: StreamedTable, names: Sequence[str]) -> list[ColumnProfile]:
    """Read some columns once."""
    looks = {name: _Look(name) for name in names}
    for _, batch in table._read(names):
        for name, look in looks.items():
            look.add(batch.column(name))
    return [look.result() for look in looks.values()]


class _Look:
    """A column, as far as it has been read."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._type: Any = None
        self._n_rows = self._n_missing = 0
        self._words: set[str] = set()
        self._first: list[Any] = []
        self._n_first = 0
        self._ends: list[Any] = []

    def add(self, column: Any) -> None:
        import pyarrow.compute as pc

        pa = import_arrow()
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        self._type = column.type if self._type in (None, pa.null()) else self._type
        self._n_rows += len(column)
        self._n_missing += column.null_count
        if self._n_first < ROWS_LOOKED_AT and not pa.types.is_nested(column.type):
            self._first.append(column)
            self._n_first += len(column)
        if are_words(column.type):
            if len(self._words) <= MOST_CATEGORIES:
                self._words.update(column.unique().drop_null().to_pylist())
        elif _has_order(column.type):
            self._ends += [end for end in pc.min_max(column).as_py().values() if end is not None and end == end]

    def result(self) -> ColumnProfile:
        pa = import_arrow()
        first = pa.chunked_array([part.cast(self._type) for part in self._first], self._type).drop_null()
        n_first = len(first.unique()) if self._first else len(first)
        values = first.to_numpy() if _has_order(self._type) else np.empty(0)
        return ColumnProfile(
            self._name,
            str(self._type),
            self._n_rows,
            self._n_missing,
            len(self._words) if are_words(self._type) else n_first,
            min(self._ends, default=None),
            max(self._ends, default=None),
            n_first < len(first),
            bool(values.size > 1 and np.all(values[1:] > values[:-1])),
        )


def _has_order(kind: Any) -> bool:
    pa = import_arrow()
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, are_dates)
    return any(is_kind(kind) for is_kind in kinds)
