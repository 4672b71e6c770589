"""From alerts to labels: `refit --labels` takes the verdicts of a review."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from selfpaced.cli import main
from selfpaced.datasets import make_fraud
from tests.reviewing.running import queue_of


def command(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    said = capsys.readouterr()
    return code, said.out, said.err


def payments(n_a_month=2000, seed=0):
    """Payments of three months. After the first one, half of the frauds look like none before."""
    n = 3 * n_a_month
    X, y = make_fraud(n_rows=n, n_frauds=n * 8 // 100, n_features=4, random_state=seed)
    rows = pd.DataFrame(X, columns=list("abcd")).assign(hour=np.arange(n), tx=np.arange(n) + 10, is_fraud=y)
    changed = (rows["hour"] >= n_a_month) & (rows["is_fraud"] == 1) & (rows["tx"] % 2 == 0)
    rows.loc[changed, list("abcd")] *= -1
    return rows


def gain_by_verdicts(seed, capsys):
    """How much the AUCPRC on new rows rises by a refit with verdicts, 5% of which are wrong."""
    rows, rng = payments(6000, seed), np.random.default_rng(seed)
    january, february, march = rows[:6000], rows[6000:12_000].assign(is_fraud=None), rows[12_000:]
    january.to_parquet("january.parquet")
    pd.concat([january, february.astype({"is_fraud": "Int64"})]).to_parquet("all.parquet")
    february.drop(columns="is_fraud").to_parquet("february.parquet")
    march.to_parquet("march.parquet")
    learned = ("--target", "is_fraud", "--time-column", "hour", "--base", "lightgbm", "--members", 3, "--exclude", "tx")
    learned += ("--calibration", "none")  # the order of rows is what is judged
    assert command(capsys, "train", "january.parquet", *learned, "-o", "old.skops", "-q", "--seed", seed)[0] == 0
    scored = ("-o", "scores.parquet", "--keep", "tx", "--top", 450, "-q")
    assert command(capsys, "predict", "old.skops", "february.parquet", *scored)[0] == 0
    verdicts = f"verdicts-{seed}.csv"
    queue = queue_of("scores.parquet", "-o", verdicts, "--model", "old.skops", "--audit", 1500, "--seed", seed)
    truth = dict(zip(rows["tx"].astype(str), rows["is_fraud"] == 1, strict=True))
    for number, item in enumerate(queue.items):
        is_rare = truth[item.id] != (rng.random() < 0.05)
        queue.record(number, "Ann", "rare" if is_rare else "common", "")
    queue.file.close()
    again = ("all.parquet", "--labels", verdicts, "--drop-unlabelled", "-o", "new.skops")
    code, said, complained = command(capsys, "refit", "old.skops", *again)
    assert code == 0, complained
    assert "those with one are no random sample, so the figures below can be too good" in complained
    assert f"{verdicts} has labels of 1,950 rows of all.parquet. New or changed: 1,950." in said
    old, new = (
        json.loads(command(capsys, "evaluate", one, "march.parquet", "--json")[1]) for one in ("old.skops", "new.skops")
    )
    return new["aucprc"] - old["aucprc"]


@pytest.mark.slow
def test_verdicts_of_a_reviewer_who_errs_in_5_percent_make_the_model_better(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.fsync", lambda file: None)  # for thousands of verdicts it would take most of the time
    gains = [gain_by_verdicts(seed, capsys) for seed in range(6)]
    assert np.mean(gains) > 2 * np.std(gains, ddof=1) / np.sqrt(len(gains)), gains  # from 0.006 to 0.110


@pytest.fixture
def model(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    payments()[:1000].to_parquet("payments.parquet")
    learned = ("--target", "is_fraud", "--base", "tree", "--members", 2, "--exclude", "tx")
    assert command(capsys, "train", "payments.parquet", *learned, "-q")[0] == 0
    return "model.skops"


def test_labels_by_id_replace_those_of_the_rows_and_doubtful_ones_change_nothing(model, capsys):
    refit = ("refit", model, "payments.parquet", "--labels")
    said = [
        ("10", "rare", "Ann"),
        ("11", "unsure", "Ann"),
        ("12", "rare", "Ann"),
        ("12", "common", "Bob"),
        ("7", "rare", "Ann"),
    ]
    lines = [f"{id},{verdict},,{who},now\n" for id, verdict, who in said]
    Path("verdicts.csv").write_text("tx,verdict,note,reviewer,time\n" + "".join(lines))
    code, found, complained = command(capsys, *refit, "verdicts.csv")
    assert code == 0, complained
    assert "The verdicts about 1 row are unsure. They change no label." in found
    assert "The verdicts about 1 row disagree." in found
    assert "verdicts.csv has labels of 1 row of payments.parquet" in found
    assert "verdicts.csv has labels of 1 row that payments.parquet does not have." in complained
    assert "no random sample" not in complained
    pd.DataFrame({"tx": [10, 11], "is_fraud": [1, 0]}).to_csv("labels.csv", index=False)
    assert "--id COL" in command(capsys, *refit, "labels.csv")[2]
    assert "--labels FILE" in command(capsys, "refit", model, "payments.parquet", "--id", "tx")[2]
    assert "has labels of 2 rows" in command(capsys, *refit, "labels.csv", "--id", "tx")[1]
    pd.DataFrame({"tx": [10], "is_fraud": [7]}).to_csv("labels.csv", index=False)
    assert command(capsys, *refit, "labels.csv", "--id", "tx")[0] == 2
    Path("verdicts.csv").write_text("tx,verdict,is_fraud,note,reviewer,time\n10,rare,0,,Ann,now\n")
    assert "so 'is_fraud' must be 1, not '0'" in command(capsys, *refit, "verdicts.csv")[2]
    Path("verdicts.csv").write_text("tx,verdict,note,reviewer,time\nx,rare,,Ann,now\n")
    assert "No id of verdicts.csv is among the 1,000" in command(capsys, *refit, "verdicts.csv")[2]


def test_suspects_are_reviewed_on_the_same_page(model, capsys):
    assert command(capsys, "suspects", model, "payments.parquet", "--keep", "tx", "-o", "suspects.csv", "-q")[0] == 0
    queue = queue_of("suspects.csv", "-o", "verdicts.csv", "--id", "tx", "--model", model)
    first = queue.shown(0, "Ann")
    queue.file.close()
    assert len(queue.items) == 20
    assert queue.facts["score"] == "doubt"
    assert first["score"] >= queue.items[1].score
    assert {"label", "likelier"} <= set(dict(first["row"]))
