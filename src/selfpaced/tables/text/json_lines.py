"""A file of JSON lines, one object per row, read piece by piece."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from selfpaced.exceptions import TableError, arrow_json, pa
from selfpaced.tables.files.file import naming
from selfpaced.tables.schema import merged_types
from selfpaced.tables.text.csv import COMPRESSIONS, Limits, opened
from selfpaced.tables.text.inference import Form, inferred_forms, narrowed
from selfpaced.tables.times import iso_dates

JSON_ENDINGS = tuple(kind + compression for kind in (".jsonl", ".ndjson") for compression in COMPRESSIONS)


@dataclass(frozen=True)
class JsonFile:
    """A file of JSON lines."""

    path: Path
    # The type of each column. Every name in any row is a column. Dates are strings here, as they are in JSON.
    types: Mapping[str, Any]
    limits: Limits

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.types)

    def forms(self, given: Mapping[str, Form], at: Callable[[int], None]) -> dict[str, Form]:
        """The form of each column, given or known since the file was opened. Strings that are all dates are dates."""
        dates = [form for form in inferred_forms() if pa.types.is_timestamp(form.type)]
        fitting = {name: dates for name, kind in self.types.items() if kind == pa.string() and name not in given}
        for piece, position in _pieces(self.path, self.limits) if fitting else ():
            for batch in self._read(piece, {}).to_batches():
                fitting = {name: forms for name, forms in narrowed(fitting, batch).items() if forms}
            at(position)
            if not fitting:
                break
        found = {name: forms[0] for name, forms in fitting.items()}
        return {name: Form(kind) for name, kind in self.types.items()} | found | dict(given)

    def blocks(self, forms: Mapping[str, Form], at: Callable[[int], None]) -> Iterator[Any]:
        """The rows in record batches, values converted to the types of their forms."""
        schema = pa.schema([(name, forms[name].type) for name in self.names])
        found = {name for name in self.names if forms[name].pattern is not None}
        given = {name: forms[name].type for name in self.names if name not in found}
        for piece, position in _pieces(self.path, self.limits):
            rows = self._read(piece, given)
            for position_of, name in enumerate(self.names):
                if forms[name].day_first:
                    rows = rows.set_column(position_of, name, iso_dates(rows.column(name)))
            yield from rows.cast(schema).to_batches()
            at(position)

    def _read(self, piece: bytes, given: Mapping[str, Any]) -> Any:
        schema = pa.schema([(name, given.get(name, kind)) for name, kind in self.types.items()])
        return _parsed(self.path, piece, schema).select(list(self.names))


def open_json(path: Path, limits: Limits) -> JsonFile:
    """Look at all rows: any of them may have a name or a kind of value that none before it had."""
    types: dict[str, Any] = {}
    with naming(path, "JSON lines"):
        for piece, _ in _pieces(path, limits):
            for field in _parsed(path, piece, None).schema:
                types[field.name] = _common(path, field, types.get(field.name))
    if not types:
        raise TableError(f"{path} has no rows. Write it again; if it is one of several files, remove it.")
    return JsonFile(path, types, limits)


def _common(path: Path, field: Any, known: Any) -> Any:
    """The type of a name after one more piece of the file. Arrow may read dates in one piece and strings in another."""
    kind = pa.string() if pa.types.is_timestamp(field.type) else field.type
    try:
        return kind if known is None else merged_types(known, kind)
    except pa.ArrowException as error:
        raise TableError(
            f"{field.name!r} is {known} in some rows of {path} and {kind} in others. Write all values with one type."
        ) from error


def _parsed(path: Path, piece: bytes, schema: Any) -> Any:
    read = arrow_json.ReadOptions(block_size=max(len(piece), 1), use_threads=False)
    parse = arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore" if schema else "infer")
    try:
        return arrow_json.read_json(io.BytesIO(piece), read, parse)
    except pa.ArrowException as error:
        raise TableError(f"{path} is not a file of JSON lines with one object in each line: {error}") from error


def _pieces(path: Path, limits: Limits) -> Iterator[tuple[bytes, int]]:
    """Whole lines together, and how much of the file has been read."""
    rest = b""
    with opened(path) as (raw, stream):
        while block := stream.read(limits.piece_bytes):
            lines, newline, rest = (rest + block).rpartition(b"\n")
            if lines.strip():
                yield lines + newline, raw.tell()
        if rest.strip():
            yield rest + b"\n", raw.tell()
