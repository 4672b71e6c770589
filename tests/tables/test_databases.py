"""Queries of real databases: DuckDB in this process, and a PostgreSQL server on this machine."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import duckdb
import pyarrow as pa
import pytest

from selfpaced import open_table
from selfpaced.cli import main
from selfpaced.exceptions import TableError
from selfpaced.tables import DatabaseTable
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
