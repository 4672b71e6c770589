"""Files of one table whose types differ, and batches of one column whose types differ."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from selfpaced import SelfPacedEnsembleClassifier, open_table
from selfpaced.cli import main
from selfpaced.datasets import make_fraud


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
    assert len(model.score_table(table)) == 800
