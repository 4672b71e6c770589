"""Queries of databases."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import chain
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from selfpaced.exceptions import TableError, pa
from selfpaced.storage import is_url, shown
from selfpaced.tables.files.reader import Reader, ReadPlan
from selfpaced.tables.sources.streams import spooled

_SELECT = re.compile(r"\s*(select|with)\s", re.IGNORECASE)


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
    if not isinstance(source, str) or isinstance(source, PathLike):
        raise TypeError(f"With connection=, the source must be a query as a string; got {type(source).__name__}.")
    with connected(plan.connection) as connection:
        try:
            with driver_of(connection).rows(connection, source) as (schema, batches):
                return spooled("the query", schema, batches, plan)
        except Exception as error:
            raise explained(error, f"The query {source!r} failed") from error


BATCH_ROWS = 2**16
DUCKDB_ENDINGS = (".duckdb", ".ddb")
POSTGRES_SCHEMES = ("postgresql://", "postgres://")
_TYPE_NAME = b"ADBC:postgresql:typname"  # how the driver marks a type that Arrow does not have
Rows = tuple[Any, Iterable[Any]]  # the Arrow schema, and record batches
Consumer = Callable[[Rows], Any]


@dataclass(frozen=True)
class Driver:
    """How a kind of connection is used.

    Attributes
    ----------
    rows : Callable[[Any, str], Any]
        A context manager that takes a connection and a query, and gives the rows.
    write : Callable[[Any, str, str, Rows], None] | None
        Takes a connection, the name of a table, what to do if the table exists, and rows. Writes all rows or none. None
        if this kind of connection cannot write.
    """

    rows: Callable[[Any, str], Any]
    write: Callable[[Any, str, str, Rows], None] | None


def is_database(text: Any) -> bool:
    """Whether a text names a database: a PostgreSQL URL or a DuckDB file.

    >>> [is_database(text) for text in ("postgresql://localhost/shop", "shop.duckdb", "shop.parquet")]
    [True, True, False]
    """
    if not isinstance(text, str | PathLike):
        return False
    name = fspath(text).lower()
    return name.startswith(POSTGRES_SCHEMES) or (name.endswith(DUCKDB_ENDINGS) and not is_url(name))


@contextmanager
def connected(connection: Any, *, writing: bool = False) -> Iterator[Any]:
    """The connection that was given, or one to a database that was named, closed at the end."""
    if not isinstance(connection, str | PathLike):
        yield connection
        return
    text = fspath(connection)
    if not is_database(text):
        raise TableError(
            f"connection={shown(text)!r} does not name a database. Give a URL such as 'postgresql://host/database', a "
            f"file that ends in {' or '.join(DUCKDB_ENDINGS)}, or an open connection of ADBC, DB-API or DuckDB."
        )
    connect = _to_postgres if text.lower().startswith(POSTGRES_SCHEMES) else _to_duckdb
    with closing(connect(text, writing)) as opened:
        yield opened


def driver_of(connection: Any) -> Driver:
    package = type(connection).__module__.partition(".")[0]
    if package in ("duckdb", "_duckdb"):
        return DUCKDB
    if hasattr(connection, "adbc_get_info"):
        return ADBC
    if hasattr(connection, "cursor") and hasattr(connection, "commit"):
        return DB_API
    raise TypeError(
        "connection must be a connection of ADBC, DB-API or DuckDB, or name a database; got "
        f"{type(connection).__name__}. For an SQLAlchemy engine, give engine.raw_connection()."
    )


def _to_postgres(url: str, writing: bool) -> Any:
    try:
        from adbc_driver_postgresql import dbapi
    except ImportError as error:
        raise ImportError("PostgreSQL needs an ADBC driver: pip install 'selfpaced[sql]'") from error
    try:
        return dbapi.connect(url)
    except dbapi.Error as error:
        raise TableError(f"{shown(url)} cannot be reached: {_one_line(error)}") from error


def _to_duckdb(path: str, writing: bool) -> Any:
    try:
        import duckdb
    except ImportError as error:
        raise ImportError("DuckDB files need duckdb: pip install 'selfpaced[sql]'") from error
    if not writing and not Path(path).exists():
        raise TableError(f"{path} does not exist.")
    try:
        return duckdb.connect(path, read_only=not writing)
    except duckdb.Error as error:
        raise TableError(f"{path} cannot be opened as a DuckDB database: {_one_line(error)}") from error


@contextmanager
def _duckdb_rows(connection: Any, query: str) -> Iterator[Rows]:
    relation = connection.sql(query)
    if relation is None:
        raise TableError("The query does not return rows. Give a SELECT.")
    reader = pa.RecordBatchReader.from_stream(relation)
    yield reader.schema, reader


def _duckdb_write(connection: Any, table: str, if_exists: str, rows: Rows) -> None:
    selfpaced_scores = pa.RecordBatchReader.from_batches(*rows)
    name = _quoted(table)
    connection.begin()
    try:
        connection.register("selfpaced_scores", selfpaced_scores)
        if if_exists == "append" and _duckdb_has(connection, table):
            connection.execute(f"INSERT INTO {name} BY NAME SELECT * FROM selfpaced_scores")
        else:
            create = "CREATE OR REPLACE TABLE" if if_exists == "replace" else "CREATE TABLE"
            connection.execute(f"{create} {name} AS SELECT * FROM selfpaced_scores")
        connection.commit()
    except BaseException:
        connection.rollback()
        raise
    finally:
        connection.unregister("selfpaced_scores")


def _duckdb_has(connection: Any, table: str) -> bool:
    found = connection.execute("SELECT count(*) FROM duckdb_tables() WHERE table_name = ?", [table]).fetchone()
    return bool(found[0])


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@contextmanager
def _adbc_rows(connection: Any, query: str) -> Iterator[Rows]:
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


def _adbc_write(connection: Any, table: str, if_exists: str, rows: Rows) -> None:
    mode = {"fail": "create", "append": "create_append", "replace": "replace"}[if_exists]
    try:
        with connection.cursor() as cursor:
            cursor.adbc_ingest(table, pa.RecordBatchReader.from_batches(*rows), mode=mode)
        connection.commit()
    except BaseException:
        connection.rollback()
        raise


@contextmanager
def _db_api_rows(connection: Any, query: str) -> Iterator[Rows]:
    # A cursor with a name stays on the server. psycopg's other cursors load all rows at once.
    is_psycopg = type(connection).__module__.startswith("psycopg") and not getattr(connection, "autocommit", False)
    with closing(connection.cursor("selfpaced") if is_psycopg else connection.cursor()) as cursor:
        cursor.execute(query)
        first = cursor.fetchmany(BATCH_ROWS)  # a cursor on the server knows its columns from now on
        if cursor.description is None:
            raise TableError("The query does not return rows. Give a SELECT.")
        names = [column[0] for column in cursor.description]
        yield pa.schema([(name, pa.null()) for name in names]), _fetched(cursor, names, first)


def _fetched(cursor: Any, names: list[str], rows: list[Any]) -> Iterator[Any]:
    while rows:
        columns = zip(*rows, strict=True)
        arrays = [_inferred(name, values) for name, values in zip(names, columns, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, names=names)
        rows = cursor.fetchmany(BATCH_ROWS)


def _inferred(name: str, values: Any) -> Any:
    """An array of the type that the values have. Decimals are whole numbers if they can be, and floats otherwise."""
    try:
        array = pa.array(values)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise TableError(
            f"Column {name!r} of the query has values of several types, or of a type that Arrow does not have: "
            f"{error}. Cast the column in the query."
        ) from error
    if not pa.types.is_decimal(array.type):
        return array
    return array.cast(pa.int64() if array.type.scale <= 0 and array.type.precision <= 18 else pa.float64())


def _one_line(error: Any) -> str:
    return " ".join(str(error).split())


@dataclass(frozen=True)
class DatabaseTable:
    """A table of a database, to write scores to. All rows are written in one transaction, or none.

    Parameters
    ----------
    connection : str or connection
        A URL such as "postgresql://host/database", a DuckDB file, or an open connection of ADBC or DuckDB.
    name : str
        The name of the table.
    if_exists : {"fail", "append", "replace"}, default="fail"
        What to do if the table already exists.

    See Also
    --------
    selfpaced.open_table : Opens the rows of a query.

    Examples
    --------
    >>> from selfpaced.tables import DatabaseTable
    >>> str(DatabaseTable("shop.duckdb", "scores", if_exists="replace"))
    "table 'scores' of shop.duckdb"
    """

    connection: Any
    name: str
    if_exists: str = "fail"

    def __post_init__(self) -> None:
        if self.if_exists not in IF_EXISTS:
            raise ValueError(f"if_exists must be one of {', '.join(IF_EXISTS)}; got {self.if_exists!r}.")

    def __str__(self) -> str:
        return f"table {self.name!r} of {_shown(self.connection)}"

    def write(self, batches: Iterable[Any]) -> None:
        """Write record batches of one schema.

        Parameters
        ----------
        batches : iterable of pyarrow.RecordBatch
            The rows, at least one batch.

        Raises
        ------
        TypeError
            If scores cannot be written through the connection.
        TableError
            If the database refuses the rows.
        """
        with connected(self.connection, writing=True) as connection:
            write = driver_of(connection).write
            if write is None:
                raise TypeError(
                    "Scores can only be written through a connection of ADBC or DuckDB, or to a database that is "
                    f"named by its URL or file; got {type(connection).__name__}."
                )
            rest = iter(batches)
            first = next(rest)
            try:
                write(connection, self.name, self.if_exists, (first.schema, chain([first], rest)))
            except Exception as error:
                raise explained(error, f"The scores cannot be written to the {self}") from error


def _shown(connection: Any) -> str:
    return shown(fspath(connection)) if isinstance(connection, str | PathLike) else type(connection).__name__


IF_EXISTS = ("fail", "append", "replace")
DUCKDB = Driver(_duckdb_rows, _duckdb_write)
ADBC = Driver(_adbc_rows, _adbc_write)
DB_API = Driver(_db_api_rows, None)


def explained(error: BaseException, what: str) -> BaseException:
    """An error of a driver as an error that says what failed. Errors of this package and of Python are not changed."""
    package = type(error).__module__.partition(".")[0]
    if package in ("builtins", "selfpaced"):
        return error
    return TableError(f"{what}: {_one_line(error)}")
