"""`selfpaced predict` with alerts that are decided row by row, or by how many can be looked at."""

import json

import numpy as np
import pandas as pd
import pytest

from tests.cli.commands import MODEL


@pytest.fixture(scope="session")
def july(mixed, payments):
    rows = mixed.assign(
        price=np.random.default_rng(1).lognormal(3, 1, len(mixed)), card=np.arange(len(mixed)) % 7, number=mixed.index
    )
    path = payments / "july.parquet"
    rows.to_parquet(path)
    return path


def scored(run, july, folder, *options):
    code, _, complaint = run("predict", july.parent / MODEL, july, "-o", "scores.parquet", *options)
    assert code == 0, complaint
    return pd.read_parquet(folder / "scores.parquet")


def test_alerts_are_decided_row_by_row(run, july, folder):
    scores = scored(run, july, folder, "--decide", "p*price>5", "--keep", "number,price")
    assert (scores["alert"] == (scores["score"] * scores["price"] > 5)).all()
    assert 0 < scores["alert"].sum() < 3000
    assert scores["number"].tolist() == list(range(3000))


def test_the_best_rows_of_each_day_are_alerts(run, july, folder):
    scores = scored(run, july, folder, "--top", 2, "--per", "day", "--time-column", "when", "--keep", "when,card")
    days = scores["when"].dt.date
    assert (scores["alert"].groupby(days).sum() == 2).all()
    alerts, others = (scores["score"][chosen].groupby(days) for chosen in (scores["alert"], ~scores["alert"]))
    assert (alerts.min() >= others.max()).all()


def test_days_begin_where_the_time_zone_says(run, july, folder):
    options = ("--top", 1, "--per", "day", "--time-column", "when", "--keep", "when")
    scores = scored(run, july, folder, *options, "--timezone", "America/New_York")
    days = scores["when"].dt.tz_localize("UTC").dt.tz_convert("America/New_York").dt.date
    assert (scores["alert"].groupby(days).sum() == 1).all()


def test_of_each_group_at_most_one_row_is_an_alert(run, july, folder):
    options = ("--top", 9, "--per", "week", "--time-column", "when", "--group", "card", "--keep", "when,card")
    scores = scored(run, july, folder, *options)
    alerts = scores[scores["alert"]]
    weeks = alerts["when"].dt.to_period("W")
    assert alerts.groupby([weeks, "card"]).size().max() == 1
    assert (alerts.groupby(weeks).size() <= 7).all()


def test_whole_numbers_that_a_float_rounds_are_costs(run, july, folder):
    large = pd.read_parquet(july).assign(price=2**53 + 1)
    large.to_parquet("large.parquet")
    options = ("--decide", "p*price>100", "-o", "scores.parquet")
    code, _, complaint = run("predict", july.parent / MODEL, "large.parquet", *options)
    assert code == 0, complaint
    scores = pd.read_parquet("scores.parquet")
    assert (scores["alert"] == (scores["score"] * 2.0**53 > 100)).all()


def test_a_rule_and_a_number_of_rows_go_together(run, july, folder):
    scores = scored(run, july, folder, "--decide", "p*price>5", "--top", 10, "--keep", "price")
    gains = scores["score"] * scores["price"] - 5
    assert sorted(gains[scores["alert"]]) == sorted(gains.nlargest(10))


def test_a_script_is_told_how_many_alerts_there_are(run, july, folder):
    said = json.loads(run("predict", july.parent / MODEL, july, "-o", "scores.csv", "--top", 10, "--json")[1])
    assert (said["n_alerts"], said["top"], said["n_rows"]) == (10, 10, 3000)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--decide", "price>5"), "is not a rule for decisions"),
        (("--decide", "p*channel>5"), "string. Name a column of numbers"),
        (("--decide", "p*balance>5"), "has no finite number in"),
        (("--decide", "p*prise>5"), "has no column 'prise'"),
        (("--decide", "p*amount>5"), "rows is negative. Costs must be at least 0"),
        (("--decide", "p*price/0>5"), "rows is infinite. The rule divides by 0"),
        (("--decide", "p*1e400>1"), "is too large"),
        (("--decide", "p*price" + "*(1" * 5000 + ">5"), "is not a rule for decisions"),
        (("--top", 0), "--top must be at least 1"),
        (("--top", 5, "--per", "day"), "needs other options"),
        (("--group", "card"), "--group card needs other options"),
        (("--top", 5, "--per", "day", "--time-column", "amount"), "so the day of a row is not known"),
        (
            ("--top", 5, "--per", "day", "--time-column", "when", "--timezone", "Mars/Base"),
            "'Mars/Base' is not the name of a time zone",
        ),
    ],
)
def test_what_cannot_be_decided_is_refused(run, july, folder, options, complaint):
    code, _, said = run("predict", july.parent / MODEL, july, "-o", "scores.csv", *options)
    assert code == 2
    assert complaint in said
    assert not (folder / "scores.csv").exists()
