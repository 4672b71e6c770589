"""Every kind of table in this process and on Dask sits the exam.

Spark's is in `tests/cluster/test_spark.py`, that of PostgreSQL in `tests/tables/test_databases.py`.
"""

from __future__ import annotations

import inspect

import dask.dataframe as dd
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyarrow import fs
from sklearn.tree import DecisionTreeClassifier

from selfpaced import SelfPacedEnsembleClassifier, open_table
from selfpaced.tables import TableOptions
from selfpaced.tables.sources.opening import HONOURED
from tests.contracts.lake_tables import delta_table, iceberg_table
from tests.contracts.table_exam import COLUMNS, ROWS, Opened, TableExam

ARROW = pa.Table.from_pandas(ROWS, preserve_index=False)
QUERY = "SELECT * FROM shop"
IN_MEMORY = SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=3), 3, random_state=0)


def array(tmp_path):
    return Opened(ROWS[["a", "b"]].to_numpy(), "an array", {"target": ROWS["label"].to_numpy()})


def parquet(tmp_path):
    ROWS.iloc[:150].to_parquet(tmp_path / "0.parquet", index=False)
    ROWS.iloc[150:].to_parquet(tmp_path / "1.parquet", index=False)
    return Opened(tmp_path, "files", COLUMNS)


def url(tmp_path):
    return Opened(parquet(tmp_path).source.as_uri(), "files", COLUMNS)


def other_file_system(tmp_path):
    """The same files through a file system that is not the local one, as those of object stores are read."""
    system = fs.SubTreeFileSystem("/", fs.LocalFileSystem())
    return Opened(str(parquet(tmp_path).source), "files", {**COLUMNS, "filesystem": system})


def csv(tmp_path):
    ROWS.to_csv(tmp_path / "rows.csv", index=False)
    return Opened(tmp_path / "rows.csv", "files", COLUMNS)


def dataset(tmp_path):
    return Opened(ds.dataset(parquet(tmp_path).source), "files", COLUMNS)


def filtered_dataset(tmp_path):
    more = pa.concat_tables([ARROW, ARROW.slice(0, 7).set_column(0, "a", pa.array([99.0] * 7))])
    filtered = ds.dataset(more).filter(ds.field("a") < 50)
    return Opened(filtered, "an Arrow stream", COLUMNS, is_written=True)


def delta(tmp_path):
    return Opened(delta_table(tmp_path / "delta"), "a Delta table", COLUMNS, earlier=0)


def iceberg(tmp_path):
    table = iceberg_table(tmp_path)
    first = table.snapshots()[0].snapshot_id
    return Opened(table, "an Iceberg table", COLUMNS, earlier=first)


def duckdb_relation(tmp_path):
    import duckdb

    relation = duckdb.connect().from_arrow(ARROW)
    return Opened(relation, "an Arrow stream", COLUMNS, is_written=True)


def lazy_frame(tmp_path):
    return Opened(pl.from_arrow(ARROW).lazy(), "an Arrow stream", COLUMNS, is_written=True)


def batch_reader(tmp_path):
    return Opened(ARROW.to_reader(), "an Arrow stream", COLUMNS, fresh=ARROW.to_reader, is_written=True)


def duckdb_file(tmp_path):
    import duckdb

    with duckdb.connect(tmp_path / "shop.duckdb") as connection:
        connection.sql("CREATE TABLE shop AS SELECT * FROM ARROW")
    return Opened(QUERY, "a query", {**COLUMNS, "connection": tmp_path / "shop.duckdb"}, is_written=True)


IN_THIS_PROCESS = (
    array,
    parquet,
    url,
    other_file_system,
    csv,
    dataset,
    filtered_dataset,
    delta,
    iceberg,
    duckdb_relation,
    lazy_frame,
    batch_reader,
    duckdb_file,
)


@pytest.fixture(scope="module", params=[*IN_THIS_PROCESS, pytest.param("dask", marks=pytest.mark.cluster)])
def source(request, tmp_path_factory):
    if request.param != "dask":
        return request.param(tmp_path_factory.mktemp("source"))
    client = request.getfixturevalue("dask_cluster").client
    return Opened(dd.from_pandas(ROWS, npartitions=3), "a Dask DataFrame", {**COLUMNS, "client": client})


def test_every_option_of_the_signature_is_known_to_a_kind_of_source():
    named = set(inspect.signature(open_table).parameters) - {"source"}
    assert named == TableOptions.__optional_keys__ == frozenset().union(*HONOURED.values())


class TestTables(TableExam):
    @pytest.fixture
    def opened(self, source):
        return source

    def test_members_are_those_of_the_same_rows_in_memory(self, opened):
        X = ROWS[["a", "b"]].to_numpy()
        IN_MEMORY.fit(X, ROWS["label"])
        model = SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=3), 3, random_state=0)
        model.fit_table(opened.open())
        for member, other in zip(model.estimators_, IN_MEMORY.estimators_, strict=True):
            np.testing.assert_array_equal(member.tree_.threshold, other.tree_.threshold)
            np.testing.assert_array_equal(member.tree_.value, other.tree_.value)


@pytest.mark.parametrize("make", IN_THIS_PROCESS[1:])
def test_scores_are_those_of_the_same_rows_in_memory(make, tmp_path, tmp_path_factory):
    training = tmp_path_factory.mktemp("training") / "rows.parquet"
    ROWS.to_parquet(training, index=False)
    model = SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=3), 3, random_state=0)
    model.fit_table(open_table(training, **COLUMNS))
    opened = make(tmp_path)
    reading = {name: value for name, value in opened.needed.items() if name in ("connection", "filesystem")}
    np.testing.assert_array_equal(
        model.predict_proba_table(opened.source, **reading), model.predict_proba(ROWS[["a", "b"]])[:, 1]
    )


def test_one_label_of_several_is_scored_by_its_own_probability(tmp_path):
    """The label 0 must not be taken for False, which the other labels are."""
    rows = ROWS.assign(kind=2 - ROWS["kind"])
    rows.assign(a=rows["a"] + 4 * (rows["kind"] == 0)).to_parquet(tmp_path / "rows.parquet", index=False)
    table = open_table(tmp_path / "rows.parquet", target="kind", pos_label=0, columns=["a", "b"])
    model = SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=3), 5, random_state=0).fit_table(table)
    assert (model.pos_label_, model.trained_on_.score_column) == (0, 1)
    scores = model.predict_proba_table(tmp_path / "rows.parquet")
    assert scores[rows["kind"] == 0].mean() > 0.9 > 0.1 > scores[rows["kind"] == 2].mean()
