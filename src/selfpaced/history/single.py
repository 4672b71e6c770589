"""One row as a history sees it, read without a data frame."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from selfpaced.exceptions import TableError, did_you_mean, pa
from selfpaced.history.events import (
    LARGEST_UNITS,
    NO_AMOUNT,
    NO_ENTITY,
    UNKNOWN,
    Ints,
    _column,
    _hashes_in,
    _ticks,
    read_events,
)
from selfpaced.pools import row_key
from selfpaced.tables import checked_moments, group_hash, is_frame, is_missing, kind_of, moment_of

if TYPE_CHECKING:
    from selfpaced.history.description import History

EPOCH, MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)


class _UnusualError(Exception):
    """A value that is read as a frame of one row, which takes longer."""


def read_row(history: History, row: Mapping[str, Any]) -> tuple[list[int], bool | None]:
    """The time, the unknown label, the amount and the signed hashes of the keys, and whether the time has a zone.

    They are those of `read_events` for a frame of this row.
    """
    missing = [name for name in history.columns if name not in row]
    if missing:
        raise TableError(
            f"The row has no value for {missing[0]!r}, which the history uses. Give None if the value is missing."
            f"{did_you_mean(missing[0], map(str, row))}"
        )
    try:
        ticks, has_zone = _moment(history, row[history.time_column])
        units = NO_AMOUNT if history.amount_column is None else _units(history, row[history.amount_column])
        keys = [_key(row, key) for key in history.keys]
    except _UnusualError:
        frame = pa.Table.from_pylist([{name: _plain(row[name]) for name in history.columns}])
        events = read_events(history, frame)
        ticks, has_zone = int(events.times[0]), events.has_zone
        units = NO_AMOUNT if events.units is None else int(events.units[0])
        keys = [int(events.keys[key].view(np.int64)[0]) for key in history.keys]
    return [ticks, UNKNOWN, units, *keys], has_zone


def read_id(row: Mapping[str, Any], name: str) -> int:
    """The signed hash of the id of a row."""
    if name not in row:
        raise TableError(
            f"The row has no value for {name!r}, its id. Give None if it has no id.{did_you_mean(name, row)}"
        )
    try:
        return _signed(_hash(row[name]))
    except _UnusualError:
        return int(_hashes_in(pa.array([_plain(row[name])]), name).view(np.int64)[0])


def read_ids(given: Any, name: str) -> Ints:
    """The signed hashes of ids in an array or a column, or in a column of a frame, by its name."""
    if is_frame(given):
        names = list(map(str, kind_of(given).names(given)))
        if name not in names:
            raise TableError(f"The table has no column {name!r}, the id of a row.{did_you_mean(name, names)}")
        column = _column(given, name)
    else:
        column = given.to_arrow() if hasattr(given, "to_arrow") else pa.array(given, from_pandas=True)
    return _hashes_in(column, name).view(np.int64)


def _plain(value: Any) -> Any:
    return None if is_missing(value) else value


def _moment(history: History, value: Any) -> tuple[int, bool | None]:
    if isinstance(value, str) and history.time_unit is None:
        try:
            value = moment_of(value)
        except ValueError:
            raise _UnusualError from None
    if isinstance(value, datetime) and value == value and history.has_dates and history.time_unit is None:
        if getattr(value, "nanosecond", 0):
            raise _UnusualError
        has_zone = value.tzinfo is not None
        return ((value if has_zone else value.replace(tzinfo=UTC)) - EPOCH) // MICROSECOND, has_zone
    is_number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if is_number and history.has_dates == (history.time_unit is not None):
        where = f"The time column {history.time_column!r}"
        moments = checked_moments(np.array([value]), where, history.time_unit)
        return int(_ticks(moments, where)[0]), False if history.has_dates else None
    if is_missing(value):
        raise TableError(f"The row has no time in {history.time_column!r}. Every row of a history needs a time.")
    raise _UnusualError


def _units(history: History, value: Any) -> int:
    if value is None:
        return NO_AMOUNT
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise _UnusualError
    if value != value:
        return NO_AMOUNT
    if not isfinite(value):
        raise _UnusualError
    units = round(float(value) * 10.0**history.decimals)
    if abs(units) >= LARGEST_UNITS:
        raise _UnusualError
    return units


def _key(row: Mapping[str, Any], key: str | tuple[str, ...]) -> int:
    """The hash of a key, as `_combined` gives it for several columns."""
    if isinstance(key, str):
        return _signed(_hash(row[key]))
    parts = [_hash(row[name]) for name in key]
    both = parts[0]
    for part in parts[1:]:
        both = max((row_key(both, 0, 1) + part) % 2**64, 1)
    return NO_ENTITY if NO_ENTITY in parts else _signed(both)


def _hash(value: Any) -> int:
    """The hash of a usual value."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str | int):
        return max(group_hash(value), 1)
    if value is None:
        return NO_ENTITY
    if isinstance(value, float):
        return max(group_hash(value), 1) if value == value else NO_ENTITY
    raise _UnusualError


def _signed(number: int) -> int:
    """A number of 64 bits as arrays of int64 have it."""
    return number if number < 2**63 else number - 2**64
