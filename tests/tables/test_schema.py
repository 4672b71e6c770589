"""What becomes of columns that are neither numbers nor words."""

from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from lightgbm import LGBMClassifier

from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.exceptions import TableError
from selfpaced.tables import as_trained
from selfpaced.tables.sources import open_table

WHEN = pd.Series(pd.to_datetime(["2024-03-01 13:30", "2024-03-03 00:00", None]))


def converted(**columns):
    from selfpaced.tables import frozen

    batch = pa.RecordBatch.from_pydict(columns)
    fields = {field.name: field.type for field in batch.schema}
    return frozen(fields, list(fields), set(), {}).converted(batch, "here").to_pandas()


def test_a_moment_becomes_seconds_weekday_and_hour():
    features = converted(when=pa.Array.from_pandas(WHEN))
    assert features.columns.tolist() == ["when", "when.weekday", "when.hour"]
    assert features["when"].tolist()[:2] == [pd.Timestamp("2024-03-01 13:30").timestamp(), 1709424000.0]
    assert features["when.weekday"].tolist()[:2] == [4, 6]
    assert features["when.hour"].tolist()[:2] == [13, 0]
    assert features.iloc[2].isna().all()


def test_a_day_has_no_hour():
    features = converted(day=pa.array([date(2024, 3, 1)]))
    assert features.to_dict("list") == {"day": [1709251200.0], "day.weekday": [4.0]}


def test_the_hour_is_that_of_the_place():
    moments = pa.array([pd.Timestamp("2024-03-01 23:30")], pa.timestamp("ms", "UTC")).cast(
        pa.timestamp("ms", "Asia/Tokyo")
    )
    features = converted(when=moments)
    assert (features["when.hour"][0], features["when.weekday"][0]) == (8, 5)


@pytest.fixture
def dated(tmp_path):
    """Rows whose label is in the hour."""
    when = pd.Timestamp("2024-03-01") + pd.to_timedelta(np.arange(2000), unit="h")
    rows = pd.DataFrame({"when": when, "label": (when.hour == 3).astype(int)})
    rows.to_parquet(tmp_path / "rows.parquet")
    return tmp_path / "rows.parquet", rows


def test_files_with_dates_are_trained_on_and_scored(dated, tmp_path):
    path, rows = dated
    model = SelfPacedEnsembleClassifier(n_estimators=3, random_state=0).fit_table(open_table(path, target="label"))
    assert model.feature_names_in_.tolist() == ["when", "when.weekday", "when.hour"]
    assert model.evaluate_table(path).aucprc == 1
    scores = pd.read_parquet(model.write_predictions(path, tmp_path / "scores.parquet"))
    assert len(scores) == len(rows)


def test_strings_where_dates_were_are_refused(dated, tmp_path):
    path, rows = dated
    model = SelfPacedEnsembleClassifier(n_estimators=2, random_state=0).fit_table(open_table(path, target="label"))
    rows.assign(when="yesterday").to_parquet(tmp_path / "words.parquet")
    with pytest.raises(
        TableError, match=r"Column 'when' of .*words.parquet is (large_)?string, but the model was trained with dates"
    ):
        model.write_predictions(tmp_path / "words.parquet", tmp_path / "scores.parquet")


@pytest.fixture
def worded(tmp_path):
    """Rows with words and dates, a model trained on them in a file, and its scores of that file."""
    rng = np.random.default_rng(0)
    when = pd.Timestamp("2024-03-01") + pd.to_timedelta(np.arange(2000), unit="h")
    shop = rng.choice(["web", "till", "phone"], 2000)
    label = ((when.hour == 3) & (shop == "web")) | (rng.random(2000) < 0.01)
    rows = pd.DataFrame({"when": when, "shop": shop, "amount": rng.normal(size=2000), "label": label.astype(int)})
    path = tmp_path / "rows.parquet"
    rows.to_parquet(path, index=False)
    base = LGBMClassifier(n_estimators=10, verbose=-1)
    model = SelfPacedEnsembleClassifier(base, 3, random_state=0).fit_table(open_table(path, target="label"))
    return rows.drop(columns="label"), model, model.predict_proba_table(path)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "converted", "words"])
def test_a_frame_in_memory_is_scored_as_the_file_with_its_rows(worded, kind):
    rows, model, expected = worded
    frames = {
        "pandas": lambda: rows,
        "polars": lambda: pl.from_pandas(rows),
        "pyarrow": lambda: pa.Table.from_pandas(rows),
        "converted": lambda: as_trained(model.trained_on_.schema, rows),
        "words": lambda: rows.assign(when=rows["when"].astype(str), extra=1),  # as pandas.read_csv gives dates
    }
    np.testing.assert_array_equal(model.predict_proba(frames[kind]())[:, 1], expected)


def test_a_frame_without_a_column_is_refused_by_name(worded):
    rows, model, _ = worded
    with pytest.raises(TableError, match="X has no column 'when', which the model was trained with"):
        model.predict_proba(rows.drop(columns="when"))


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_columns_that_are_no_features_are_left_aside(frauds, tmp_path, kind):
    X, y = frauds
    rows = pd.DataFrame(X, columns=list("abcdef")).assign(label=y, note=1)
    rows.to_parquet(tmp_path / "rows.parquet", index=False)
    table = open_table(tmp_path / "rows.parquet", target="label", exclude=["note"])
    model = SelfPacedEnsembleClassifier(n_estimators=2, random_state=0).fit_table(table)
    frame = {"pandas": rows, "polars": pl.from_pandas(rows), "pyarrow": pa.Table.from_pandas(rows)}[kind]
    np.testing.assert_array_equal(model.predict_proba(frame), model.predict_proba(rows[list("abcdef")]))
