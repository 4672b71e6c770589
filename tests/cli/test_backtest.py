"""`selfpaced backtest`"""

import json

import numpy as np
import pandas as pd
import pytest

from selfpaced.backtesting.splitter import RollingTimeSplit

TREES = ("--base", "tree", "--members", 2, "--calibration", "sigmoid")
BACKTEST = ("--target", "is_fraud", "--time-column", "when", *TREES)


@pytest.fixture(scope="session")
def dated(mixed, tmp_path_factory):
    rows = mixed.assign(
        price=np.random.default_rng(1).lognormal(3, 1, len(mixed)), card=np.arange(len(mixed)) % 150
    ).sample(frac=1, random_state=0)
    path = tmp_path_factory.mktemp("dated") / "payments.parquet"
    rows.to_parquet(path)
    return path


@pytest.fixture(scope="session")
def found(dated, tmp_path_factory):
    """One backtest with everything, for all that is claimed of it."""
    from contextlib import redirect_stdout
    from io import StringIO

    from selfpaced.cli import main

    said, page = StringIO(), tmp_path_factory.mktemp("page") / "backtest.html"
    options = ("--every", "14d", "--delay", "7d", "--group", "card", "--top", 3, "--decide", "p*price>5")
    with redirect_stdout(said):
        command = ("backtest", dated, *BACKTEST, *options, "--html", page, "--json")
        assert main([str(word) for word in command]) == 0
    return json.loads(said.getvalue()), page


def test_folds_are_those_of_the_splitter(found, dated):
    rows = pd.read_parquet(dated)
    expected = RollingTimeSplit(rows["when"].to_numpy(), "14d", delay="7d").folds()
    folds = found[0]["folds"]
    assert [fold["n_train"] for fold in folds] == [one.train.size for one in expected]
    assert [fold["n_rare"] for fold in folds] == [int(rows["is_fraud"].to_numpy()[one.test].sum()) for one in expected]


def test_every_fold_says_what_was_reached(found):
    for fold in found[0]["folds"]:
        assert 0 < fold["aucprc"] <= 1
        assert fold["expected"] > 0
        assert fold["alerts"] <= 3 * 15
        assert fold["cost"] > 0
        assert 0 <= fold["group_precision"] <= 1
    (course,) = found[0]["courses"]
    assert course["n_rare"] == sum(fold["n_rare"] for fold in found[0]["folds"])
    assert course["cost"] == pytest.approx(sum(fold["cost"] for fold in found[0]["folds"]))


def test_the_page_shows_all_figures(found):
    page = found[1].read_text()
    for title in ("AUCPRC", "Rare rows expected and found", "Precision within the budget", "Group precision", "Cost"):
        assert f"<h3>{title}</h3>" in page


def test_two_kinds_of_models_have_the_same_folds(run, dated, folder):
    options = ("--base", "tree", "logistic", "--calibration", "none", "--every", "30d", "--json")
    code, out, _ = run("backtest", dated, *BACKTEST, *options)
    folds = json.loads(out)["folds"]
    assert code == 0
    assert [fold["model"] for fold in folds] == ["tree", "logistic"] * (len(folds) // 2)
    assert len({(fold["begin"], fold["n_test"]) for fold in folds}) == len(folds) // 2


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--every", "7"), "has no unit, but the times are dates"),
        (("--every", "7d", "--delay", "400d"), "There is no time for a test"),
        (("--every", "7d", "--time-column", "channel"), "Write times as dates such as"),
        (("--every", "7d", "--per", "day"), "--per day needs a number of alerts"),
        (("--every", "7d", "--decide", "p*note>5"), "Name a column of numbers"),
        (("--every", "7d", "--group", "channel"), "has no value in"),
    ],
)
def test_what_cannot_be_backtested_is_refused(run, dated, folder, options, complaint):
    code, _, said = run("backtest", dated, *BACKTEST, *options)
    assert code == 2
    assert complaint in said
