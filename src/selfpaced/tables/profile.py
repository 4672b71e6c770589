"""What the columns of a table are like: how many values are missing, how many differ, their range."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from selfpaced.exceptions import TableError, pa, pc
from selfpaced.tables.schema import MOST_CATEGORIES, Described, merged_types, plain
from selfpaced.tables.times import are_dates, are_strings

if TYPE_CHECKING:
    from selfpaced.tables.files.file import Reader


# The number of first rows in which repeated values are searched for.
ROWS_LOOKED_AT = 2**17
PLAIN_NUMBER = re.compile(r"\s*[-+]?[0-9]+(?:[.,][0-9]*)?(?:[eE][-+]?[0-9]+)?\s*")
LIKE_A_NUMBER = re.compile(r"\s*[-+]?[0-9][0-9.,']*\s*")
# A column of strings is meant to be numbers if at most this share of its different strings do not look like one.
FEW_OTHERS = 0.1
MOST_SHOWN = 3


class Look(Protocol):
    """Collects facts about a column while it is read."""

    def add(self, column: Any, file: Described) -> None: ...


def look_through(reader: Reader, looks: Mapping[str, Look]) -> None:
    """Read some columns once, and pass each of them to its collectors."""
    for file, batch in reader.read(list(looks)) if looks else ():
        for name, look in looks.items():
            look.add(batch.column(name), file)


@dataclass(frozen=True)
class ColumnProfile:
    """A column of a table."""

    name: str
    type: str  # its Arrow type
    n_rows: int
    n_missing: int
    # The number of different values. For strings the count stops above `MOST_CATEGORIES`; for other types only the
    # first rows are counted.
    n_distinct: int
    # The range of numbers, and of dates in microseconds since 1970; None for strings, and where all values are missing.
    smallest: Any
    largest: Any
    repeats: bool  # whether a value occurs twice in the first rows
    rises: bool  # whether each value of the first rows is larger than the one before
    # The strings, sorted; None for other types, and where there are more than `MOST_CATEGORIES`.
    categories: tuple[str, ...] | None = None
    # The first strings that keep a column of numbers from being one; empty if most strings are not numbers.
    not_numbers: tuple[str, ...] = ()


class ColumnLook:
    """A column, as far as it has been read."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._type: Any = pa.null()
        self._n_rows = self._n_missing = 0
        self._strings: set[str] = set()
        self._first: list[Any] = []
        self._n_first = 0
        self._ends: list[Any] = []

    def add(self, column: Any, file: Described | None = None) -> None:
        column = plain(column)
        self._type = merged_types(self._type, column.type)
        self._n_rows += len(column)
        self._n_missing += column.null_count
        if self._n_first < ROWS_LOOKED_AT and not pa.types.is_nested(column.type):
            self._first.append(column)
            self._n_first += len(column)
        if are_strings(column.type):
            if len(self._strings) <= MOST_CATEGORIES:
                self._strings.update(column.unique().drop_null().to_pylist())
        elif _has_order(column.type):
            if are_dates(column.type):  # as numbers, because Python's own dates have no nanoseconds
                column = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
            ends = pc.min_max(column).as_py().values()
            self._ends += [end for end in ends if end is not None and end == end]

    def result(self) -> ColumnProfile:
        parts = [part.cast(self._type, safe=False) for part in self._first]
        first = pa.chunked_array(parts, self._type).drop_null()
        n_first = len(first.unique()) if self._first else len(first)
        values = first.to_numpy() if _has_order(self._type) else np.empty(0)
        strings = are_strings(self._type) and len(self._strings) <= MOST_CATEGORIES
        return ColumnProfile(
            self._name,
            str(self._type),
            self._n_rows,
            self._n_missing,
            len(self._strings) if are_strings(self._type) else n_first,
            min(self._ends, default=None),
            max(self._ends, default=None),
            n_first < len(first),
            bool(values.size > 1 and np.all(values[1:] > values[:-1])),
            tuple(sorted(self._strings)) if strings else None,
            _not_numbers(self._strings),
        )


def _not_numbers(strings: set[str]) -> tuple[str, ...]:
    """Some strings that are not numbers as they are read here, if nearly all strings look like numbers.

    >>> _not_numbers({"12.5", "7", "-1", "0", "2", "3", "4", "5", "6", "8", "9", "k.A."})
    ('k.A.',)
    >>> _not_numbers({"1.234,56", "999,99"})
    ('1.234,56',)
    """
    others = [text for text in strings if not PLAIN_NUMBER.fullmatch(text)]
    n_unlike = sum(not LIKE_A_NUMBER.fullmatch(text) for text in others)
    return tuple(sorted(others)[:MOST_SHOWN]) if others and n_unlike <= FEW_OTHERS * len(strings) else ()


def _has_order(kind: Any) -> bool:
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, are_dates)
    return any(is_kind(kind) for is_kind in kinds)


def categories_of(profile: ColumnProfile, exclude: str = "Exclude it with exclude=[{!r}].") -> tuple[str, ...]:
    """The categories of a column of strings. `exclude` tells how to exclude a column that has too many."""
    refuse_many_categories(profile.name, profile.n_distinct, exclude.format(profile.name))
    return profile.categories or ()


def refuse_many_categories(name: str, n_distinct: int, advice: str) -> None:
    if n_distinct > MOST_CATEGORIES:
        raise TableError(
            f"Column {name!r} has more than {MOST_CATEGORIES} different strings, like a name or free text. {advice}"
        )
