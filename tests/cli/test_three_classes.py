"""Commands on a table with three labels, of which the rarest is the one that scores are about."""

import json
from shutil import copyfile

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score

from selfpaced.cli import main
from selfpaced.persistence.files import load_model

FEATURES = ["amount", "b", "c", "d"]
N_ROWS, N_FRAUDS, N_ERRORS = 1800, 80, 200


@pytest.fixture(scope="module")
def rows():
    """Payments in the order of time: frauds and errors among them, each visible in a column of its own."""
    rng = np.random.default_rng(0)
    kind = rng.permutation(np.repeat(["fraud", "error", "ok"], [N_FRAUDS, N_ERRORS, N_ROWS - N_FRAUDS - N_ERRORS]))
    rows = pd.DataFrame(rng.normal(size=(N_ROWS, 4)), columns=FEATURES)
    rows.loc[kind == "fraud", "b"] += 3
    rows.loc[kind == "error", "c"] += 3
    rows["amount"] = np.exp(rows["amount"])
    return rows.assign(
        kind=kind,
        when=pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(N_ROWS) * 600, unit="s"),
        tx=np.arange(N_ROWS) + 5000,
    )


@pytest.fixture(scope="module")
def trained(rows, tmp_path_factory):
    """A folder with the rows, and a model that was trained on them for all three labels."""
    folder = tmp_path_factory.mktemp("three")
    rows.to_parquet(folder / "rows.parquet")
    command = ("train", folder / "rows.parquet", "--target", "kind", "--base", "tree", "--members", 3)
    options = ("--exclude", "tx", "--time-column", "when", "-o", folder / "model.skops", "-q")
    assert main([str(argument) for argument in (*command, *options)]) == 0
    return folder


@pytest.fixture
def files(folder, trained):
    """The rows and the model, in the folder that commands are called in."""
    for name in ("rows.parquet", "model.skops"):
        copyfile(trained / name, folder / name)
    return folder


def told(run, *command):
    """What a command prints for scripts."""
    code, out, said = run(*command, "--json")
    assert code == 0, said
    return json.loads(out)


def fraud_scores(rows):
    model = load_model("model.skops")
    assert model.classes_.tolist() == ["error", "fraud", "ok"]
    return model.predict_proba(rows[FEATURES])[:, 1]


def test_decisions_row_by_row_go_by_the_probability_of_the_rarest_label(run, files, rows):
    said = told(run, "predict", "model.skops", "rows.parquet", "-o", "s.csv", "--decide", "p*amount>1")
    scores = fraud_scores(rows)
    expected = scores * rows["amount"] > 1
    assert 0 < expected.sum() < len(rows)
    written = pd.read_csv("s.csv")
    assert written["alert"].tolist() == expected.tolist()
    np.testing.assert_array_equal(written["score_fraud"], scores)
    assert said["n_alerts"] == expected.sum()
    assert said["n_expected"] == pytest.approx(scores.sum())


def test_the_best_rows_of_each_day_are_those_with_the_highest_probability_of_the_rarest_label(run, files, rows):
    options = ("--top", 5, "--per", "day", "--time-column", "when")
    told(run, "predict", "model.skops", "rows.parquet", "-o", "s.csv", *options)
    alerts = pd.read_csv("s.csv")["alert"].to_numpy()
    days = rows["when"].dt.date.to_numpy()
    scores = fraud_scores(rows)
    for day in np.unique(days):
        of_day = days == day
        assert alerts[of_day].sum() == 5
        assert scores[of_day & alerts].min() >= scores[of_day & ~alerts].max()


def test_monitoring_counts_the_rarest_label_alone(run, files, rows):
    said = told(run, "monitor", "model.skops", "rows.parquet", "--target", "kind")
    scores = fraud_scores(rows)
    assert said["all"]["estimate"]["expected"] == pytest.approx(scores.sum())
    assert said["all"]["labelled"]["found"] == N_FRAUDS
    assert said["all"]["labelled"]["n_known"] == N_ROWS
    alerts = scores >= said["threshold"]
    assert said["all"]["labelled"]["precision"] == pytest.approx((rows["kind"][alerts] == "fraud").mean())


def test_a_model_is_trained_again_for_the_same_three_labels(run, files, rows):
    said = told(run, "refit", "model.skops", "rows.parquet", "-o", "new.skops")
    newest = rows[-said["n_rows"] :]
    assert said["n_positives"] == (newest["kind"] == "fraud").sum()
    new = load_model("new.skops")
    assert new.classes_.tolist() == ["error", "fraud", "ok"]
    found = average_precision_score(newest["kind"] == "fraud", new.predict_proba(newest[FEATURES])[:, 1])
    assert said["aucprc"] == pytest.approx(found)
    assert said["old_aucprc"] == pytest.approx(average_precision_score(newest["kind"] == "fraud", fraud_scores(newest)))


def test_labels_that_were_exchanged_between_three_classes_are_found(run, files, rows):
    wrong = np.flatnonzero(rows["kind"] == "error")[:5]
    rows.assign(kind=rows["kind"].where(~rows.index.isin(wrong), "ok")).to_parquet("wrong.parquet")
    command = (
        "train",
        "wrong.parquet",
        "--target",
        "kind",
        "--base",
        "tree",
        "--members",
        5,
        "--exclude",
        "tx",
        "when",
    )
    assert run(*command, "-o", "wrong.skops", "-q")[0] == 0
    found = told(run, "suspects", "wrong.skops", "wrong.parquet", "--n", 60, "--label", "ok")
    assert set(found["labels"]) == {"ok"}
    assert set(found["likelier"]) <= {"error", "fraud"}
    likelier = dict(zip(found["rows"], found["likelier"], strict=True))
    assert sum(likelier.get(row) == "error" for row in wrong) >= 4


def test_one_label_against_the_others_gives_one_score(run, files, rows):
    command = ("train", "rows.parquet", "--target", "kind", "--pos-label", "error", "--base", "tree", "--members", 3)
    assert run(*command, "--exclude", "tx", "when", "-o", "errors.skops", "-q")[0] == 0
    said = told(run, "predict", "errors.skops", "rows.parquet", "-o", "s.csv", "--top", 100)
    written = pd.read_csv("s.csv")
    assert list(written) == ["score", "alert"]
    assert said["n_alerts"] == 100
    assert (rows["kind"][written["alert"]] == "error").mean() > 0.6
