"""`selfpaced suspects` and `train --drop-unlabelled`"""

import json

import numpy as np
import pandas as pd
import pytest

from selfpaced.cli.splitting import held_out_at_random
from selfpaced.datasets import make_fraud
from selfpaced.persistence import read_card
from selfpaced.persistence.files import load_model
from selfpaced.tables import encode_labels

N_ROWS, FLIPPED = 1500, 5


@pytest.fixture(scope="module")
def wrong(tmp_path_factory):
    """Payments of which some common ones carry the rare label by mistake, with cards."""
    X, y = make_fraud(n_rows=N_ROWS, n_frauds=90, n_features=4, random_state=0)
    flipped = np.flatnonzero(y == 0)[:: (N_ROWS - 90) // FLIPPED][:FLIPPED]
    y[flipped] = 1
    path = tmp_path_factory.mktemp("wrong") / "payments.parquet"
    rows = pd.DataFrame(X, columns=list("abcd")).assign(
        is_fraud=y, tx=np.arange(N_ROWS) + 5000, card=np.random.default_rng(0).integers(300, size=N_ROWS)
    )
    rows.to_parquet(path)
    return path, flipped


def trained(run, path, *options):
    command = ("train", path, "--target", "is_fraud", "--base", "tree", "--members", 3, "--exclude", "tx", *options)
    code, _, said = run(*command, "-o", "model.skops", "-q")
    assert code == 0, said


def listed(run, path, *options):
    code, out, said = run("suspects", "model.skops", path, "--json", *options)
    assert code == 0, said
    return json.loads(out)


@pytest.mark.parametrize("options", [("--exclude", "tx", "card"), ("--group", "card")], ids=["rows", "groups"])
def test_labels_that_are_wrong_are_found_among_the_rows_trained_on(run, folder, wrong, options):
    path, flipped = wrong
    trained(run, path, *options)
    found = listed(run, path, "--n", 40, "--label", 1, "--keep", "tx", "-o", "suspects.csv")
    assert found["cross_fitted"]
    assert np.isin(flipped, found["rows"]).sum() >= FLIPPED - 1
    written = pd.read_csv("suspects.csv")
    assert written["tx"].tolist() == [row + 5000 for row in found["rows"]]
    assert (written["likelier"] == 0).all()
    assert written["doubt"].is_monotonic_decreasing


def test_rows_are_doubted_as_in_memory(run, folder, wrong):
    """Those trained on by models that have not seen them, and those held out by the model."""
    path, _ = wrong
    trained(run, path, "--exclude", "tx", "card")
    rows, model = pd.read_parquet(path), load_model("model.skops")
    found = listed(run, path, "--n", N_ROWS)
    doubt = dict(zip(found["rows"], found["doubts"], strict=True))
    held_out = held_out_at_random(encode_labels(rows["is_fraud"].to_numpy()), 0.2, 0)
    X, y = rows[list("abcd")], rows["is_fraud"]
    own = model.suspects(X[~held_out], y[~held_out], n=N_ROWS, trained_on=True)
    here = np.array([doubt[np.flatnonzero(~held_out)[row]] for row in own.rows])
    assert np.mean(np.isclose(here, own.doubts)) > 0.9  # copies of rows trained on are not divided in the same way
    assert np.abs(here - own.doubts).mean() < 0.02
    others = model.suspects(X[held_out], y[held_out], n=N_ROWS, trained_on=False)
    assert [doubt[np.flatnonzero(held_out)[row]] for row in others.rows] == pytest.approx(others.doubts.tolist())


def test_other_rows_are_judged_by_the_model_itself_with_a_warning(run, folder, wrong):
    path, _ = wrong
    trained(run, path, "--exclude", "tx", "card")
    pd.read_parquet(path).iloc[::-1].to_parquet("other.parquet")
    code, out, said = run("suspects", "model.skops", "other.parquet")
    assert code == 0
    assert "the model was not trained on these rows" in said
    assert "doubt" in out


def test_rows_without_a_label_are_left_out_if_told_and_refused_if_not(run, folder, wrong):
    path, _ = wrong
    rows = pd.read_parquet(path)
    rows["is_fraud"] = rows["is_fraud"].astype("Int64").where(np.arange(N_ROWS) % 10 > 0)
    rows.to_parquet("some.parquet")
    rows.to_csv("some.csv", index=False)
    code, _, said = run("train", "some.parquet", "--target", "is_fraud", "--base", "tree")
    assert code == 2
    assert "rows without a label. Drop these rows" in said
    for name in ("some.parquet", "some.csv"):
        trained(run, name, "--exclude", "tx", "card", "--drop-unlabelled")
        card = read_card("model.skops")
        assert card.metrics["n_unlabelled"] == N_ROWS // 10
        assert sum(card.class_counts) + card.metrics["n_rows"] == N_ROWS - N_ROWS // 10
        found = listed(run, name, "--n", 3)
        assert found["cross_fitted"]
        assert not any(row % 10 == 0 for row in found["rows"])


def test_a_table_without_any_label_is_refused(run, folder, wrong):
    pd.read_parquet(wrong[0]).assign(is_fraud=pd.NA).to_parquet("none.parquet")
    code, _, said = run("train", "none.parquet", "--target", "is_fraud", "--drop-unlabelled")
    assert code == 2
    assert "No row of column 'is_fraud' has a label." in said


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--n", 0), "--n must be at least 1"),
        (("--label", "maybe"), "The model does not know the label 'maybe'. Its labels are [0, 1]"),
        (("--target", "kind"), "has no column 'kind'"),
        (("--keep", "name"), "has no column 'name'"),
    ],
)
def test_what_cannot_be_looked_for_is_refused(run, folder, wrong, options, complaint):
    trained(run, wrong[0], "--exclude", "tx", "card", "--calibration", "none")
    code, _, said = run("suspects", "model.skops", wrong[0], *options)
    assert code == 2
    assert complaint in said


def test_a_model_of_one_label_against_all_others_lists_the_labels_of_the_data(run, folder, wrong):
    rows = pd.read_parquet(wrong[0])
    kinds = np.where(rows["is_fraud"] == 1, "theft", np.where(np.arange(N_ROWS) % 50 == 7, "loan", "fine"))
    rows.assign(is_fraud=kinds).to_parquet("kinds.parquet")
    trained(run, "kinds.parquet", "--exclude", "tx", "card", "--pos-label", "theft")
    found = listed(run, "kinds.parquet", "--n", 200, "-o", "suspects.csv")
    assert found["cross_fitted"]
    assert found["labels"] == kinds[found["rows"]].tolist()
    other = {"theft": "not theft", "fine": "theft", "loan": "theft"}
    assert found["likelier"] == [other[label] for label in found["labels"]]
    assert pd.read_csv("suspects.csv")["label"].tolist() == found["labels"]
    assert set(listed(run, "kinds.parquet", "--n", 5, "--label", "theft")["labels"]) == {"theft"}
    assert set(listed(run, "kinds.parquet", "--label", "not theft")["labels"]) <= {"fine", "loan"}
