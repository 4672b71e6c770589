"""How often `train` reads a file: the work is counted, not the seconds."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest

from selfpaced.cli import main
from selfpaced.datasets import make_fraud
from selfpaced.tables.sources import cache as conversion

MEMBERS = 3


@pytest.fixture
def folder(tmp_path, monkeypatch):
    X, y = make_fraud(n_rows=2000, n_frauds=60, n_features=4, random_state=0)
    rows = pd.DataFrame(X, columns=list("abcd")).assign(
        shop=np.where(X[:, 0] > 0, "web", "till"), tx=np.arange(2000), amount=np.abs(X[:, 1]), is_fraud=y
    )
    rows.to_parquet(tmp_path / "rows.parquet", index=False)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def train(*arguments: str) -> None:
    options = ["--target", "is_fraud", "--base", "tree", "--members", str(MEMBERS), "--quiet", "--id", "tx"]
    assert main(["train", *arguments, *options]) == 0


def test_a_file_that_fits_into_memory_is_read_once(folder, passes):
    train("rows.parquet", "--report", "report.html")
    assert len(passes) == 1
    assert Counter(passes[0]) == Counter(["a", "b", "c", "d", "shop", "tx", "amount", "is_fraud"])


def test_a_text_file_is_converted_once(folder, passes, monkeypatch):
    written, convert = [], conversion._write
    monkeypatch.setattr(conversion, "_write", lambda *given: written.append(given) or convert(*given))
    train("rows.csv", "--report", "report.html")
    assert (len(written), len(passes)) == (1, 1)


def test_a_file_larger_than_memory_is_read_once_a_round_and_its_target_for_labels_and_record(folder, passes):
    train("rows.parquet", "--out-of-core", "--calibration", "none")
    assert sum("is_fraud" in columns for columns in passes) == 2
    record, first_look, minority, *rounds, test_scores, leaks, reference = passes
    assert "is_fraud" in record
    assert "is_fraud" in first_look
    # The warm-up's rows come with the minority; after that, each round is one pass over the features.
    assert len(rounds) == MEMBERS
    features = ("a", "b", "c", "d", "shop", "amount")
    assert {minority, *rounds, test_scores, leaks, reference} == {features}


def test_calibrating_needs_two_passes_more(folder, passes):
    train("rows.parquet", "--out-of-core", "--calibration", "none")
    plain = len(passes)
    passes.clear()
    train("rows.parquet", "--out-of-core", "--calibration", "isotonic")
    assert len(passes) - plain == 2  # to score the last member, and to draw a sample
