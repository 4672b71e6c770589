"""Every kind of table in this process and on Dask sits the exam; `tests/cluster/test_spark.py` has Spark's."""

from __future__ import annotations

import dask.dataframe as dd
import pytest
from sklearn.tree import DecisionTreeClassifier

from selfpaced import SelfPacedEnsembleClassifier, open_table
from tests.contracts.table_exam import COLUMNS, ROWS, Opened, TableExam


class TestTables(TableExam):
    @pytest.fixture(params=["array", "parquet", "csv", pytest.param("dask", marks=pytest.mark.cluster)])
    def opened(self, request, tmp_path):
        if request.param == "array":
            return Opened(ROWS[["a", "b"]].to_numpy(), "an array", {"target": ROWS["label"].to_numpy()})
        if request.param == "parquet":
            ROWS.iloc[:150].to_parquet(tmp_path / "0.parquet", index=False)
            ROWS.iloc[150:].to_parquet(tmp_path / "1.parquet", index=False)
            return Opened(tmp_path, "files", COLUMNS)
        if request.param == "csv":
            ROWS.to_csv(tmp_path / "rows.csv", index=False)
            return Opened(tmp_path / "rows.csv", "files", COLUMNS)
        client = request.getfixturevalue("dask_cluster").client
        return Opened(dd.from_pandas(ROWS, npartitions=3), "a Dask DataFrame", {**COLUMNS, "client": client})


def test_one_label_of_several_is_scored_by_its_own_probability(tmp_path):
    """The label 0 must not be taken for False, which the other labels are."""
    rows = ROWS.assign(kind=2 - ROWS["kind"])
    rows.assign(a=rows["a"] + 4 * (rows["kind"] == 0)).to_parquet(tmp_path / "rows.parquet", index=False)
    table = open_table(tmp_path / "rows.parquet", target="kind", positive=0, columns=["a", "b"])
    model = SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=3), 5, random_state=0).fit_table(table)
    assert (model.score_label_, model.trained_on_.score_column) == (0, 1)
    scores = model.score_table(tmp_path / "rows.parquet")
    assert scores[rows["kind"] == 0].mean() > 0.9 > 0.1 > scores[rows["kind"] == 2].mean()
