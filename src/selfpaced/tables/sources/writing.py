"""Writing rows to a file, here or behind a URL, or to a table of a database."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from selfpaced.exceptions import TableError, pa, pq
from selfpaced.storage import AnyPath, Place, RemoteFile, located, whole_file
from selfpaced.tables.sources.databases import DatabaseTable

Output = AnyPath | DatabaseTable


def write_batches(batches: Iterable[Any], output: Output) -> Place | DatabaseTable:
    """Write record batches to a Parquet or CSV file, by its ending, or to a database. All rows are written, or none."""
    if isinstance(output, DatabaseTable):
        output.write(batches)
        return output
    path = located(output)
    open_writer = WRITERS.get(path.suffix.lower())
    if open_writer is None:
        raise TableError(f"{path} has an unsupported ending. Name a file that ends in {', '.join(sorted(WRITERS))}.")
    with whole_file(path, TableError) as temporary:
        _write(batches, temporary, open_writer)
    return path


def refuse_own_source(output: Output, sources: Iterable[Any]) -> None:
    """Refuse to overwrite a file of the rows by their scores."""
    if isinstance(output, DatabaseTable):
        return
    place = located(output)
    if _full_name(place) in {_full_name(path) for path in sources if isinstance(path, Path | RemoteFile)}:
        raise TableError(f"{place} is one of the files that are scored. Write the scores to another file.")


def _full_name(place: Place) -> str:
    return str(place.resolve()) if isinstance(place, Path) else str(place)


def refuse_taken(keep: Iterable[str], scores: Iterable[str]) -> None:
    taken = sorted(set(keep) & set(scores))
    if taken:
        raise TableError(
            f"The column {taken[0]!r} cannot be kept: the output already has a column of this name for the scores."
        )


def _write(batches: Iterable[Any], path: Path, open_writer: Any) -> None:
    writer = None
    try:
        for batch in batches:
            writer = open_writer(path, batch.schema) if writer is None else writer
            writer.write_batch(batch)
    finally:
        if writer is not None:
            writer.close()


def _parquet_writer(path: Path, schema: Any) -> Any:
    return pq.ParquetWriter(path, schema)


def _csv_writer(path: Path, schema: Any) -> Any:
    import pyarrow.csv

    return pyarrow.csv.CSVWriter(str(path), schema)


WRITERS = {".parquet": _parquet_writer, ".pq": _parquet_writer, ".csv": _csv_writer}


def batch_of(columns: dict[str, Any]) -> Any:
    """A record batch from named arrays."""
    return pa.RecordBatch.from_arrays([pa.array(values) for values in columns.values()], names=list(columns))
