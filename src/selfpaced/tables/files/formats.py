"""Formats of files: Parquet and Arrow IPC, and Parquet that is made to be read again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from selfpaced.exceptions import TableError, pa, pq
from selfpaced.storage import PAUSES, Place, RemoteFile, is_transient, patiently

Description = tuple[Any, int, frozenset[str]]
Batches = Callable[[Place, Sequence[str], int], Iterator[Any]]


@dataclass(frozen=True)
class Format:
    """How files of one format are read.

    Attributes
    ----------
    describe : Callable[[Place], Description]
        From a place to (schema, number of rows, columns known to have no missing values).
    local_batches : Callable[[Path, Sequence[str], int], Iterator[Any]]
        From a path, columns and a number of rows to record batches of at most so many rows.
    opened : Callable[[Any], Any]
        A context that gives the reader of an open file.
    n_parts, part_batches : Callable
        How many parts a reader has, and the batches of one of them. A part that the network interrupts is read again.
    """

    name: str
    describe: Callable[[Place], Description]
    local_batches: Callable[[Path, Sequence[str], int], Iterator[Any]]
    opened: Callable[[Any], Any]
    n_parts: Callable[[Any], int]
    part_batches: Callable[[Any, int, Sequence[str], int], Iterator[Any]]

    def batches(self, place: Place, columns: Sequence[str], batch_rows: int) -> Iterator[Any]:
        """The rows in order. After a failure of the network, reading continues where it stopped."""
        if isinstance(place, Path):
            yield from self.local_batches(place, columns, batch_rows)
            return
        part = n_done = n_failures = 0
        while True:
            try:
                with place.open() as file, self.opened(file) as reader:
                    while part < self.n_parts(reader):
                        for batch in _from(n_done, self.part_batches(reader, part, columns, batch_rows)):
                            n_done, n_failures = n_done + batch.num_rows, 0
                            yield batch
                        part, n_done = part + 1, 0
                return
            except OSError as error:
                if n_failures == len(PAUSES) or not is_transient(error):
                    raise
            time.sleep(PAUSES[n_failures])
            n_failures += 1


def _from(n_done: int, batches: Iterator[Any]) -> Iterator[Any]:
    """The batches without their first rows."""
    for batch in batches:
        rest = batch.slice(min(n_done, batch.num_rows))
        n_done -= batch.num_rows - rest.num_rows
        if rest.num_rows:
            yield rest


def format_of(place: Place) -> Format:
    format = FORMATS.get(place.suffix.lower())
    if format is None:
        raise TableError(
            f"{place} has an unsupported format. Supported are .csv, .tsv, .jsonl, {', '.join(sorted(FORMATS))}."
        )
    return format


def _describe_parquet(place: Place) -> Description:
    if isinstance(place, RemoteFile):
        return patiently(lambda: _described(pq.ParquetFile(place.open())))
    return _described(pq.ParquetFile(place))


def _described(opened: Any) -> Description:
    with opened as file:
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
    # Reading ahead within a file took three times the memory and was not faster on a disk.
    with pq.ParquetFile(path, pre_buffer=False) as file:
        if columns:
            yield from file.iter_batches(batch_size=batch_rows, columns=list(columns))
        else:
            yield from _rows_without_columns(file.metadata.num_rows, batch_rows)


def _opened_parquet(file: Any) -> Any:
    """Fetch all columns of a row group of a remote file in one request. Many small requests would take too long."""
    return pq.ParquetFile(file, pre_buffer=True)


def _row_group(file: Any, number: int, columns: Sequence[str], batch_rows: int) -> Iterator[Any]:
    if columns:
        yield from file.iter_batches(batch_size=batch_rows, row_groups=[number], columns=list(columns))
    else:
        yield from _rows_without_columns(file.metadata.row_group(number).num_rows, batch_rows)


def _rows_without_columns(n_rows: int, batch_rows: int) -> Iterator[Any]:
    """Batches without columns, for a file of which only the columns in the folder's name are needed."""
    for start in range(0, n_rows, batch_rows):
        length = min(batch_rows, n_rows - start)
        yield pa.RecordBatch.from_arrays([pa.nulls(length)], names=[""])


def _describe_feather(place: Place) -> Description:
    if isinstance(place, RemoteFile):
        return patiently(lambda: _described_feather(place))
    with pa.memory_map(str(place)) as source:
        file = pa.ipc.open_file(source)
        n_rows = sum(file.get_batch(number).num_rows for number in range(file.num_record_batches))
        return file.schema, n_rows, frozenset()


def _described_feather(place: RemoteFile) -> Description:
    """Count rows by the descriptions of the batches, without reading the rows."""
    from pyarrow import dataset

    fragment = dataset.IpcFileFormat().make_fragment(place.path, filesystem=place.filesystem)
    return fragment.physical_schema, fragment.count_rows(), frozenset()


def _feather_batches(path: Path, columns: Sequence[str], batch_rows: int) -> Iterator[Any]:
    with pa.memory_map(str(path)) as source:
        file = pa.ipc.open_file(source)
        for number in range(file.num_record_batches):
            yield from _record_batch(file, number, columns, batch_rows)


@contextmanager
def _opened_feather(file: Any) -> Iterator[Any]:
    yield pa.ipc.open_file(file)


def _record_batch(file: Any, number: int, columns: Sequence[str], batch_rows: int) -> Iterator[Any]:
    batch = file.get_batch(number).select(list(columns)) if columns else file.get_batch(number)
    for start in range(0, batch.num_rows, batch_rows):
        yield batch.slice(start, batch_rows)


PARQUET = Format(
    "Parquet",
    _describe_parquet,
    _parquet_batches,
    _opened_parquet,
    lambda file: file.metadata.num_row_groups,
    _row_group,
)
FEATHER = Format(
    "Arrow IPC",
    _describe_feather,
    _feather_batches,
    _opened_feather,
    lambda file: file.num_record_batches,
    _record_batch,
)
FORMATS: dict[str, Format] = {
    ".parquet": PARQUET,
    ".pq": PARQUET,
    ".feather": FEATHER,
    ".arrow": FEATHER,
    ".ipc": FEATHER,
}


def writer_for_rereading(path: Path, schema: Any) -> Any:
    """A writer of files that are read twice as fast as pyarrow's default, are smaller, and are written in a fifth of
    the time.

    Measured on 500,000 x 30 float32 values and on the Credit Fraud table. Dictionaries of floating-point numbers, which
    pyarrow tries first, cost most of the time. LZ4 compresses the bytes of numbers as well as zstd once they are sorted
    by their place in the number.
    """
    floats = [field.name for field in schema if pa.types.is_float32(field.type) or pa.types.is_float64(field.type)]
    others = [field.name for field in schema if field.name not in set(floats)]
    return pq.ParquetWriter(path, schema, compression="lz4", use_dictionary=others, use_byte_stream_split=floats)
