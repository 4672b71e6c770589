"""Files of one table whose types differ, and batches of one column whose types differ."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from selfpaced.cli import main
from selfpaced.cli.opening import open_source
from selfpaced.cli.request import TrainRequest
from selfpaced.datasets import make_fraud
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.tables.sources import open_table


@pytest.fixture
def rows():
    X, y = make_fraud(n_rows=800, n_frauds=60, n_features=4, random_state=0)
    return pd.DataFrame(X[:, :2], columns=["a", "b"]).assign(n=np.round(X[:, 2] * 3), is_fraud=y)


OTHERS = {
    "floats": lambda part: part.assign(n=part["n"] + 0.5),
    "some missing": lambda part: part.assign(n=part["n"].where(part["n"] > 0)),
    "nothing": lambda part: part.assign(n=np.nan),
}


@pytest.fixture(params=["csv", "parquet"])
def folder(request, rows, tmp_path):
    def write(part, name):
        path = tmp_path / f"{name}.{request.param}"
        part.to_csv(path, index=False) if request.param == "csv" else part.to_parquet(path, index=False)

    write(rows.iloc[:400].astype({"n": "int64"}), "0")

    def with_second(kind):
        write(OTHERS[kind](rows.iloc[400:]), "1")
        return tmp_path

    return with_second


@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.parametrize("where", [[], ["--out-of-core"]], ids=["in memory", "out of core"])
def test_whole_numbers_here_and_others_there_are_trained_on(folder, kind, where, monkeypatch, capsys):
    monkeypatch.chdir(folder(kind))
    pattern = f"*.{'csv' if list(folder(kind).glob('*.csv')) else 'parquet'}"
    options = ["--base", "tree", "--members", "2", "--calibration", "none", "-q"]
    assert main(["train", pattern, "--target", "is_fraud", *options, *where]) == 0, capsys.readouterr().err


def test_a_missing_value_in_a_later_batch_makes_floats_of_whole_numbers(rows, tmp_path):
    whole = rows.astype({"n": "int64"})
    whole.to_parquet(tmp_path / "train.parquet", index=False)
    whole.assign(n=whole["n"].astype("Int64").where(whole.index != 700)).to_parquet(
        tmp_path / "new.parquet", index=False
    )
    base = HistGradientBoostingClassifier(max_iter=5)
    model = SelfPacedEnsembleClassifier(base, 2, random_state=0)
    model.fit_table(open_table(tmp_path / "train.parquet", target="is_fraud"))
    table = open_table(tmp_path / "new.parquet", columns=["a", "b", "n"], batch_rows=100)
    found = table.features()["n"]
    assert found.isna().tolist() == (whole.index == 700).tolist()
    assert len(model.predict_proba_table(table)) == 800


NUMBERS = [(pa.int64(), 2**60 + 1), (pa.float64(), 0.5)], "double", [2.0**60, 0.5]
SIGNS = [(pa.uint64(), 2**64 - 1), (pa.int64(), -1)], "double", [2.0**64, -1.0]
TIMES = [(pa.timestamp("ns"), 1), (pa.timestamp("s"), 253_402_214_400)], "seconds", [0.0, 253_402_214_400.0]


@pytest.mark.parametrize(("files", "kind", "expected"), [NUMBERS, SIGNS, TIMES])
@pytest.mark.parametrize("out_of_core", [False, True])
def test_types_of_two_files_have_a_type_in_common_in_memory_and_on_disk(tmp_path, files, kind, expected, out_of_core):
    for number, (type, value) in enumerate(files):
        rows = pa.table({"c": pa.array([value] * 40, type), "y": [0, 0, 0, 1] * 10})
        pq.write_table(rows, tmp_path / f"{number}.parquet")
    table = open_source(TrainRequest(tmp_path, "y", out_of_core=out_of_core)).table
    assert table.schema.columns[0].type == kind
    assert table.features()["c"].unique().tolist() == expected
