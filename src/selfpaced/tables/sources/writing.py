"""Writing rows to a file, here or behind a URL, or to a table of a database."""

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any

from selfpaced.exceptions import TableError, arrow_csv, pa, pq
from selfpaced.storage import AnyPath, Place, RemoteFile, located, whole_file
from selfpaced.tables.sources.streams import connected, explained, is_duckdb
from selfpaced.tables.table import DatabaseTable


def write_to_database(table: DatabaseTable, batches: Iterable[Any]) -> None:
    """Write record batches in one transaction."""
    with connected(table.connection, writing=True) as connection:
        rest = iter(batches)
        first = next(rest)
        rows = pa.RecordBatchReader.from_batches(first.schema, chain([first], rest))
        if is_duckdb(connection):
            connection.begin()
        try:
            if is_duckdb(connection):
                _write_to_duckdb(connection, table.name, table.if_exists, rows)
            else:
                mode = {"fail": "create", "append": "create_append"}.get(table.if_exists, "replace")
                with connection.cursor() as cursor:
                    cursor.adbc_ingest(table.name, rows, mode=mode)
            connection.commit()
        except BaseException as error:
            connection.rollback()
            raise explained(error, f"The scores cannot be written to the {table}") from error


def _write_to_duckdb(connection: Any, table: str, if_exists: str, rows: Any) -> None:
    name = '"' + table.replace('"', '""') + '"'
    known = "SELECT count(*) FROM duckdb_tables() WHERE table_name = ?"
    connection.register("selfpaced_scores", rows)
    try:
        if if_exists == "append" and connection.execute(known, [table]).fetchone()[0]:
            connection.execute(f"INSERT INTO {name} BY NAME SELECT * FROM selfpaced_scores")
        else:
            create = "CREATE OR REPLACE TABLE" if if_exists == "replace" else "CREATE TABLE"
            connection.execute(f"{create} {name} AS SELECT * FROM selfpaced_scores")
    finally:
        connection.unregister("selfpaced_scores")


Output = AnyPath | DatabaseTable


def write_batches(batches: Iterable[Any], output: Output) -> Place | DatabaseTable:
    """Write record batches to a Parquet or CSV file, by its ending, or to a database. All rows are written, or none."""
    if isinstance(output, DatabaseTable):
        write_to_database(output, batches)
        return output
    path = located(output)
    open_writer = WRITERS.get(path.suffix.lower())
    if open_writer is None:
        raise TableError(f"{path} has an unsupported ending. Name a file that ends in {', '.join(sorted(WRITERS))}.")
    with whole_file(path, TableError) as temporary, ExitStack() as closing:
        writer = None
        for batch in batches:
            if writer is None:
                writer = closing.enter_context(open_writer(temporary, batch.schema))
            writer.write_batch(batch)
    return path


def refuse_own_source(output: Output, sources: Iterable[Any]) -> None:
    """Refuse to overwrite a file of the rows by what is made of them."""
    if isinstance(output, DatabaseTable):
        return
    place = located(output)
    if _full_name(place) in {_full_name(path) for path in sources if isinstance(path, Path | RemoteFile)}:
        raise TableError(f"{place} is one of the files that are read. Write the output to another file.")


def _full_name(place: Place) -> str:
    return str(place.resolve()) if isinstance(place, Path) else str(place)


def refuse_taken(keep: Iterable[str], scores: Iterable[str]) -> None:
    taken = sorted(set(keep) & set(scores))
    if taken:
        raise TableError(
            f"The column {taken[0]!r} cannot be kept: the output already has a column of this name for the scores."
        )


WRITERS: dict[str, Callable[[Path, Any], Any]] = {
    ".parquet": lambda path, schema: pq.ParquetWriter(path, schema),
    ".pq": lambda path, schema: pq.ParquetWriter(path, schema),
    ".csv": lambda path, schema: arrow_csv.CSVWriter(str(path), schema),
}


def batch_of(columns: dict[str, Any]) -> Any:
    return pa.RecordBatch.from_arrays([pa.array(values) for values in columns.values()], names=list(columns))
