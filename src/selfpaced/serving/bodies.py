"""Bodies of requests, read strictly: JSON rows and Arrow streams, and what is refused about them."""

import json
from codecs import BOM_UTF8
from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import Any, NoReturn

from selfpaced.exceptions import pa, pc
from selfpaced.tables import are_dates, plain

JSON, ARROW = "application/json", "application/vnd.apache.arrow.stream"


class RefusedError(Exception):
    """A request that is answered with an error: its HTTP status, what is said, and whether the connection ends."""

    def __init__(self, status: int, said: str, closes: bool = False) -> None:
        super().__init__(said)
        self.status, self.said, self.closes = status, said, closes


def check_type(given: str | None, encoding: str | None, known: Iterable[str]) -> str:
    """The media type of a body. Another type, character set or compression is refused."""
    kind, _, parameters = (given or "").partition(";")
    kind, charset = kind.strip().lower(), parameters.replace(" ", "").replace('"', "").lower()
    listed = " or ".join(known)
    if kind not in known:
        raise RefusedError(415, f"The content type is {given!r}. Send {listed}.")
    if charset not in ("", "charset=utf-8"):
        raise RefusedError(415, f"The content type is {given!r}. JSON is read as UTF-8 only.")
    if encoding not in (None, "identity"):
        raise RefusedError(415, f"The content encoding is {encoding!r}. Send the body without compression.")
    return kind


def json_in(body: bytes) -> Any:
    """The value of a JSON text. What JSON does not have, or has twice, is refused."""
    if body.startswith(BOM_UTF8):
        raise RefusedError(400, "The body starts with a byte order mark. Send UTF-8 without it.")
    try:
        return DECODER.decode(body.decode())
    except UnicodeDecodeError as error:
        raise RefusedError(400, f"The body is not UTF-8: {error.reason} at byte {error.start:,}.") from None
    except RecursionError:
        raise RefusedError(400, "The JSON is nested too deeply. A row is one object of names and values.") from None
    except json.JSONDecodeError as error:
        raise RefusedError(400, f"The body is not JSON: {error}.") from None
    except ValueError:
        raise RefusedError(400, "The JSON contains a number with thousands of digits.") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise RefusedError(400, f"The JSON object has the key {twice!r} twice. Give each column once.")
    return found


def _constant(text: str) -> NoReturn:
    raise RefusedError(400, f"The body contains {text}, which JSON does not have. Send null for a missing value.")


DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)


def row_in(body: bytes, has_names: bool) -> Any:
    """The row of a request: an object, or a list for a model without feature names."""
    row = json_in(body)
    if not isinstance(row, dict if has_names else list):
        wanted = "an object of column names and values" if has_names else "a list of values, one for each feature"
        raise RefusedError(422, f"A row is {wanted}; got {_kind(row)}.")
    return row


def rows_in(body: bytes, has_names: bool, most_rows: int) -> list[Any]:
    """The rows of a request: a list of objects, or of lists for a model without feature names."""
    rows = json_in(body)
    wanted = "objects" if has_names else "lists"
    if not isinstance(rows, list):
        raise RefusedError(422, f"A batch is a list of rows, which are {wanted}; got {_kind(rows)}.")
    check_size(len(rows), most_rows)
    for number, row in enumerate(rows):
        if not isinstance(row, dict if has_names else list):
            raise RefusedError(422, f"Row {number} of the batch is {_kind(row)}. The rows are {wanted}.")
    return rows


def table_in(body: bytes, most_rows: int) -> Any:
    """The table of an Arrow IPC stream. Rows are counted before they are decompressed further than allowed."""
    batches: list[Any] = []
    try:
        with pa.ipc.open_stream(pa.BufferReader(body)) as stream:
            for batch in stream:
                batch.validate(full=True)  # a wrong offset would read memory that is not of the body
                batches.append(batch)
                check_size(sum(one.num_rows for one in batches), most_rows, allow_none=True)
            table = pa.Table.from_batches(batches, stream.schema)
        names = table.column_names  # an error if one is not UTF-8
    except (pa.ArrowException, OSError, ValueError) as error:
        raise RefusedError(400, f"The body is not an Arrow IPC stream: {' '.join(str(error).split())}.") from None
    if len(set(names)) < len(names):
        raise RefusedError(422, f"The Arrow stream has several columns of one name: {names}. Give each its own name.")
    check_size(table.num_rows, most_rows)
    return table


def check_times(table: Any, names: Collection[str]) -> None:
    """Refuse times in some columns of an Arrow table that Python, and so a row of JSON, does not have."""
    for name in table.column_names:
        column = plain(table.column(name)) if name in names else None
        try:
            if column is not None and are_dates(column.type):
                pc.min_max(column).as_py()
        except (ValueError, OverflowError):
            said = f"Column {name!r} has a time that cannot be read. Times are in the years 1 to 9999"
            raise RefusedError(422, f"{said}, and their time zone has a known name.") from None


def values_of(column: Any) -> list[Any]:
    """The values of an Arrow column. Those that Python does not have are None."""
    try:
        return list(column.to_pylist())
    except Exception:  # a column that only the log reads may have any type
        return [_value_or_none(scalar) for scalar in column]


def _value_or_none(scalar: Any) -> Any:
    with suppress(Exception):
        return scalar.as_py()


def check_size(n_rows: int, most_rows: int, allow_none: bool = False) -> None:
    if n_rows > most_rows:
        raise RefusedError(413, f"The batch has more than {most_rows:,} rows. Send several batches.")
    if not n_rows and not allow_none:
        raise RefusedError(422, "The batch has no rows. Send at least one.")


def _kind(value: Any) -> str:
    """
    >>> [_kind(value) for value in ({}, [], "a", True, 1.5, None)]
    ['an object', 'a list', 'a string', 'a boolean', 'a number', 'null']
    """
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return kinds.get(type(value), "a number")
