"""Events: the times, entities, amounts and labels of rows as arrays of whole numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from selfpaced import tables
from selfpaced.exceptions import TableError, did_you_mean, pa, pc
from selfpaced.pools import row_keys

if TYPE_CHECKING:
    from selfpaced.history.description import History

Ints = NDArray[np.int64]
Hashes = NDArray[np.uint64]

TICKS = 10**6  # in a second, or in 1 of a time that is a number
NO_ENTITY = 0  # the hash of a missing value
NO_AMOUNT = -(2**63)
UNKNOWN = -1
# So the sums of 2**23 amounts, and of both halves of their squares, fit into 64 bits.
LARGEST_UNITS = 2**40


@dataclass(frozen=True)
class Events:
    """Rows as a history sees them."""

    times: Ints  # in ticks
    keys: Mapping[Any, Hashes]  # by entity; `NO_ENTITY` where it is missing
    units: Ints | None = None  # amounts in whole units of the last decimal; `NO_AMOUNT` where it is missing
    labels: NDArray[np.int8] | None = None  # 1 is rare; `UNKNOWN` where it is missing
    has_zone: bool | None = None  # None for times that are numbers, and without rows

    @property
    def size(self) -> int:
        return self.times.size

    def take(self, chosen: Any) -> Events:
        """Some of the events, by a mask, a slice or positions."""
        return Events(
            self.times[chosen],
            {key: hashes[chosen] for key, hashes in self.keys.items()},
            None if self.units is None else self.units[chosen],
            None if self.labels is None else self.labels[chosen],
            self.has_zone,
        )

    @staticmethod
    def joined(parts: Sequence[Events]) -> Events:
        """Several events below each other."""
        zones = {part.has_zone for part in parts} - {None}
        if len(zones) > 1:
            raise TableError(
                "Some rows have times with a time zone, and others without one. Give all of them a zone, or none."
            )

        def below(arrays: Sequence[Any]) -> Any:
            return None if arrays[0] is None else np.concatenate(arrays)

        return Events(
            below([part.times for part in parts]),
            {key: below([part.keys[key] for part in parts]) for key in parts[0].keys},
            below([part.units for part in parts]),
            below([part.labels for part in parts]),
            next(iter(zones), None),
        )


def read_events(history: History, table: Any, y: Any = None, pos_label: Any = None) -> Events:
    """The events of the rows of a frame. Without `y`, no label is known."""
    check_columns(history, tables.kind_of(table).names(table))
    times, has_zone = _times_in(history, table)
    columns = {key: (key,) if isinstance(key, str) else key for key in history.keys}
    hashes = {
        name: _hashes_in(_column(table, name), name) for name in {one for some in columns.values() for one in some}
    }
    keys = {key: _combined([hashes[name] for name in names_of_key]) for key, names_of_key in columns.items()}
    labels = None
    if history.delay is not None:
        labels = np.full(times.size, UNKNOWN, dtype=np.int8) if y is None else labels_in(y, pos_label)
        if labels.size != times.size:
            raise TableError(f"There are {labels.size:,} labels for {times.size:,} rows. Give one for each row.")
    units = None if history.amount_column is None else _units_in(_column(table, history.amount_column), history)
    return Events(times, keys, units, labels, has_zone)


def check_columns(history: History, names: Sequence[Any]) -> None:
    """Refuse the columns of a table if one that the history uses is not there once."""
    for name in history.columns:
        if names.count(name) != 1:
            found = "no column" if name not in names else "several columns"
            raise TableError(
                f"The table has {found} {name!r}, which the history uses. Its columns are {names}."
                f"{did_you_mean(name, [str(each) for each in names]) if name not in names else ''}"
            )


def labels_in(y: Any, pos_label: Any = None) -> NDArray[np.int8]:
    """1 for rare rows, 0 for others, `UNKNOWN` for missing labels.

    >>> labels_in([0, 1, None]).tolist(), labels_in(["ok", "fraud", None], "fraud").tolist()
    ([0, 1, -1], [0, 1, -1])
    """
    values = np.asarray(y)
    if values.ndim != 1:
        raise TableError(f"Labels are one column; got an array of the shape {values.shape}.")
    if values.dtype.kind == "O":
        missing = np.array([tables.is_missing(value) for value in values.tolist()], dtype=bool)
    else:
        missing = values != values
    known = values[~missing]
    if pos_label is None:
        found = set(known.tolist()) if known.dtype.kind == "O" else set(np.unique(known).tolist())
        if not found <= {0, 1}:
            raise ValueError(f"Some labels are {list(found)[:5]}. Say which is the rare one with pos_label.")
        pos_label = 1
    labels = np.full(values.size, UNKNOWN, dtype=np.int8)
    labels[~missing] = known == pos_label
    return labels


def _column(table: Any, name: str) -> Any:
    """A column as an array of Arrow, in which NaN of pandas is a missing value."""
    if tables.kind_of(table) is not tables.PANDAS:
        return table.get_column(name).to_arrow() if hasattr(table, "get_column") else table.column(name)
    try:
        return pa.array(table[name], from_pandas=True)
    except (pa.ArrowException, TypeError) as error:
        raise TableError(f"Column {name!r} has values of several types: {error}. Give all of them one type.") from error


def _times_in(history: History, table: Any) -> tuple[Ints, bool | None]:
    name, where = history.time_column, f"The time column {history.time_column!r}"
    is_object = tables.kind_of(table) is tables.PANDAS and table[name].dtype == object
    column: Any = table[name] if is_object else _column(table, name)
    if is_object or tables.are_strings(column.type):
        texts: NDArray[Any] = np.asarray(column.tolist() if is_object else column.to_pylist(), dtype=object)
        moments = tables.checked_moments(texts, where, history.time_unit)
        has_zone = tables.moment_of(texts[0]).tzinfo is not None if texts.size and moments.dtype.kind == "M" else None
    else:
        moments = tables.moments_in(column, name, history.time_unit)
        has_zone = tables.zone_of(column) is not None if moments.size and moments.dtype.kind == "M" else None
    if moments.size and (moments.dtype.kind == "M") != history.has_dates:
        kinds = ("dates", "numbers") if moments.dtype.kind == "M" else ("numbers", "dates with a unit")
        raise TableError(
            f"{where} has {kinds[0]}, but the windows {', '.join(map(str, history.windows))} are for {kinds[1]}. Write "
            "windows and delay as 7d or 12h for dates (or numbers with a time_unit), and as numbers for numbers."
        )
    return _ticks(moments, where), has_zone


def _ticks(moments: NDArray[Any], where: str) -> Ints:
    """Moments as whole numbers of ticks. Dates are so already."""
    if moments.dtype.kind == "M":
        return moments.view(np.int64)
    largest = 2**62 // TICKS
    if moments.size and not (-largest < moments.min() and moments.max() < largest):
        raise TableError(
            f"{where} has numbers beyond {largest:,}. If they are times since 1970, say in which unit with time_unit."
        )
    return moments.astype(np.int64) * TICKS if moments.dtype.kind in "iu" else np.rint(moments * TICKS).astype(np.int64)


def _hashes_in(column: Any, name: str) -> Hashes:
    """The hash of each value; `NO_ENTITY` for missing ones."""
    is_there = pc.invert(pc.is_null(column, nan_is_null=True))
    hashes = np.zeros(len(column), dtype=np.uint64)
    known = np.maximum(tables.column_groups(column.filter(is_there), f"Column {name!r}"), np.uint64(1))
    hashes[is_there.to_numpy(zero_copy_only=False)] = known
    return hashes


def _combined(parts: Sequence[Hashes]) -> Hashes:
    """One hash of several, for several columns as one entity. It is missing if one of them is."""
    hashes = parts[0]
    for part in parts[1:]:
        both = np.maximum(row_keys(hashes, 0, 1) + part, np.uint64(1))
        hashes = np.where((hashes == NO_ENTITY) | (part == NO_ENTITY), np.uint64(NO_ENTITY), both)
    return hashes


def _units_in(column: Any, history: History) -> Ints:
    what = f"The amount column {history.amount_column!r}"
    if not (tables.are_numbers(column.type) or column.null_count == len(column)):
        raise TableError(f"{what} is {column.type}. Amounts are numbers.")
    amounts = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    tables.refuse_infinity(amounts, what)
    units = np.rint(amounts * 10.0**history.decimals)
    too_large = np.flatnonzero(np.abs(units) >= LARGEST_UNITS)
    if too_large.size:
        raise TableError(
            f"{what} has {amounts[too_large[0]]}. With {history.decimals} decimals, amounts must be below "
            f"{LARGEST_UNITS / 10**history.decimals:,.0f}. Give a smaller number of decimals, or larger units."
        )
    is_missing_here = np.isnan(units)
    return np.where(is_missing_here, NO_AMOUNT, np.where(is_missing_here, 0, units).astype(np.int64))
