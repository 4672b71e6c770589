"""Files of rows that are read batch by batch: Parquet, Arrow IPC (Feather)."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from selfpaced.exceptions import TableError

SAMPLE_BYTES = 2**16  # of the beginning, the middle and the end of a file


def import_arrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError("Reading files needs pyarrow: pip install 'selfpaced[files]'") from error
    return pyarrow


@dataclass(frozen=True)
class Format:
    """How files of one format are read.

    Attributes
    ----------
    describe : from a path to (schema, number of rows, columns known to have no gaps).
    batches : from a path, columns and a number of rows to record batches of at most so many rows.
    """

    name: str
    describe: Callable[[Path], tuple[Any, int, frozenset[str]]]
    batches: Callable[[Path, Sequence[str], int], Iterator[Any]]


@dataclass(frozen=True)
class File:
    """A file as it was when it was opened.

    Attributes
    ----------
    path : what the user knows it by.
    data : where its rows are read from: the same, or the Parquet file that was made of a CSV file.
    schema : its columns with those that its folder's name adds, as in `year=2024/part.parquet`.
    added : the values of the latter.
    without_gaps : columns that are known to have a value in every row.
    """

    path: Path
    data: Path
    format: Format
    schema: Any
    n_rows: int
    added: Mapping[str, Any]
    without_gaps: frozenset[str]
    size: int
    changed_at: int

    def batches(self, columns: Sequence[str], batch_rows: int) -> Iterator[Any]:
        """The rows in order. An error names the file; so does one that has changed since it was opened."""
        pa = import_arrow()
        self._refuse_change()
        own = [name for name in columns if name not in self.added]
        n_read = 0
        with naming(self.data, self.format.name):
            for batch in self.format.batches(self.data, own, batch_rows):
                n_read += batch.num_rows
                arrays = [
                    pa.repeat(pa.scalar(self.added[name], self.schema.field(name).type), batch.num_rows)
                    if name in self.added
                    else batch.column(name).cast(self.schema.field(name).type)
                    for name in columns
                ]
                yield pa.RecordBatch.from_arrays(arrays, names=list(columns))
        if n_read != self.n_rows:
            raise TableError(f"{self.path} had {self.n_rows} rows when it was opened, but {n_read} came out of it.")

    def _refuse_change(self) -> None:
        try:
            now = self.data.stat()
        except OSError as error:
            raise TableError(f"{self.data} was there when the table was opened, and is gone now.") from error
        if (now.st_size, now.st_mtime_ns) != (self.size, self.changed_at):
            raise TableError(
                f"{self.data} has changed since the table was opened. Open the table again, when nobody writes to it."
            )


@dataclass(frozen=True)
class LoadedFile:
    """Rows in memory in the place of files."""

    path: Path
    rows: Any

    @property
    def data(self) -> Path:
        return self.path

    @property
    def schema(self) -> Any:
        return self.rows.schema

    @property
    def n_rows(self) -> int:
        return int(self.rows.num_rows)

    @property
    def without_gaps(self) -> frozenset[str]:
        return frozenset(name for name in self.rows.column_names if not self.rows.column(name).null_count)

    def batches(self, columns: Sequence[str], batch_rows: int) -> Iterator[Any]:
        yield from self.rows.select(list(columns)).to_batches(max_chunksize=batch_rows)


def open_file(path: Path, added: Mapping[str, Any], data: Path | None = None) -> File:
    pa = import_arrow()
    data = path if data is None else data
    format = format_of(data)
    with naming(data, format.name):
        status = data.stat()
        if status.st_size == 0:
            raise TableError(f"{data} is empty: 0 bytes. Remove it, or write it again.")
        schema, n_rows, without_gaps = format.describe(data)
        _refuse_names_that_come_twice(path, schema.names)
    fields = [without_views(field) for field in schema if field.name not in {*added, *_index_columns(schema)}]
    fields += [pa.field(name, pa.scalar(value).type) for name, value in added.items()]
    without = frozenset(name for name, value in added.items() if value is not None)
    return File(
        path,
        data,
        format,
        pa.schema(fields),
        n_rows,
        dict(added),
        without_gaps | without,
        status.st_size,
        status.st_mtime_ns,
    )


def _refuse_names_that_come_twice(path: Path, names: Sequence[str]) -> None:
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise TableError(f"{path} has more than one column {twice!r}. Give each a name of its own.")


def _index_columns(schema: Any) -> list[str]:
    """Columns that pandas wrote for an index, and would read as one: no features of anybody."""
    written_by_pandas = schema.pandas_metadata or {}
    return [name for name in written_by_pandas.get("index_columns", []) if isinstance(name, str)]


def without_views(field: Any) -> Any:
    """The same column; views of strings as strings, because Arrow can do little with views yet."""
    pa = import_arrow()
    return field.with_type(pa.string()) if pa.types.is_string_view(field.type) else field


def fingerprint(path: Path) -> dict[str, Any]:
    """What tells a file from one that took its place, even with the same size and time of change."""
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        digest = blake2b(repr((status.st_mtime_ns, status.st_ctime_ns, status.st_ino)).encode(), digest_size=16)
        for start in (0, (status.st_size - SAMPLE_BYTES) // 2, status.st_size - SAMPLE_BYTES):
            file.seek(max(start, 0))
            digest.update(file.read(SAMPLE_BYTES))
    return {"size": status.st_size, "digest": digest.hexdigest()}


@contextmanager
def naming(path: Path, format_name: str) -> Iterator[None]:
    """Errors of the reader, with the name of the file."""
    pa = import_arrow()
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise TableError(f"{path} cannot be read as {format_name}: {error}") from error


def format_of(path: Path) -> Format:
    format = FORMATS.get(path.suffix.lower())
    if format is None:
        raise TableError(
            f"{path} is of no kind that is read here; these are .csv, .tsv, .jsonl, {', '.join(sorted(FORMATS))}."
        )
    return format


def _describe_parquet(path: Path) -> tuple[Any, int, frozenset[str]]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        metadata = file.metadata
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        names = [metadata.schema.column(number).path for number in range(metadata.num_columns)]
        full = {
            name
            for position, name in enumerate(names)
            if all(
                (statistics := group.column(position).statistics) is not None and statistics.null_count == 0
                for group in groups
            )
        }
        return file.schema_arrow, metadata.num_rows, frozenset(full)


def _parquet_batches(path: Path, columns: Sequence[str], batch_rows: int) -> Iterator[Any]:
    import pyarrow.parquet as pq

    # Reading ahead within a file took three times the memory and was no faster on a disk.
    with pq.ParquetFile(path, pre_buffer=False) as file:
        if columns:
            yield from file.iter_batches(batch_size=batch_rows, columns=list(columns))
        else:
            yield from _rows_without_columns(file.metadata.num_rows, batch_rows)


def _rows_without_columns(n_rows: int, batch_rows: int) -> Iterator[Any]:
    """What is left of a file of which only the folder's name is wanted."""
    pa = import_arrow()
    for start in range(0, n_rows, batch_rows):
        length = min(batch_rows, n_rows - start)
        yield pa.RecordBatch.from_arrays([pa.nulls(length)], names=[""])


def _describe_feather(path: Path) -> tuple[Any, int, frozenset[str]]:
    pa = import_arrow()
    with pa.memory_map(str(path)) as source:
        file = pa.ipc.open_file(source)
        n_rows = sum(file.get_batch(number).num_rows for number in range(file.num_record_batches))
        return file.schema, n_rows, frozenset()


def _feather_batches(path: Path, columns: Sequence[str], batch_rows: int) -> Iterator[Any]:
    pa = import_arrow()
    with pa.memory_map(str(path)) as source:
        file = pa.ipc.open_file(source)
        for number in range(file.num_record_batches):
            batch = file.get_batch(number).select(list(columns)) if columns else file.get_batch(number)
            for start in range(0, batch.num_rows, batch_rows):
                yield batch.slice(start, batch_rows)


PARQUET = Format("Parquet", _describe_parquet, _parquet_batches)
FEATHER = Format("Arrow IPC", _describe_feather, _feather_batches)
FORMATS: dict[str, Format] = {
    ".parquet": PARQUET,
    ".pq": PARQUET,
    ".feather": FEATHER,
    ".arrow": FEATHER,
    ".ipc": FEATHER,
}
