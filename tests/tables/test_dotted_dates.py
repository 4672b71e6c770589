"""Dates such as 31.01.2024 are the same dates in every form of the rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.tables.sources import open_table

DAYS = pd.date_range("2024-01-01 06:30", periods=200, freq="31h")


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    is_rare = (DAYS.day_of_week == 6) & (DAYS.hour < 12)
    return pd.DataFrame({"when": DAYS, "amount": np.arange(200.0), "label": is_rare.astype(int)})


@pytest.fixture(scope="module")
def dotted(rows) -> pd.DataFrame:
    return rows.assign(when=DAYS.strftime("%d.%m.%Y %H:%M"))


@pytest.fixture(scope="module")
def model(dotted, tmp_path_factory):
    path = tmp_path_factory.mktemp("dotted") / "rows.csv"
    dotted.to_csv(path, index=False)
    return SelfPacedEnsembleClassifier(n_estimators=3, random_state=0).fit_table(open_table(path, target="label"))


def write_csv(frame, folder):
    frame.to_csv(folder / "rows.csv", index=False)
    return folder / "rows.csv"


def write_json(frame, folder):
    frame.to_json(folder / "rows.jsonl", orient="records", lines=True)
    return folder / "rows.jsonl"


@pytest.mark.parametrize("write", [write_csv, write_json])
def test_files_with_dotted_dates_train_the_model_of_the_same_dates(rows, dotted, model, tmp_path, write):
    rows.to_parquet(tmp_path / "rows.parquet")
    expected = model.predict_proba(rows.drop(columns="label"))
    for path in (write(dotted, tmp_path), tmp_path / "rows.parquet"):
        again = SelfPacedEnsembleClassifier(n_estimators=3, random_state=0).fit_table(open_table(path, target="label"))
        np.testing.assert_array_equal(again.predict_proba(rows.drop(columns="label")), expected)


def test_a_frame_and_a_file_of_dotted_dates_get_the_scores_of_the_same_dates(rows, dotted, model, tmp_path):
    expected = model.predict_proba(rows.drop(columns="label"))[:, 1]
    assert np.unique(expected).size > 1
    np.testing.assert_array_equal(model.predict_proba(dotted.drop(columns="label"))[:, 1], expected)
    np.testing.assert_array_equal(model.predict_proba_table(write_csv(dotted, tmp_path)), expected)


def test_a_single_row_with_a_dotted_date_gets_the_score_of_its_date(rows, dotted, model):
    score = model.row_scorer()
    expected = model.predict_proba(rows.drop(columns="label"))[:20, 1].tolist()
    assert [score(row) for row in dotted.drop(columns="label").head(20).to_dict("records")] == expected
