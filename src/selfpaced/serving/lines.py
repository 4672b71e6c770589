"""Answered requests as lines of JSON in which each column has values of one type."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from numbers import Real
from typing import Any, Literal

from selfpaced.model import RowReader
from selfpaced.tables import Column, moment_of

Kind = Literal["number", "boolean", "string", "time", "time with zone", "any"]

# What a line says of a request, beside the columns of its row.
OWN = ("time", "request_id", "model", "probability", "alert", "shadow_model", "shadow_probability", "other")


def column_kinds(reader: RowReader) -> dict[str, Kind] | None:
    """The columns of the rows that a model reads, with the kinds of their values; None if they have no names."""
    if reader.schema is not None:
        return {column.source: _kind_of(column) for column in reader.schema.columns}
    if reader.names is None:
        return None
    others = {*reader.all_categories, *reader.types}
    return {name: "any" if name in others else "number" for name in reader.names}


def _kind_of(column: Column) -> Kind:
    if column.made_of is not None:
        return "time with zone" if column.has_zone else "time"
    by_type: dict[str, Kind] = {"bool": "boolean", "category": "string"}
    return by_type.get(column.type, "number")


class Lines:
    """Records as lines of JSON in which each column has values of one kind."""

    def __init__(self, columns: Mapping[str, Kind] | None, leave_out: frozenset[str]) -> None:
        self._columns = None if columns is None else {n: kind for n, kind in columns.items() if n not in leave_out}
        self._leave_out, self._prefix = leave_out, "served_"
        while any(name.startswith(self._prefix) for name in columns or ()):
            self._prefix = f"_{self._prefix}"
        self.begin_file()

    def begin_file(self) -> None:
        self._kinds: dict[str, Kind] = {}  # of the columns of any kind, as they were first in this file

    def line(self, record: Mapping[str, Any]) -> bytes:
        values: dict[str, Any] = {}
        other: dict[str, Any] = {}
        for name, kind, value in self._cells(record["row"]):
            try:
                values[name] = self._fitting(name, kind, value)
            except (TypeError, ValueError, OverflowError):
                values[name], other[name] = None, value
        own = {**dict.fromkeys(OWN), "time": datetime.now(UTC), **record}
        own["other"] = json.dumps(other, default=str) if other else None
        values |= {self._prefix + name: plain_value(value) for name, value in own.items() if name != "row"}
        return json.dumps(values, ensure_ascii=False).encode(errors="replace") + b"\n"

    def _cells(self, row: Mapping[str, Any] | Sequence[Any]) -> Iterator[tuple[str, Kind, Any]]:
        """Every column to write: its name, its kind, and its value in a row. Values without names are x0, x1, ..."""
        if not isinstance(row, Mapping):
            row = {f"x{position}": value for position, value in enumerate(row)}
        if self._columns is not None:
            yield from ((name, kind, row.get(name)) for name, kind in self._columns.items())
        else:
            yield from ((name, "any", value) for name, value in row.items() if name not in self._leave_out)

    def _fitting(self, name: str, kind: Kind, value: Any) -> Any:
        """A value of a kind. Raises an error for values of other kinds."""
        if kind == "number" and type(value) is float and value - value == 0:  # most values are finite numbers
            return value
        plain = plain_value(value)
        if plain is None:
            return None
        if kind in ("time", "time with zone"):
            return _in_utc(value, has_zone=kind == "time with zone")
        own: Kind = "boolean" if isinstance(plain, bool) else "string" if isinstance(plain, str) else "number"
        if kind == "any":
            kind = self._kinds.setdefault(name, own)
        if kind == "number" and own == "boolean":
            return int(plain)
        if kind == "boolean" and plain in (0, 1):
            return bool(plain)
        if kind != own:
            raise TypeError(f"{name!r} is a {own}, not a {kind}")
        return plain


def _in_utc(value: Any, has_zone: bool) -> str:
    """A time as models read it. Readers refuse a column in which some times have a zone and others have none.

    >>> _in_utc("2024-05-01 12:00+02:00", has_zone=False), _in_utc("1.5.2024", has_zone=True)
    ('2024-05-01T10:00:00', '2024-05-01T00:00:00+00:00')
    """
    moment = moment_of(value.to_pydatetime(warn=False) if hasattr(value, "to_pydatetime") else value)
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return (moment if has_zone else moment.replace(tzinfo=None)).isoformat()


def plain_value(value: Any) -> Any:
    """A value as JSON has it, if it has one value only. NaN is a missing value.

    >>> [plain_value(value) for value in (True, 3, 2**70, float("nan"), "7", date(2024, 5, 1))]
    [True, 3, 1.1805916207174113e+21, None, '7', '2024-05-01']
    """
    if hasattr(value, "item"):  # a value of numpy
        value = value.item()
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return value
    if not isinstance(value, Real | Decimal):
        raise TypeError(f"{value!r} is not a single value")
    number = float(value)
    if math.isinf(number):
        raise ValueError("JSON has no infinity")
    return None if math.isnan(number) else number
