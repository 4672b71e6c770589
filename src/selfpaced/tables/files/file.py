"""Files that are read batch by batch. A file that changes after it was opened is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import TableError, import_arrow
from selfpaced.storage import Place, RemoteFile, fingerprint
from selfpaced.tables.files.formats import Format, format_of

ROWS_AT_ONCE = 2**16


@dataclass(frozen=True)
class File:
    """A file as it was when it was opened.

    Attributes
    ----------
    path : Any
        The name that messages use: a path, a URL, or the name of a query or a stream.
    data : Place
        Where the rows are read from: the same place, or the Parquet file that was made of it.
    schema : Any
        The columns, including those that the name of the folder adds, as in `year=2024/part.parquet`.
    added : Mapping[str, Any]
        The values of the columns that the name of the folder adds.
    without_missing : frozenset[str]
        Columns that are known to have a value in every row.
    state : tuple[str, ...]
        Size and time of change, or what else differs after a change of the file.
    digest : Any, default=None
        A hash of the content, for rows whose place does not identify them.
    kept : NDArray[np.bool_] | None, default=None
        Which rows count, if some have been deleted.
    """

    path: Any
    data: Place
    format: Format
    schema: Any
    n_stored: int
    added: Mapping[str, Any]
    without_missing: frozenset[str]
    state: tuple[str, ...]
    digest: Any = None
    kept: NDArray[np.bool_] | None = None

    @property
    def n_rows(self) -> int:
        return self.n_stored if self.kept is None else int(self.kept.sum())

    def batches(self, columns: Sequence[str], batch_rows: int) -> Iterator[Any]:
        """The rows in order. Errors name the file. A file that has changed since it was opened is refused."""
        pa = import_arrow()
        if isinstance(self.data, Path):  # remote files are compared each time that they are opened
            self._refuse_change()
        own = [name for name in columns if name not in self.added]
        n_read = 0
        with naming(self.data, self.format.name, self._refuse_change):
            for batch in self.format.batches(self.data, own, batch_rows):
                arrays = [
                    pa.repeat(pa.scalar(self.added[name], self.schema.field(name).type), batch.num_rows)
                    if name in self.added
                    else batch.column(name).cast(self.schema.field(name).type)
                    for name in columns
                ]
                yield self._without_deleted(pa.RecordBatch.from_arrays(arrays, names=list(columns)), n_read)
                n_read += batch.num_rows
        if n_read != self.n_stored:
            raise TableError(f"{self.path} had {self.n_stored} rows when it was opened, but {n_read} rows were read.")
        if isinstance(self.data, RemoteFile):  # its parts were fetched one by one
            self._refuse_change()

    def identity(self) -> tuple[str, Any]:
        """What identifies this file. For a text file it is about the file itself, not about its Parquet copy."""
        return str(self.path), fingerprint(self.path) if self.digest is None else self.digest

    def _without_deleted(self, batch: Any, start: int) -> Any:
        if self.kept is None:
            return batch
        return batch.filter(import_arrow().array(self.kept[start : start + batch.num_rows]))

    def _refuse_change(self) -> None:
        try:
            if isinstance(self.data, RemoteFile):
                self.data.refuse_change()
                return
            now = _local_state(self.data)
        except FileNotFoundError as error:
            raise TableError(f"{self.data} existed when the table was opened, but does not exist any more.") from error
        except OSError as error:
            raise TableError(f"{self.data} cannot be read any more: {error}") from error
        if now != self.state:
            raise TableError(
                f"{self.data} has changed since the table was opened. Open the table again when no other program "
                "writes to it."
            )


@dataclass(frozen=True)
class LoadedFile:
    """Rows in memory in the place of files."""

    path: Any
    rows: Any

    @property
    def data(self) -> Any:
        return self.path

    @property
    def schema(self) -> Any:
        return self.rows.schema

    @property
    def n_rows(self) -> int:
        return int(self.rows.num_rows)

    @property
    def without_missing(self) -> frozenset[str]:
        return frozenset(name for name in self.rows.column_names if not self.rows.column(name).null_count)

    def batches(self, columns: Sequence[str], batch_rows: int) -> Iterator[Any]:
        yield from self.rows.select(list(columns)).to_batches(max_chunksize=batch_rows)

    def drain(self) -> Iterator[Any]:
        """The rows batch by batch. Each batch leaves the memory when the next one is asked for; then no row is left."""
        batches = self.rows.to_batches()[::-1]
        object.__setattr__(self, "rows", self.rows.schema.empty_table())
        while batches:
            yield batches.pop()

    def identity(self) -> tuple[str, Any]:
        """Rows in memory are identified by the reader that they come from."""
        raise AssertionError


def open_file(path: Any, added: Mapping[str, Any], data: Place | None = None, *, digest: Any = None) -> File:
    """Read the description of a file. `data` is the Parquet file that was made of it, if one was."""
    pa = import_arrow()
    data = path if data is None else data
    assert data is not None
    format = format_of(data)
    with naming(data, format.name):
        data, state = _pinned(data)
        if state[0] == "0":
            raise TableError(f"{data} is empty: 0 bytes. Remove it, or write it again.")
        schema, n_rows, without_missing = format.describe(data)
        _refuse_names_that_come_twice(path, schema.names)
        for name in [name for name in schema.names if name in added]:
            _refuse_other_values(path, name, added[name], format.batches(data, [name], ROWS_AT_ONCE))
    fields = [without_views(field) for field in schema if field.name not in {*added, *index_columns(schema)}]
    fields += [pa.field(name, pa.scalar(value).type) for name, value in added.items()]
    without = frozenset(name for name, value in added.items() if value is not None)
    known = without_missing - set(added) | without
    return File(path, data, format, pa.schema(fields), n_rows, dict(added), known, state, digest)


def _refuse_other_values(path: Any, name: str, value: Any, batches: Iterator[Any]) -> None:
    """The name of a folder replaces a column of its files. Refuse a file whose column has another value."""
    pa = import_arrow()
    for batch in batches:
        column = batch.column(name)
        column = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
        expected = _read_as(value, column.type)
        other = next((one for one in column.unique() if expected is None or not one.equals(expected)), None)
        if other is not None:
            raise TableError(
                f"Column {name!r} of {path} has the value {other.as_py()!r}, but its folder says {value!r}. "
                "Remove the column from the file, or rename the folder."
            )


def _read_as(value: Any, type: Any) -> Any:
    """The value in a folder's name as one of a column; None if it cannot be one."""
    pa = import_arrow()
    try:
        return pa.scalar(value).cast(type)
    except (pa.ArrowException, NotImplementedError):
        return None


