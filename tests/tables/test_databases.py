"""Queries of real databases: DuckDB in this process, and a PostgreSQL server on this machine."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import duckdb
import pyarrow as pa
import pytest

from selfpaced.cli import main
from selfpaced.exceptions import TableError
from selfpaced.tables import DatabaseTable
from selfpaced.tables.sources import open_table
from tests.contracts.table_exam import COLUMNS, N_ROWS, ROWS, Opened, TableExam
from tests.servers import PostgresServer
from tests.tables.three_trees import fitted, members_of

ARROW = pa.Table.from_pandas(ROWS, preserve_index=False)
IN_ORDER = "SELECT * FROM shop ORDER BY position"
NO_FEATURES = {**COLUMNS, "exclude": [*COLUMNS["exclude"], "position"]}


@pytest.fixture(scope="module")
def postgres():
    server = PostgresServer()
    rows = ARROW.append_column("position", pa.array(range(N_ROWS)))
    with server.connect() as connection:
        with connection.cursor() as cursor:
            cursor.adbc_ingest("shop", rows)
        connection.commit()
    yield server
    server.stop()


@pytest.fixture
def shop(tmp_path):
    """A file of DuckDB."""
    with duckdb.connect(tmp_path / "shop.duckdb") as connection:
        connection.register("rows", ARROW.append_column("position", pa.array(range(N_ROWS))))
        connection.sql("CREATE TABLE shop AS SELECT * FROM rows")
    return tmp_path / "shop.duckdb"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("training") / "rows.parquet"
    ROWS.to_parquet(path, index=False)
    return fitted(open_table(path, **COLUMNS))


def rows_of(postgres, query):
    with postgres.connect() as connection, connection.cursor() as cursor:
        cursor.execute(query)
        return cursor.fetchall()


class TestQueriesOfPostgres(TableExam):
    @pytest.fixture
    def opened(self, postgres):
        options = {**COLUMNS, "connection": postgres.url}
        query = 'SELECT a, b, label, kind, weight, tx, "when" FROM shop ORDER BY position'
        return Opened(query, "a query", options, is_written=True)


def test_members_are_those_of_the_same_rows_in_memory(postgres, model):
    table = open_table(IN_ORDER, connection=postgres.url, **NO_FEATURES)
    again = fitted(table)
    assert members_of(again) == members_of(model)


@pytest.mark.parametrize("driver", ["adbc", "duckdb"])
def test_an_open_connection_is_used_and_stays_open(postgres, shop, driver):
    with duckdb.connect(shop) if driver == "duckdb" else postgres.connect() as connection:
        for _ in range(2):
            assert open_table(IN_ORDER, connection=connection, **NO_FEATURES).n_rows == N_ROWS


def test_the_query_is_run_once(shop):
    connection = duckdb.connect()
    connection.sql("CREATE SEQUENCE runs")
    connection.sql(f"ATTACH '{shop}' AS files (READ_ONLY)")
    query = "SELECT a, b, label, run FROM files.shop, (SELECT nextval('runs') AS run)"
    table = open_table(query, connection=connection, target="label", exclude=["run"])
    fitted(table)
    assert connection.sql("SELECT currval('runs')").fetchall() == [(1,)]
    connection.close()


def test_numbers_of_any_precision_are_numbers(postgres):
    with postgres.connect() as connection:
        with connection.cursor() as cursor:
            cursor.execute(
                "CREATE TABLE prices AS SELECT i::numeric(10,2) / 4 AS price, i % 2 AS y FROM generate_series(1, 8) i"
            )
        connection.commit()
    query = "SELECT * FROM prices ORDER BY price"
    assert open_table(query, connection=postgres.url, target="y").features()["price"].tolist() == [
        i / 4 for i in range(1, 9)
    ]


@pytest.mark.parametrize("query", ["SELECT nope FROM shop", "SELEC a"])
def test_a_wrong_query_is_one_error(postgres, shop, query):
    for connection in (postgres.url, shop):
        with pytest.raises(TableError, match=rf"The query '{query}' failed: .*"):
            open_table(query, connection=connection, target="label")


def test_a_server_that_is_not_there_is_one_error_without_the_password():
    with pytest.raises(TableError, match=r"postgresql://me@127.0.0.1:1/shop cannot be reached") as raised:
        open_table("SELECT 1", connection="postgresql://me:hush@127.0.0.1:1/shop", target="y")
    assert "hush" not in str(raised.value)


def test_a_query_or_a_database_alone_is_refused_with_what_to_do(shop):
    with pytest.raises(ValueError, match="looks like a query, but connection= is missing"):
        open_table("SELECT * FROM shop", target="label")
    with pytest.raises(ValueError, match=r"is a database\. Name the rows with a query"):
        open_table(shop, target="label")


def test_another_thing_than_a_connection_is_refused():
    with pytest.raises(TypeError, match="got int"):
        open_table("SELECT 1", connection=3, target="y")
    with pytest.raises(TableError, match="does not name a database"):
        open_table("SELECT 1", connection="shop.parquet", target="y")


def test_a_connection_of_another_driver_is_refused_with_what_to_do():
    with closing(sqlite3.connect(":memory:")) as connection, pytest.raises(TypeError, match="adbc_driver_sqlite"):
        open_table("SELECT 1 AS y", connection=connection, target="y")


def test_scores_are_written_to_a_table(postgres, model):
    query = {"source": "SELECT * FROM shop ORDER BY position", "connection": postgres.url}
    model.write_predictions(query.pop("source"), DatabaseTable(postgres.url, "scores"), keep=["tx"], **query)
    found = rows_of(postgres, "SELECT tx, score FROM scores")
    expected = zip(ROWS["tx"], model.predict_proba(ROWS[["a", "b"]])[:, 1], strict=True)
    assert sorted(found) == sorted(expected)


def test_a_connection_that_cannot_write_scores_is_refused(model, shop):
    connection = sqlite3.connect(":memory:")
    with pytest.raises(TypeError, match="a connection of ADBC or DuckDB"):
        model.write_predictions(IN_ORDER, DatabaseTable(connection, "scores"), connection=shop)
    connection.close()


def test_all_scores_are_written_or_none(postgres, model):
    n_batches = 0

    def stop(scores):
        nonlocal n_batches
        n_batches += 1
        if n_batches == 3:
            raise RuntimeError("stopped")

    for if_exists in ("replace", "append"):
        model.write_predictions(IN_ORDER, DatabaseTable(postgres.url, "whole", "replace"), connection=postgres.url)
        n_batches = 0
        output = DatabaseTable(postgres.url, "whole", if_exists)
        with pytest.raises((RuntimeError, TableError), match="stopped"):
            model.write_predictions(IN_ORDER, output, connection=postgres.url, batch_rows=50, on_scores=stop)
        assert rows_of(postgres, "SELECT count(*) FROM whole") == [(N_ROWS,)]


@pytest.mark.parametrize("place", ["postgres", "duckdb"])
def test_a_table_that_exists_is_kept_extended_or_replaced(postgres, shop, model, tmp_path, place):
    target = postgres.url if place == "postgres" else tmp_path / "out.duckdb"

    def write(if_exists="fail"):
        model.write_predictions(IN_ORDER, DatabaseTable(target, "again", if_exists), connection=shop)

    def n_rows():
        return open_table("SELECT * FROM again", connection=target).n_rows

    write()
    with pytest.raises(TableError, match=r"The scores cannot be written to the table 'again' of .*exist"):
        write()
    assert n_rows() == N_ROWS
    write("append")
    assert n_rows() == 2 * N_ROWS
    write("replace")
    assert n_rows() == N_ROWS
    with pytest.raises(ValueError, match="if_exists must be one of"):
        write("maybe")


@pytest.mark.slow
@pytest.mark.parametrize("place", ["postgres", "duckdb"])
def test_the_command_line_trains_on_a_query_and_writes_scores_back(postgres, shop, place, tmp_path, capsys):
    data = postgres.url if place == "postgres" else str(shop)
    output = data if place == "postgres" else str(tmp_path / "scores.duckdb")
    model = str(tmp_path / "model.skops")
    train = ["train", data, "--query", IN_ORDER, "--target", "label", "--exclude", "kind,weight,when,tx,position"]
    assert main([*train, "-o", model, "--base", "tree", "--members", "2", "--calibration", "none", "-q"]) == 0
    predict = [
        "predict",
        model,
        data,
        "--query",
        IN_ORDER,
        "-o",
        output,
        "--keep",
        "tx",
        "--table",
        f"cli_{place}",
        "-q",
    ]
    assert main(predict) == 0
    table = open_table(f"SELECT * FROM cli_{place}", connection=output)
    assert (table.n_rows, sorted(table.schema.names)) == (N_ROWS, ["score", "tx"])
    assert main(["evaluate", model, data, "--query", IN_ORDER, "-q"]) == 0
    assert main(predict) == 2
    assert main(["predict", model, data, "--query", IN_ORDER, "-o", output]) == 2
    assert "--table scores" in capsys.readouterr().err
    assert main(["evaluate", model, data]) == 2
    assert "--query 'SELECT ...'" in capsys.readouterr().err


# A type of PostgreSQL, and a value of it as SQL text.
READ = {
    **{"numeric": "123456789.123456789", "numeric(20,10)": "-0.0001", "bigint": "9223372036854775807", "real": "0.1"},
    **{"double precision": "1e-300", "smallint": "-3", "boolean": "true", "text": "é", "varchar(3)": "abc"},
    **{"char(5)": "ab", "name": "n", "json": '{"b":  1}', "jsonb": '{"b":  1}', "mood": "sad", "positive": "5"},
    **{"uuid": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "date": "2024-01-31", "timestamp": "2024-01-31 23:59:58.123456"},
    **{"timestamptz": "2024-01-31 23:59:58.123456+01"},
}
REFUSED = {
    **{"money": "12.34", "oid": "4294967295", "interval": "1 month 2 days", "timetz": "04:05:06-08", "int[]": "{1,2}"},
    **{
        "int[][]": "{{1,2},{3,4}}",
        "money[]": "{1.50}",
        "inet": "192.168.0.1/24",
        "cidr": "10.0.0.0/8",
        "bit(3)": "101",
    },
    **{"varbit": "1011", "int4range": "[1,5)", "tsrange": "[2024-01-01,2024-01-02)", "point": "(1,2)", "xml": "<a/>"},
    **{"macaddr": "08:00:2b:01:02:03", "pair": "(1,2)", "cash": "12.34", "tsvector": "a b", "regclass": "pg_class"},
}


@pytest.fixture(scope="module")
def own_types(postgres):
    """The server, with an enumeration, a composite type and two domains."""
    with postgres.connect() as connection:
        with connection.cursor() as cursor:
            cursor.execute("CREATE TYPE mood AS ENUM ('sad', 'glad')")
            cursor.execute("CREATE TYPE pair AS (a int, b int)")
            cursor.execute("CREATE DOMAIN positive AS int CHECK (VALUE > 0)")
            cursor.execute("CREATE DOMAIN cash AS money")
        connection.commit()
    return postgres


def of_type(kind, text):
    value = f"'{text}'::{kind}"
    return f"SELECT {value} AS x, {value}::text AS as_text, 1 AS other, i AS y FROM generate_series(0, 1) i"


@pytest.mark.parametrize("kind", READ)
def test_a_value_of_postgres_is_the_one_that_sql_writes(own_types, kind):
    table = open_table(of_type(kind, READ[kind]), connection=own_types.url, target="y")
    value, text = table.column("x")[0].as_py(), table.column("as_text")[0].as_py()
    if isinstance(value, bool):
        assert str(value).lower() == text
    elif isinstance(value, float):
        assert value == pytest.approx(float(text), rel=1e-7)
    else:
        assert str(value).rstrip().replace("+00:00", "+00") == text


@pytest.mark.parametrize("kind", REFUSED)
def test_a_type_of_postgres_that_arrow_does_not_have_is_refused_by_column(own_types, kind):
    query = of_type(kind, REFUSED[kind])
    with pytest.raises(TableError, match=r"Column 'x' of the query is .*Convert it in the query, as in .* AS x"):
        open_table(query, connection=own_types.url, target="y")
    assert open_table(query, connection=own_types.url, target="y", exclude=["x"]).schema.names == ["as_text", "other"]


def test_money_that_is_converted_as_the_error_says_is_read(postgres):
    query = "SELECT ('12.34'::money)::numeric AS x, i AS y FROM generate_series(0, 1) i"
    assert open_table(query, connection=postgres.url, target="y").features()["x"].tolist() == [12.34, 12.34]


@pytest.mark.parametrize("kind", ["date", "timestamp", "timestamptz"])
@pytest.mark.parametrize("value", ["infinity", "-infinity"])
@pytest.mark.parametrize("database", ["postgres", "duckdb"])
def test_an_infinite_time_is_refused_by_column(postgres, shop, kind, value, database):
    connection = postgres.url if database == "postgres" else shop
    query = f"SELECT '{value}'::{kind} AS x, 0 AS y UNION ALL SELECT '2024-01-31'::{kind} AS x, 1 AS y"
    with pytest.raises(TableError, match=r"Column 'x' of the query has a date or time that is infinite.*isfinite"):
        open_table(query, connection=connection, target="y")
    finite = f"SELECT CASE WHEN isfinite(x) THEN x END AS x, y FROM ({query}) AS q"
    assert open_table(finite, connection=connection, target="y").column("x").null_count == 1


def test_an_interval_of_duckdb_is_refused_by_column(shop):
    with pytest.raises(
        TableError, match=r"Column 'x' of the query is month_day_nano_interval.*extract\(epoch FROM x\)"
    ):
        open_table("SELECT INTERVAL 1 MONTH AS x, 1 AS y", connection=shop, target="y")


def test_a_driver_that_does_not_name_types_is_refused(postgres):
    class Connection:
        """As a driver before 1.13 reads: nothing says that a column is money."""

        def __init__(self, inner):
            self._inner = inner

        def __getattr__(self, name):
            return getattr(self._inner, name)

        def cursor(self):
            return Cursor(self._inner.cursor())

    class Cursor(Connection):
        def __enter__(self):
            return self

        def __exit__(self, *error):
            self._inner.close()

        def fetch_record_batch(self):
            table = self._inner.fetch_record_batch().read_all()
            return pa.table(table.columns, names=table.column_names).to_reader()

    with postgres.connect() as connection, pytest.raises(TableError, match=r"adbc-driver-postgresql>=1\.13"):
        open_table("SELECT 1 AS x, 2 AS y", connection=Connection(connection), target="y")
