"""Streams and queries, whose rows can be read only once: they are written to temporary Parquet files."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from hashlib import blake2b, file_digest
from itertools import chain
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from selfpaced.exceptions import TableError, ds, need, pa, pc
from selfpaced.storage import TemporaryFolder, is_url, shown
from selfpaced.tables.files.file import FORMATS, Reader, ReadPlan, index_columns, open_file, writer_for_rereading
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
    with path.open("rb") as file:
        digest = file_digest(file, lambda: blake2b(digest_size=16)).hexdigest()
    return Reader([open_file(name, {}, path, digest=digest)], left_out=left_out, holds=(folder,))


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
        # Filtered, in memory, made of text files, or with other types than its files have.
        return (
            None
            if is_plain_dataset(source)
            else lambda dataset: _of_stream(dataset.scanner(batch_size=BATCH_ROWS).to_reader())
        )
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


def is_plain_dataset(dataset: Any) -> bool:
    """Whether a pyarrow dataset holds all rows of its files unchanged, so that the files can be read every round."""
    try:
        fragments = list(dataset.get_fragments())
    except ValueError:  # pyarrow gives no fragments of a filtered dataset
        return False
    return all(_is_plain_file(fragment, dataset.schema) for fragment in fragments)


def _is_plain_file(fragment: Any, schema: Any) -> bool:
    """Whether a fragment is a whole file with the columns of its dataset, but for those that its folder adds."""
    if not isinstance(fragment, ds.FileFragment) or not fragment.path.lower().endswith(tuple(FORMATS)):
        return False
    if hasattr(fragment, "row_groups") and len(fragment.row_groups) < fragment.metadata.num_row_groups:
        return False
    added = set(ds.get_partition_keys(fragment.partition_expression))
    own = {field.name: field.type for field in fragment.physical_schema if field.name not in added}
    return bool(own == {field.name: field.type for field in schema if field.name not in added})


DUCKDB_ENDINGS = (".duckdb", ".ddb")
POSTGRES_SCHEMES = ("postgresql://", "postgres://")
_SELECT = re.compile(r"\s*(select|with)\s", re.IGNORECASE)
_TYPE_NAME = b"POSTGRESQL:type"  # how the driver names the type of a column of PostgreSQL
# Types that no Arrow type stands for, with another form of them. The driver reads money as cents, and a large oid as a
# negative number.
_CONVERTED = {
    **{"money": "{}::numeric", "oid": "{}::bigint"},
    **dict.fromkeys(("interval", "month_day_nano_interval"), "extract(epoch FROM {})"),
}
_FIRST_DAY = -2_440_588  # of PostgreSQL, in 4714 BC. The driver reads infinite dates as earlier ones.


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
            with (_duckdb_rows if is_duckdb(connection) else _adbc_rows)(connection, source) as reader:
                return spooled("the query", *_plain(reader, plan), plan)
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
def _duckdb_rows(connection: Any, query: str) -> Iterator[Any]:
    relation = connection.sql(query)
    if relation is None:
        raise TableError("The query does not return rows. Give a SELECT.")
    # Closed also after an error: DuckDB would wait for rows that nobody reads before it opens the file again.
    with pa.RecordBatchReader.from_stream(relation) as reader:
        yield reader


@contextmanager
def _adbc_rows(connection: Any, query: str) -> Iterator[Any]:
    is_postgres = connection.adbc_get_info().get("vendor_name") == "PostgreSQL"  # not while rows are read
    with connection.cursor() as cursor:
        cursor.execute(query)
        reader = cursor.fetch_record_batch()
        if is_postgres and any(_TYPE_NAME not in (field.metadata or {}) for field in reader.schema):
            raise TableError(
                "This version of the PostgreSQL driver does not say which columns are money, which it reads as cents. "
                "Install a newer one: pip install -U 'adbc-driver-postgresql>=1.13'"
            )
        yield reader


def _plain(reader: Any, plan: ReadPlan) -> Batches:
    """The rows of a query, with types that files have. Columns that are not needed stay as they are."""
    needed = plan.needed(reader.schema.names)
    types = [_readable_type(field) if field.name in needed else field.type for field in reader.schema]
    schema = pa.schema(list(zip(reader.schema.names, types, strict=True)))
    return schema, (_checked(_converted(batch, schema), needed) for batch in reader)


def _readable_type(field: Any) -> Any:
    """The Arrow type that a column is read as. A type whose values would be other ones in Arrow is refused."""
    kind, extension = field.type, getattr(field.type, "extension_name", "")
    of_postgres = (field.metadata or {}).get(_TYPE_NAME, b"").decode()
    name = of_postgres or getattr(kind, "type_name", str(kind))
    if name == "numeric":
        return pa.float64()  # decimal numbers of any precision arrive as text
    is_nested = of_postgres and pa.types.is_nested(kind)  # the driver makes one list of an array of arrays
    if extension == "arrow.opaque" or name in _CONVERTED or is_nested or pa.types.is_interval(kind):
        form = _CONVERTED.get(name, "{}::text").format(field.name)
        raise TableError(
            f"Column {field.name!r} of the query is {name}, which cannot be read as it is. Convert it in the query, as "
            f"in {form} AS {field.name}, or leave it out."
        )
    return pa.string() if extension == "arrow.uuid" else getattr(kind, "storage_type", kind)


def _converted(batch: Any, schema: Any) -> Any:
    def converted(column: Any, field: Any) -> Any:
        if column.type == field.type:
            return column
        if getattr(column.type, "extension_name", "") == "arrow.uuid":
            return pa.array([None if one is None else str(one) for one in column.to_pylist()], field.type)
        return getattr(column, "storage", column).cast(field.type)

    arrays = [converted(column, field) for column, field in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _checked(batch: Any, names: Iterable[str]) -> Any:
    """The batch itself. Dates and times that are infinite are refused: Arrow has none, and reads them as some date."""
    for name in names:
        column = batch.column(name)
        kind = column.type
        if pa.types.is_date32(kind):
            first, last, numbers = _FIRST_DAY, 2**31 - 1, column.cast(pa.int32())
        elif pa.types.is_timestamp(kind):
            first = _FIRST_DAY * 86_400 * 10**6 if kind.unit == "us" else 2 - 2**63
            last, numbers = 2**63 - 1, column.cast(pa.int64())
        else:
            continue
        ends = pc.min_max(numbers).as_py()
        if ends["min"] is not None and (ends["min"] < first or ends["max"] == last):
            raise TableError(
                f"Column {name!r} of the query has a date or time that is infinite. Make it a missing value in the "
                f"query, as in CASE WHEN isfinite({name}) THEN {name} END AS {name}."
            )
    return batch


def _one_line(error: Any) -> str:
    return " ".join(str(error).split())


def explained(error: BaseException, what: str) -> BaseException:
    """An error of a driver as an error that says what failed. Errors of this package and of Python are not changed."""
    package = type(error).__module__.partition(".")[0]
    if package in ("builtins", "selfpaced"):
        return error
    return TableError(f"{what}: {_one_line(error)}")
