"""`selfpaced monitor`: files that a model scores in service."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from selfpaced.cli import main
from selfpaced.monitoring import make_reference
from selfpaced.persistence import load_model, read_card, save_model
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


@pytest.mark.filterwarnings("ignore::selfpaced.exceptions.NewCategoryWarning")  # which a report gives, too
def test_a_report_on_the_same_rows_has_the_same_drift(run, files, folder):
    """Also in a column with new categories, which are other values than the missing ones."""
    _, found = monitored(run, files, "moved.parquet")
    labels = pd.read_parquet(files / "same.parquet")["is_fraud"]
    pd.read_parquet(files / "moved.parquet").assign(is_fraud=labels).to_parquet("labelled.parquet")
    code, _, said = run("report", files / MODEL, "labelled.parquet", "-o", "r.json")
    assert code == 0, said
    reported = {one["name"]: one["drift"] for one in json.loads((folder / "r.json").read_text())["data"]["columns"]}
    for drift in found["all"]["drifts"]:
        own = reported[drift["name"]]
        assert (own["psi"], own["missing"]) == (pytest.approx(drift["psi"]), drift["missing"])


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
        (("--target", "channel"), "the model knows [0, 1]"),
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


@pytest.fixture(scope="session")
def one_label(mixed, payments):
    """A model of the label 2 against 0 and 1, and one of "c" against "a" and "b"."""
    kinds = np.where(mixed["is_fraud"] == 1, 2, np.arange(len(mixed)) % 2)
    for name, labels in (("whole", kinds), ("text", np.array(list("abc"))[kinds])):
        rows = mixed.assign(kind=labels).drop(columns="is_fraud")
        rows.to_parquet(payments / f"{name}.parquet")
        command = ("train", payments / f"{name}.parquet", "--target", "kind", "--pos-label", max(labels))
        options = ("--base", "tree", "--members", 2, "--calibration", "sigmoid", "-q", "-o", payments / f"{name}.skops")
        assert main([*map(str, command), *map(str, options)]) == 0
    return payments


@pytest.mark.parametrize(
    ("model", "written"),
    [
        ("whole", lambda kind: kind.astype(str)),
        ("whole", lambda kind: kind + 0.4),
        ("whole", lambda kind: kind == 2),
        ("text", lambda kind: kind.str.upper()),
        ("text", lambda kind: kind + " "),
        ("text", lambda kind: kind.replace("c", "fraud")),
        ("whole", lambda kind: kind.replace(2, 7)),
        ("text", lambda kind: kind.mask((kind == "c") & (kind.index % 2 == 0), "C")),
    ],
    ids=["strings", "fractions", "booleans", "capitals", "spaces", "renamed", "renumbered", "in two ways"],
)
@pytest.mark.parametrize("command", ["monitor", "evaluate"])
def test_labels_written_otherwise_than_in_training_are_refused(run, one_label, folder, command, model, written):
    rows = pd.read_parquet(one_label / f"{model}.parquet")
    rows.assign(kind=written(rows["kind"])).to_parquet(NEW)
    code, _, said = run(command, one_label / f"{model}.skops", NEW, "--target", "kind")
    assert code == 2
    assert "labels" in said
    assert "'kind'" in said


def test_labels_of_one_against_all_are_counted(run, one_label, folder):
    """Also if no row with the one label is known yet."""
    rows = pd.read_parquet(one_label / "whole.parquet")
    for n_rare in (90, 0):
        rows[(rows["kind"] < 2) | (n_rare > 0)].to_parquet(NEW)
        code, out, _ = run("monitor", one_label / "whole.skops", NEW, "--target", "kind", "--json")
        assert (code, json.loads(out)["all"]["labelled"]["found"]) == (0, n_rare)


@pytest.mark.parametrize("command", ["monitor", "evaluate"])
def test_a_new_label_beside_the_one_is_another_one_of_the_others(run, one_label, folder, command):
    rows = pd.read_parquet(one_label / "text.parquet")
    rows.assign(kind=rows["kind"].replace("a", "d")).to_parquet(NEW)
    code, out, said = run(command, one_label / "text.skops", NEW, "--target", "kind", "--json")
    assert code == 0, said
    found = json.loads(out)
    assert (found["all"]["labelled"]["found"] if command == "monitor" else found["n_positives"]) == 90


def test_a_sample_in_the_reference_is_mentioned(run, files, folder):
    reference = replace(read_card(files / MODEL).reference, n_counted=500)
    save_model(load_model(files / MODEL), "sampled.skops", reference=reference)
    code, out, _ = run("monitor", "sampled.skops", files / "same.parquet")
    assert code == 0
    assert "compared with 600 held-out rows of the training (their scores; and their columns in a sample of 500" in out


def test_a_reference_of_other_columns_is_refused(run, files, folder):
    reference = make_reference(np.zeros((30, 2)), np.linspace(0, 1, 30))
    save_model(load_model(files / MODEL), "other.skops", reference=reference)
    code, _, said = run("monitor", "other.skops", files / "same.parquet")
    assert code == 2
    assert "column 'x0', which is not a feature of the model" in said


def test_an_alarm_names_the_columns_that_raised_it_although_none_has_drifted_much(run, files, folder, mixed):
    shifted = mixed.assign(balance=mixed["balance"].where(mixed.index % 12 > 0))
    shifted.to_parquet(NEW)
    code, out, err = run("monitor", files / MODEL, NEW, "--alarm", "missing>0.03", "psi>0.001")
    assert code == 3
    assert out.startswith("2 limits were exceeded: missing>0.03: ")
    assert "None of 9 columns" not in out
    for limit in ("missing>0.03", "psi>0.001"):
        assert re.search(rf"alarm: {limit}: .* \('balance'", err)
