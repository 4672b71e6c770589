"""`--types`: the types of columns of text files, where they cannot be inferred."""

import json

import numpy as np
import pandas as pd
import pytest

from selfpaced.persistence.files import load_model

TRAIN = ("--target", "label", "--base", "tree", "--members", 2, "--calibration", "none")


@pytest.fixture
def commas(folder):
    """Prices such as 170,124: with a decimal comma, or with one for thousands."""
    rng = np.random.default_rng(0)
    label = (rng.random(400) < 0.2).astype(int)
    price = [f"{n // 1000},{n % 1000:03}" for n in rng.integers(100_000, 900_000, 400) + 50_000 * label]
    rows = pd.DataFrame({"price": price, "code": rng.integers(1, 9, 400), "x": rng.normal(size=400), "label": label})
    rows.to_csv("rows.csv", index=False, sep=";")
    return rows


def test_ambiguous_commas_are_refused_with_the_option_to_copy(run, commas):
    code, _, complained = run("train", "rows.csv", *TRAIN)
    assert code == 2
    assert "--types price='decimal comma' on the command line" in complained


@pytest.mark.parametrize(("kind", "largest"), [("decimal comma", 951), ("thousands comma", 951_000)])
def test_the_type_is_read_in_training_and_in_scoring(run, commas, kind, largest):
    typed = ("--types", f"price={kind}", "code=string")
    code, _, complained = run("train", "rows.csv", *TRAIN, *typed, "-q")
    assert code == 0, complained
    assert load_model("model.skops").trained_on_.schema.columns[1].categories is not None
    code, _, complained = run("predict", "model.skops", "rows.csv", "-o", "scores.parquet", *typed, "--keep", "price")
    assert code == 0, complained
    prices = pd.read_parquet("scores.parquet")["price"]
    assert largest / 10 < prices.max() < largest
    code, said, complained = run("evaluate", "model.skops", "rows.csv", *typed, "--json")
    assert (code, json.loads(said)["n_rows"]) == (0, 400), complained


@pytest.mark.parametrize(
    ("types", "complaint"),
    [
        ("price", "--types must be COLUMN=TYPE, such as amount=float,code=string; got 'price'"),
        ("price=money", "'money'} is not the name of an Arrow type"),
        ("prise=float", "types= names 'prise'"),
    ],
)
def test_types_that_cannot_be_read_are_refused(run, commas, types, complaint):
    code, _, complained = run("train", "rows.csv", *TRAIN, "--types", types)
    assert code == 2
    assert complaint in complained


@pytest.mark.parametrize("source", ["rows.csv", "rows.parquet"])
def test_types_that_a_file_to_score_does_not_use_are_refused(run, commas, source):
    commas.assign(price=1.5).to_parquet("rows.parquet")
    commas.assign(price=1.5).to_csv("rows.csv", index=False)
    assert run("train", "rows.parquet", *TRAIN, "--exclude", "price", "-q")[0] == 0
    name = "prise" if source == "rows.csv" else "x"
    code, _, complained = run("predict", "model.skops", source, "-o", "scores.csv", "--types", f"{name}=float")
    assert code == 2
    assert f"types= names {name!r}, but no CSV or JSON file" in complained