def _pinned(place: Place) -> tuple[Place, tuple[str, ...]]:
    """A place that refuses a file that has changed, and the state of the file now."""
    if isinstance(place, RemoteFile):
        pinned = place.pinned()
        assert pinned.expected is not None
        return pinned, pinned.expected
    return place, _local_state(place)


def _local_state(path: Path) -> tuple[str, ...]:
    status = path.stat()
    return str(status.st_size), str(status.st_mtime_ns)


def _refuse_names_that_come_twice(path: Any, names: Sequence[str]) -> None:
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise TableError(f"{path} has more than one column {twice!r}. Give each column its own name.")


def index_columns(schema: Any) -> list[str]:
    """Columns that pandas wrote for the index of a frame. They are not features."""
    written_by_pandas = schema.pandas_metadata or {}
    return [name for name in written_by_pandas.get("index_columns", []) if isinstance(name, str)]


def without_views(field: Any) -> Any:
    """The same field, with string views replaced by strings, because Arrow has few functions for views yet."""
    pa = import_arrow()
    return field.with_type(pa.string()) if pa.types.is_string_view(field.type) else field


def with_deleted(file: File, kept: NDArray[np.bool_]) -> File:
    """The same file without the rows where `kept` is false."""
    if kept.size > file.n_stored:
        raise TableError(f"{file.path} has {file.n_stored} rows, but its table marks {kept.size} as deleted or kept.")
    rest = np.ones(file.n_stored - kept.size, dtype=bool)
    return replace(file, kept=np.concatenate([kept, rest]))


@contextmanager
def naming(path: Any, format_name: str, first: Any = None) -> Iterator[None]:
    """Add the name of the file to errors of the reader. `first` is called before, and may raise a better error."""
    pa = import_arrow()
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if first is not None:
            first()
        raise TableError(f"{path} cannot be read as {format_name}: {error}") from error
