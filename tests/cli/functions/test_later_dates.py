"""Dates among the features that move on with time are warned about."""

import numpy as np
import pandas as pd
import pytest

from selfpaced.cli.commands.report import report_of_training
from selfpaced.cli.commands.train import train
from selfpaced.cli.request import TrainRequest


@pytest.fixture(scope="module")
def claims(tmp_path_factory):
    """Claims in the order of time: reported some days later, one of them a year later; policies began at any time."""
    random = np.random.default_rng(0)
    happened = pd.date_range("2024-01-01", periods=600, freq="12h")
    is_fraud = np.arange(600) % 15 == 0
    rows = pd.DataFrame(
        {
            "happened": happened,
            "reported": happened + pd.to_timedelta(random.integers(1, 5, 600), unit="D"),
            "policy_since": pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(0, 900, 600), unit="D"),
            "amount": random.normal(size=600) + is_fraud,
            "label": is_fraud.astype(int),
        }
    )
    rows.loc[100, "reported"] += pd.Timedelta(days=365)
    path = tmp_path_factory.mktemp("claims") / "claims.parquet"
    rows.to_parquet(path)
    return path


def trained(path, **options):
    return train(TrainRequest(path, "label", base="tree", members=2, calibration="none", **options), for_report=True)


def test_a_date_later_than_nearly_all_training_rows_is_warned_about_in_a_split_by_time(claims):
    (warning,) = map(str, trained(claims, time_column="happened").facts.cautions)
    assert warning.startswith("column 'reported' is a date that moves on: ")
    assert "Exclude it: --exclude 'reported'" in warning


def test_without_that_date_there_is_no_warning(claims):
    assert trained(claims, time_column="happened", exclude=("reported",)).facts.cautions == []


def test_a_random_split_does_not_tell_which_dates_move_on(claims):
    assert "later" not in {one.kind for one in trained(claims).facts.cautions}


def test_a_file_of_later_rows_tells_it_too(claims, tmp_path):
    rows = pd.read_parquet(claims)
    rows[:400].to_parquet(tmp_path / "old.parquet")
    rows[400:].to_parquet(tmp_path / "new.parquet")
    found = trained(tmp_path / "old.parquet", valid=tmp_path / "new.parquet").facts.cautions
    assert [one.name for one in found] == ["happened", "reported"]


def test_the_report_begins_with_the_cautions(claims):
    report = report_of_training(trained(claims, time_column="happened"))
    assert len(report.facts.cautions) == 1
    page = report.to_html()
    assert page.index("Column &#x27;reported&#x27; is a date that moves on") < page.index('id="ranking"')
