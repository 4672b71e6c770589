"""Streams and queries, whose rows can be read only once: they are written to temporary Parquet files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from hashlib import blake2b, file_digest
from itertools import chain
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from selfpaced.exceptions import TableError, ds, need, pa
from selfpaced.storage import TemporaryFolder, is_url, shown
from selfpaced.tables.files.file import FORMATS, index_columns, open_file, writer_for_rereading
from selfpaced.tables.files.reader import Reader, ReadPlan
from selfpaced.tables.memory import is_frame

GROUP_ROWS = 2**17


def spooled(name: str, schema: Any, batches: Iterable[Any], plan: ReadPlan) -> Reader:
    """A reader of rows that can be read only once.

    They are written to `plan.cache` or a temporary folder, and removed together with the reader. `name` is what
    messages call the source, `schema` that of all columns, and `batches` are record batches or tables.
    """
    if len(set(schema.names)) < len(schema.names):
        raise TableError(f"Two columns of {name} have the same name: {schema.names}. Give each column its own name.")
    wanted, indices = plan.needed(schema.names), index_columns(schema)
    needed = [column for column in wanted if column not in indices]
    stored = pa.schema([_storable(schema.field(column)) for column in needed])
    folder = TemporaryFolder(plan.cache)
    path = folder.path / "rows.parquet"
    tables = (batch if isinstance(batch, pa.Table) else pa.Table.from_batches([batch]) for batch in batches)
    n_bytes = 0
    try:
        with writer_for_rereading(path, stored) as writer:
            for group in _groups(table.select(needed).cast(stored) for table in tables):
                writer.write_table(group, row_group_size=GROUP_ROWS)
                n_bytes += group.nbytes
                plan.tell(n_bytes, None)
    except (pa.ArrowException, OSError) as error:
        raise TableError(f"The rows of {name} cannot be written to {folder.path.parent}: {error}") from error
    left_out = tuple(column for column in schema.names if column not in wanted)
    return Reader([open_file(name, {}, path, digest=_digest(path))], left_out=left_out, holds=(folder,))


def _groups(tables: Iterable[Any]) -> Iterator[Any]:
    """Tables of exactly `GROUP_ROWS` rows, except the last, so that the same rows give the same file."""
    waiting: list[Any] = []
    n_rows = 0
    for table in tables:
        waiting.append(table)
        n_rows += len(table)
        while n_rows >= GROUP_ROWS:
            whole = pa.concat_tables(waiting).combine_chunks()
            yield whole.slice(0, GROUP_ROWS)
            waiting, n_rows = [whole.slice(GROUP_ROWS)], n_rows - GROUP_ROWS
    if n_rows:
        yield pa.concat_tables(waiting).combine_chunks()


def _storable(field: Any) -> Any:
    """A field without metadata, of a type that Parquet files have."""
    kind = field.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type  # each batch may have its own dictionary
    if pa.types.is_string_view(kind) or pa.types.is_large_string(kind):
        kind = pa.string()
    return pa.field(field.name, kind)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, lambda: blake2b(digest_size=16)).hexdigest()


BATCH_ROWS = 2**16
Batches = tuple[Any, Iterable[Any]]  # the Arrow schema, and record batches or tables


def is_stream(source: Any, options: Mapping[str, Any]) -> bool:
    """Whether something gives rows once. Frames in memory do too, but they go to `fit`."""
    return not is_frame(source) and _batches_by(source) is not None


def stream_reader(source: Any, plan: ReadPlan) -> Reader:
    """Write the rows to a Parquet file, which is read every round."""
    batches_of = _batches_by(source)
    assert batches_of is not None
    name = f"the {type(source).__name__}"
    try:
        schema, batches = batches_of(source)
        return spooled(name, schema, batches, plan)
    except pa.ArrowException as error:
        raise TableError(f"{name} cannot be read as an Arrow stream: {error}") from error


def _batches_by(source: Any) -> Callable[[Any], Batches] | None:
    """The function that reads the rows of a source; None if the source is not a stream."""
    package = type(source).__module__.partition(".")[0]
    if package == "polars" and hasattr(source, "collect_schema") and hasattr(source, "lazy") and not is_frame(source):
        return _of_lazy_frame
    if package == "datasets" and hasattr(source, "with_format") and hasattr(source, "iter"):
        return _of_hugging_face
    if hasattr(source, "get_fragments"):
        return None if is_plain_dataset(source) else _of_dataset
    return _of_stream if hasattr(source, "__arrow_c_stream__") else None


def _of_stream(source: Any) -> Batches:
    reader = pa.RecordBatchReader.from_stream(source)
    return reader.schema, reader


def _of_lazy_frame(frame: Any) -> Batches:
    """polars computes the rows piece by piece, in their order."""
    if not hasattr(frame, "collect_batches"):
        raise TableError(
            "Reading a LazyFrame needs its method collect_batches, which this version of polars does not have. Install "
            "a newer version: pip install -U polars"
        )
    schema = frame.collect_schema().to_frame(eager=True).to_arrow().schema
    return schema, (batch.to_arrow() for batch in frame.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True))


def _of_hugging_face(source: Any) -> Batches:
    tables = source.with_format("arrow").iter(batch_size=BATCH_ROWS)
    first = next(tables, None)
    if first is None:
        raise TableError("The dataset has no rows.")
    return first.schema, chain([first], tables)


def _of_dataset(dataset: Any) -> Batches:
    """A pyarrow dataset that is filtered, in memory, made of text files, or has other types than its files."""
    reader = dataset.scanner(batch_size=BATCH_ROWS).to_reader()
    return reader.schema, reader


def is_plain_dataset(dataset: Any) -> bool:
    """Whether a pyarrow dataset holds all rows of its files unchanged, so that the files can be read every round."""
    try:
        fragments = list(dataset.get_fragments())
    except ValueError:  # pyarrow gives no fragments of a filtered dataset
        return False
    return all(
        isinstance(fragment, ds.FileFragment)
        and fragment.path.lower().endswith(tuple(FORMATS))
        and _is_whole(fragment)
        and _has_types_of(dataset.schema, fragment)
        for fragment in fragments
    )


def _is_whole(fragment: Any) -> bool:
    """Whether a fragment is a whole file, not some row groups of a Parquet file."""
    if not hasattr(fragment, "row_groups"):
        return True
    return bool(len(fragment.row_groups) == fragment.metadata.num_row_groups)


def _has_types_of(schema: Any, fragment: Any) -> bool:
    """Whether a file has the columns of the dataset, but for those that its folder adds."""
    added = set(ds.get_partition_keys(fragment.partition_expression))
    own = {field.name: field.type for field in fragment.physical_schema if field.name not in added}
    return bool(own == {field.name: field.type for field in schema if field.name not in added})


DUCKDB_ENDINGS = (".duckdb", ".ddb")
POSTGRES_SCHEMES = ("postgresql://", "postgres://")
_SELECT = re.compile(r"\s*(select|with)\s", re.IGNORECASE)
_TYPE_NAME = b"ADBC:postgresql:typname"  # how the driver marks a type that Arrow does not have


def is_query(source: Any, options: Mapping[str, Any]) -> bool:
    """Whether a source is a query: text with a connection. A query or a database alone is refused when it is opened."""
    alone = is_database(source) or (isinstance(source, str) and _SELECT.match(source) is not None)
    return options.get("connection") is not None or alone


def query_reader(source: Any, plan: ReadPlan) -> Reader:
    """Run a query once, and write its rows to Parquet files, which are read every round."""
    if plan.connection is None and is_database(source):
        raise ValueError(
            f"{shown(source)} is a database. Name the rows with a query: open_table('SELECT ...', connection=...) in "
            "Python, --query 'SELECT ...' on the command line."
        )
    if plan.connection is None:
        raise ValueError(
            f"{source!r} looks like a query, but connection= is missing: open_table('SELECT ...', connection=...)."
        )
    if not isinstance(source, str):
        raise TypeError(f"With connection=, the source must be a query as a string; got {type(source).__name__}.")
    with connected(plan.connection) as connection:
        try:
            with (_duckdb_rows if is_duckdb(connection) else _adbc_rows)(connection, source) as (schema, batches):
                return spooled("the query", schema, batches, plan)
        except Exception as error:
            raise explained(error, f"The query {source!r} failed") from error


def is_database(text: Any) -> bool:
    """Whether a text names a database: a PostgreSQL URL or a DuckDB file.

    >>> [is_database(text) for text in ("postgresql://localhost/shop", "shop.duckdb", "shop.parquet")]
    [True, True, False]
    """
    if not is_name(text):
        return False
    name = fspath(text).lower()
    return name.startswith(POSTGRES_SCHEMES) or (name.endswith(DUCKDB_ENDINGS) and not is_url(name))


@contextmanager
def connected(connection: Any, *, writing: bool = False) -> Iterator[Any]:
    """The connection that was given, or one to a database that was named, closed at the end."""
    if not is_name(connection):
        if not (is_duckdb(connection) or hasattr(connection, "adbc_get_info")):
            raise TypeError(
                "connection must be a connection of ADBC or DuckDB, or name a database; got "
                f"{type(connection).__name__}. For PostgreSQL, give the URL. For other databases, connect with an ADBC "
                "driver, such as adbc_driver_sqlite.dbapi.connect('shop.sqlite')."
            )
        yield connection
        return
    text = fspath(connection)
    if not is_database(text):
        raise TableError(
            f"connection={shown(text)!r} does not name a database. Give a URL such as 'postgresql://host/database', a "
            f"file that ends in {' or '.join(DUCKDB_ENDINGS)}, or an open connection of ADBC or DuckDB."
        )
    connect = _to_postgres if text.lower().startswith(POSTGRES_SCHEMES) else _to_duckdb
    with closing(connect(text, writing)) as opened:
        yield opened


def is_name(connection: Any) -> bool:
    return isinstance(connection, str | PathLike)


def is_duckdb(connection: Any) -> bool:
    return type(connection).__module__.partition(".")[0] in ("duckdb", "_duckdb")


def _to_postgres(url: str, writing: bool) -> Any:
    dbapi = need("adbc_driver_postgresql.dbapi", "sql", "PostgreSQL")
    try:
        return dbapi.connect(url)
    except dbapi.Error as error:
        raise TableError(f"{shown(url)} cannot be reached: {_one_line(error)}") from error


def _to_duckdb(path: str, writing: bool) -> Any:
    duckdb = need("duckdb", "sql", "Reading DuckDB files")
    if not writing and not Path(path).exists():
        raise TableError(f"{path} does not exist.")
    try:
        return duckdb.connect(path, read_only=not writing)
    except duckdb.Error as error:
        raise TableError(f"{path} cannot be opened as a DuckDB database: {_one_line(error)}") from error


@contextmanager
def _duckdb_rows(connection: Any, query: str) -> Iterator[Batches]:
    relation = connection.sql(query)
    if relation is None:
        raise TableError("The query does not return rows. Give a SELECT.")
    reader = pa.RecordBatchReader.from_stream(relation)
    yield reader.schema, reader


@contextmanager
def _adbc_rows(connection: Any, query: str) -> Iterator[Batches]:
    with connection.cursor() as cursor:
        cursor.execute(query)
        reader = cursor.fetch_record_batch()
        schema = pa.schema([_plain_field(field) for field in reader.schema])
        yield schema, (_plain_batch(batch, schema) for batch in reader)


def _plain_field(field: Any) -> Any:
    """Convert decimal numbers of any precision, which arrive as text, to floats."""
    if (field.metadata or {}).get(_TYPE_NAME) == b"numeric" or getattr(field.type, "type_name", None) == "numeric":
        return pa.field(field.name, pa.float64())
    return pa.field(field.name, getattr(field.type, "storage_type", field.type))


def _plain_batch(batch: Any, schema: Any) -> Any:
    arrays = [getattr(column, "storage", column) for column in batch.columns]
    cast = [array.cast(field.type) for array, field in zip(arrays, schema, strict=True)]
    return pa.RecordBatch.from_arrays(cast, schema=schema)


def _one_line(error: Any) -> str:
    return " ".join(str(error).split())


def explained(error: BaseException, what: str) -> BaseException:
    """An error of a driver as an error that says what failed. Errors of this package and of Python are not changed."""
    package = type(error).__module__.partition(".")[0]
    if package in ("builtins", "selfpaced"):
        return error
    return TableError(f"{what}: {_one_line(error)}")
