"""`selfpaced refit`: the same recipe on newer rows, compared with the model."""

import json
from shutil import copyfile

import numpy as np
import pandas as pd
import pytest

from selfpaced.cli import main
from selfpaced.datasets import make_fraud
from selfpaced.persistence import read_card
from selfpaced.persistence.files import load_model


@pytest.fixture(scope="module")
def months(tmp_path_factory):
    """Payments of two months; in the second one frauds have changed."""
    folder = tmp_path_factory.mktemp("months")
    X, y = make_fraud(n_rows=3000, n_frauds=240, n_features=4, random_state=0)
    when = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(3000), unit="h")
    rows = pd.DataFrame(X, columns=list("abcd")).assign(when=when, channel=np.where(y, "web", "till"), is_fraud=y)
    rows["channel"] = np.where(np.random.default_rng(0).random(3000) < 0.6, "phone", rows["channel"])
    late = rows.index >= 1500
    changed = late & (rows["is_fraud"] == 1)
    rows.loc[changed, list("abcd")] *= -1
    rows.loc[changed, "channel"] = "phone"
    rows[~late].to_parquet(folder / "january.parquet")
    rows.to_parquet(folder / "all.parquet")
    return folder


@pytest.fixture(scope="module")
def of_january(months):
    command = ("train", months / "january.parquet", "--target", "is_fraud", "--base", "tree", "--members", 3)
    options = ("--time-column", "when", "--rule", "recall>=0.5", "-o", months / "model.skops", "-q")
    assert main([str(argument) for argument in (*command, *options)]) == 0
    return months / "model.skops"


@pytest.fixture
def model(folder, of_january):
    """The model of January, in the folder that commands are called in."""
    return copyfile(of_january, folder / "model.skops")


def test_the_recipe_is_trained_anew_with_its_columns_seed_and_rule(run, months, model):
    code, _, said = run("refit", model, months / "all.parquet", "-o", "new.skops", "--json")
    assert code == 0, said
    old, new = read_card(model), read_card("new.skops")
    assert new.parameters == old.parameters
    assert new.feature_names == old.feature_names
    assert new.metrics["rule"] == "recall>=0.5"
    assert new.metrics["training"] == old.metrics["training"]
    assert sum(new.class_counts) == 2400
    assert new.reference is not None
    assert load_model("new.skops").random_state == load_model(model).random_state


def test_rows_that_have_changed_make_the_new_model_better_and_it_is_written(run, months, model):
    said = json.loads(run("refit", model, months / "all.parquet", "-o", "new.skops", "--if-better", "--json")[1])
    assert said["is_better"]
    assert said["newest"]
    assert said["interval"][0] > 0
    assert said["difference"] == pytest.approx(said["aucprc"] - said["old_aucprc"])
    assert said["model"] == "new.skops"


def test_a_model_that_is_not_better_is_not_written(run, folder, months, model):
    code, out, _ = run("refit", model, months / "january.parquet", "-o", "same.skops", "--if-better")
    assert code == 0
    assert "is not better; same.skops was not written" in out
    assert not (folder / "same.skops").exists()


def test_without_an_output_models_are_compared_only(run, folder, months, model):
    before = set(folder.iterdir())
    code, out, _ = run("refit", model, months / "all.parquet")
    assert code == 0
    assert "interval of the difference" in out
    assert set(folder.iterdir()) == before


def test_rows_without_an_order_of_time_are_warned_about(run, folder, months):
    train = ("train", months / "january.parquet", "--target", "is_fraud", "--base", "tree", "--members", 2)
    assert run(*train, "--exclude", "when", "-o", "plain.skops", "-q", "--calibration", "none")[0] == 0
    code, _, said = run("refit", "plain.skops", months / "all.parquet")
    assert code == 0
    assert "the old model may have been trained on some of the rows that it is judged by" in said


@pytest.mark.parametrize(
    ("changed", "options", "complaint"),
    [
        (lambda rows: rows.drop(columns="b"), (), "has no column 'b', which the model was trained with"),
        (lambda rows: rows.drop(columns="when"), (), "There is no column 'when'"),
        (lambda rows: rows, ("--if-better",), "Name it: -o FILE"),
        (lambda rows: rows.assign(is_fraud=1 - rows["is_fraud"]), (), "the rarest label of the new rows is"),
    ],
)
def test_what_cannot_be_refitted_is_refused(run, months, model, changed, options, complaint):
    changed(pd.read_parquet(months / "all.parquet")).to_parquet("changed.parquet")
    code, _, said = run("refit", model, "changed.parquet", *options)
    assert code == 2
    assert complaint in said
