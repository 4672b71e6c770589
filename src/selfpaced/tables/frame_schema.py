"""The schema of a frame in memory, so that it is read as the same rows in a file would be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from selfpaced.exceptions import TableError
from selfpaced.tables.as_trained import as_arrow
from selfpaced.tables.formats import import_arrow
from selfpaced.tables.kinds import kind_of
from selfpaced.tables.look import ColumnLook
from selfpaced.tables.opening_rows import categories_of
from selfpaced.tables.schema import Schema, are_strings, frozen


@dataclass(frozen=True)
class Frame:
    """A frame as a source of rows; `path` is what errors call it."""

    path: str
    schema: Any


def schema_of_frame(frame: Any) -> Schema | None:
    """The schema of a frame with strings, categories or dates; None if all columns are numbers.

    Strings become categories, and dates become seconds since 1970, weekday and hour. Categories that are numbers become
    numbers, as in files.
    """
    if all(column.is_number for _, column in kind_of(frame).columns(frame)):
        return None
    pa = import_arrow()
    names = kind_of(frame).names(frame)
    odd = [name for name in names if not isinstance(name, str)]
    if odd or len(set(names)) < len(names):
        raise TableError(f"A frame with strings or dates needs one name for each column, as a string; got {names}.")
    try:
        table = as_arrow(frame)
    except pa.ArrowException as error:
        raise TableError(f"A column of X has values of several types: {error}") from error
    fields = {field.name: field.type for field in table.schema}
    complete = [name for name in names if not table.column(name).null_count]
    strings = {}
    for name, kind in fields.items():
        if are_strings(kind.value_type if pa.types.is_dictionary(kind) else kind):
            look = ColumnLook(name)
            for chunk in table.column(name).chunks:
                look.add(chunk, Frame("X", table.schema))
            strings[name] = categories_of(look.result(), "Drop it before the fit: X.drop(columns=[{!r}]).")
    return frozen(fields, names, complete, strings)
