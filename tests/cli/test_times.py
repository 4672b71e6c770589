"""Times as numbers: `--time-unit` makes dates of them wherever a command reads times."""

import json

import numpy as np
import pandas as pd
import pytest

from tests.cli.commands import MODEL

PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
MEMBERS = ("--target", "is_fraud", "--base", "tree", "--members", 2, "--calibration", "none")


@pytest.fixture(scope="session")
def timed(mixed, payments):
    """The payments with their times as dates, and as numbers of every unit."""
    seconds = (mixed["when"] - pd.Timestamp("1970-01-01")) / pd.Timedelta(seconds=1)
    rows = mixed.assign(fraction=seconds + 0.25, **{unit: (seconds * n).astype(int) for unit, n in PER_SECOND.items()})
    path = payments / "timed.parquet"
    rows.to_parquet(path)
    return path


def trained(run, timed, column, *options):
    others = [name for name in (*PER_SECOND, "fraction", "when") if name != column]
    command = ("train", timed, *MEMBERS, "--time-column", column, "--exclude", *others)
    code, said, complained = run(*command, *options, "--json")
    return json.loads(said) if code == 0 else complained


@pytest.mark.parametrize("unit", PER_SECOND)
def test_a_delay_is_the_same_for_numbers_and_for_dates(run, folder, timed, unit):
    dates = trained(run, timed, "when", "--delay", "7d")
    numbers = trained(run, timed, unit, "--delay", "7d", "--time-unit", unit)
    assert numbers["not_used"] == dates["not_used"]
    assert sum(dates["not_used"].values()) > 0
    assert numbers["n_positives"] == dates["n_positives"]
    assert numbers["training"]["time_unit"] == unit


def test_seconds_may_have_fractions(run, folder, timed):
    assert trained(run, timed, "fraction", "--delay", "7d", "--time-unit", "s")["not_used"] != {}


def test_the_best_rows_of_each_day_are_those_of_dates(run, folder, timed):
    options = ("--top", 2, "--per", "day", "--keep", "when")
    for column, unit in (("when", ()), ("ms", ("--time-unit", "ms"))):
        command = ("predict", timed.parent / MODEL, timed, "-o", f"{column}.parquet", *options)
        assert run(*command, "--time-column", column, *unit)[0] == 0
    one, other = (pd.read_parquet(f"{column}.parquet")["alert"] for column in ("when", "ms"))
    assert one.tolist() == other.tolist()


def test_monitor_counts_the_periods_of_dates(run, folder, timed):
    command = ("monitor", timed.parent / MODEL, timed, "--by", "month", "--json")
    dates = json.loads(run(*command, "--time-column", "when")[1])["periods"]
    numbers = json.loads(run(*command, "--time-column", "us", "--time-unit", "us")[1])["periods"]
    assert {name: one["n_rows"] for name, one in numbers.items()} == {
        name: one["n_rows"] for name, one in dates.items()
    }


@pytest.mark.slow
def test_backtest_has_the_folds_of_dates(run, folder, timed):
    options = ("--every", "30d", "--delay", "7d", "--top", 5, "--exclude", *PER_SECOND, "fraction", "when", "--json")
    for column, unit in (("when", ()), ("s", ("--time-unit", "s"))):
        some = [name for name in options if name != column]
        code, said, complained = run("backtest", timed, *MEMBERS, "--time-column", column, *unit, *some)
        assert code == 0, complained
        folds = [(one["n_train"], one["n_test"], one["alerts"]) for one in json.loads(said)["folds"]]
        if column == "when":
            expected = folds
    assert folds == expected


def test_report_draws_the_course_of_dates(run, folder, timed):
    command = ("report", timed.parent / MODEL, timed, "--time-column", "s", "-o", "report.json")
    assert run(*command, "--time-unit", "s")[0] == 0
    assert "2024-01" in (folder / "report.json").read_text()


@pytest.mark.parametrize(
    ("column", "options", "complaint"),
    [
        ("when", ("--time-unit", "s"), "'when' holds times already, not numbers: omit the time unit 's'"),
        ("ns", ("--time-unit", "s"), "outside of the years 1 to 9999 if its unit is 's'. Give another time unit"),
        ("s", ("--delay", "7d"), "Or name the unit of the numbers: --time-unit s"),
    ],
)
def test_a_unit_that_does_not_fit_is_refused_and_a_missing_one_named(run, folder, timed, column, options, complaint):
    assert complaint in trained(run, timed, column, *options)


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        (("train", "rows", *MEMBERS, "--time-unit", "s"), "--time-unit s needs the times of the rows"),
        (("compare", "rows", "--target", "is_fraud", "--time-unit", "s"), "--time-unit s needs the times of the rows"),
        (("predict", "model", "rows", "-o", "scores.csv", "--time-unit", "s"), "--time-unit s needs other options"),
        (("report", "model", "rows", "--time-unit", "s"), "--time-unit s needs the times of the rows"),
        (("monitor", "model", "rows", "--time-unit", "s"), "Periods need the times of the rows"),
        (("monitor", "model", "rows", "--timezone", "UTC"), "Periods need the times of the rows"),
        (("predict", "model", "rows", "-o", "scores.csv", "--top", 2, "--per", "day", "--time-column", "s"),
         "Or name the unit of the numbers: --time-unit s"),
    ],
)  # fmt: skip
def test_a_unit_without_times_is_refused(run, folder, timed, command, complaint):
    names = {"rows": timed, "model": timed.parent / MODEL}
    code, _, complained = run(*(names.get(word, word) for word in command))
    assert code == 2
    assert complaint in complained


def test_refit_and_suspects_read_the_times_of_the_training(run, folder, timed):
    assert "not_used" in trained(run, timed, "ms", "--time-unit", "ms", "--delay", "7d", "-o", "timed.skops")
    found = json.loads(run("suspects", "timed.skops", timed, "--json")[1])
    assert found["cross_fitted"]
    code, said, complained = run("refit", "timed.skops", timed, "--json")
    assert code == 0, complained
    assert json.loads(said)["newest"]


def test_rows_of_the_same_moment_in_both_forms_are_the_same(timed):
    rows = pd.read_parquet(timed)
    assert np.array_equal(rows["ns"].to_numpy().astype("datetime64[ns]"), rows["when"].to_numpy("datetime64[ns]"))
