"""`selfpaced monitor`: files that a model scores in service."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from selfpaced.cli import main
from selfpaced.persistence import read_card
from tests.cli.commands import CSV, MODEL

NEW = "new.parquet"


@pytest.fixture(scope="session")
def files(mixed, payments):
    """Rows like those of the training, and rows that have moved."""
    mixed.to_parquet(payments / "same.parquet")
    moved = mixed.assign(amount=mixed["amount"] + 2, channel=mixed["channel"].replace("till", "drone"))
    labels = moved["is_fraud"].astype("Int64").where(moved.index < 1500)
    moved.assign(is_fraud=labels).to_parquet(payments / "moved.parquet")
    return payments


def monitored(run, files, name, *options):
    code, out, err = run("monitor", files / MODEL, files / name, "--json", *options)
    assert code in (0, 3), err
    return code, json.loads(out)


def test_rows_like_those_of_the_training_have_not_drifted(run, files, folder):
    code, found = monitored(run, files, "same.parquet", "--alarm", "psi>0.1", "drifted>0", "unseen>0")
    assert code == 0
    assert found["alarms"] == []
    assert found["all"]["n_rows"] == 3000
    assert found["all"]["estimate"]["expected"] == pytest.approx(90, rel=0.5)


def test_rows_that_have_moved_raise_an_alarm_and_exit_with_3(run, files, folder):
    code, found = monitored(run, files, "moved.parquet", "--alarm", "psi>0.25", "unseen>0.1", "missing>0.5")
    assert code == 3
    assert [alarm["limit"] for alarm in found["alarms"]] == ["psi>0.25", "unseen>0.1"]
    drifted = {one["name"]: one for one in found["all"]["drifts"] if one["p_value"] < 0.01}
    assert set(drifted) == {"amount", "channel"}
    assert drifted["channel"]["unseen"] == pytest.approx(0.3, abs=0.05)


def test_labels_that_have_arrived_are_compared_with_what_was_expected(run, files, folder):
    _, found = monitored(run, files, "moved.parquet", "--target", "is_fraud")
    arrived = found["all"]["labelled"]
    rows = pd.read_parquet(files / "moved.parquet")["is_fraud"]
    assert arrived["n_known"] == 1500
    assert arrived["found"] == rows.sum()


def test_every_period_has_its_figures(run, files, folder, mixed):
    options = ("--by", "month", "--time-column", "when", "--html", "monitor.html", "--alarm", "alerts>1")
    code, found = monitored(run, files, "same.parquet", *options)
    months = mixed["when"].dt.strftime("%Y-%m").value_counts().sort_index()
    assert {name: one["n_rows"] for name, one in found["periods"].items()} == months.to_dict()
    assert sum(one["n_alerts"] for one in found["periods"].values()) == found["all"]["n_alerts"]
    assert code == 3
    assert {alarm["period"] for alarm in found["alarms"]} <= set(months.index)
    page = (folder / "monitor.html").read_text()
    for title in ("Alerts", "Rare rows expected and found", "Drift of the scores", "Population stability index"):
        assert f"<h3>{title}</h3>" in page


def test_a_terminal_is_told_in_words(run, files, folder):
    code, out, _ = run("monitor", files / MODEL, files / "moved.parquet", "--target", "is_fraud")
    assert code == 0
    assert out.startswith("2 of 9 columns have drifted: ")
    assert "If the probabilities are still right, expect" in out
    assert "Of 1,500 rows with a label" in out


def test_a_model_file_keeps_a_small_reference_or_none(run, files, folder):
    reference = read_card(files / MODEL).reference
    assert reference.n_rows == 600
    assert {"amount", "channel", "when.hour"} <= {feature.name for feature in reference.features}
    command = ("train", files / CSV, "--target", "is_fraud", "--base", "tree", "--members", 1, "--calibration", "none")
    assert main([*map(str, command), "--no-reference", "-o", "bare.skops", "-q"]) == 0
    assert read_card("bare.skops").reference is None
    code, _, said = run("monitor", "bare.skops", files / "same.parquet")
    assert code == 2
    assert "has no reference" in said


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--alarm", "psy>1"), "is not a limit such as 'psi>0.25'"),
        (("--by", "day"), "--by day --time-column COL"),
        (("--by", "day", "--time-column", "channel"), "Write times as dates such as"),
        (("--target", "channel"), "The model knows [0, 1]"),
        (("--target", "fraud"), "has no column 'fraud'"),
    ],
)
def test_what_cannot_be_watched_is_refused(run, files, folder, options, complaint):
    code, _, said = run("monitor", files / MODEL, files / "same.parquet", *options)
    assert code == 2
    assert complaint in said


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        (lambda rows: rows.drop(columns="balance"), "has no column 'balance'"),
        (lambda rows: rows.assign(balance="much"), "they are not numbers"),
        (lambda rows: rows.assign(channel=1), "they are not strings"),
        (lambda rows: rows.iloc[:0], "no rows to monitor"),
        (lambda rows: rows.assign(balance=np.inf), "contains infinity"),
    ],
)
def test_other_columns_and_types_are_refused(run, files, folder, mixed, changed, complaint):
    changed(mixed).to_parquet(NEW)
    code, _, said = run("monitor", files / MODEL, NEW)
    assert code == 2
    assert complaint in said


def test_an_alarm_names_the_columns_that_raised_it_although_none_has_drifted_much(run, files, folder, mixed):
    shifted = mixed.assign(balance=mixed["balance"].where(mixed.index % 12 > 0))
    shifted.to_parquet(NEW)
    code, out, err = run("monitor", files / MODEL, NEW, "--alarm", "missing>0.03", "psi>0.001")
    assert code == 3
    assert out.startswith("2 limits were exceeded: missing>0.03: ")
    assert "None of 9 columns" not in out
    for limit in ("missing>0.03", "psi>0.001"):
        assert re.search(rf"alarm: {limit}: .* \('balance'", err)


@pytest.mark.parametrize("written", [lambda kind: kind.str.upper(), lambda kind: kind == "theft"], ids=["case", "bool"])
def test_labels_written_otherwise_are_refused_by_a_model_of_one_label(run, folder, mixed, written):
    kind = pd.Series(np.where(mixed["is_fraud"] == 1, "theft", np.where(mixed["abroad"], "fine", "good")))
    mixed.assign(is_fraud=kind).to_parquet("kinds.parquet")
    train = ("train", "kinds.parquet", "--target", "is_fraud", "--pos-label", "theft", "--base", "tree")
    assert run(*train, "--members", 2, "-q")[0] == 0
    known = json.loads(run("monitor", "model.skops", "kinds.parquet", "--target", "is_fraud", "--json")[1])
    assert known["all"]["labelled"]["found"] == 90
    mixed.assign(is_fraud=written(kind)).to_parquet(NEW)
    code, _, said = run("monitor", "model.skops", NEW, "--target", "is_fraud")
    assert code == 2
    assert "The model knows the label 'theft' and all others, written in the same way" in said
