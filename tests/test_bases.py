"""Base models by name, with what each needs to read a table."""

import numpy as np
import pandas as pd
import pytest

from selfpaced.cli.commands.compare import seeded
from selfpaced.ensembles.auto import base_model, columns_of, numbered_columns
from selfpaced.ensembles.auto.recipes import BASES
from selfpaced.tables.sources import open_table


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Numbers with missing values, and a category that decides."""
    rng = np.random.default_rng(0)
    y = np.arange(400) % 4 == 0
    frame = pd.DataFrame(
        {"number": rng.normal(size=400), "word": np.where(y, "web", rng.choice(["till", "phone"], 400))}
    )
    frame.loc[::7, "number"] = np.nan
    frame.loc[1::50, "word"] = None
    path = tmp_path_factory.mktemp("bases") / "rows.parquet"
    frame.assign(label=y).to_parquet(path)
    return open_table(path, target="label"), y


@pytest.mark.parametrize("name", BASES)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_base_model_reads_strings_and_missing_values(name, table):
    rows, y = table
    model = seeded(base_model(name, columns_of(None, rows.schema)), 0).fit(rows.features(), y)
    assert model.score(rows.features(), y) > 0.95


@pytest.mark.parametrize("name", ["tree", "forest", "gbdt", "logistic"])
def test_a_string_that_training_did_not_have_is_no_error(name, table):
    rows, y = table
    frame = rows.features()
    model = seeded(base_model(name, columns_of(None, rows.schema)), 0).fit(frame[:300], y[:300])
    odd = frame[300:].assign(word=pd.Categorical(["fax"] * 100))
    if name == "gbdt":
        odd["word"] = pd.Categorical([None] * 100, categories=frame["word"].cat.categories)
    assert model.predict_proba(odd).shape == (100, 2)


def test_boosted_trees_have_leaves_of_a_few_rows(table):
    """Members see some dozen rows: with 20 in a leaf they would learn nothing."""
    rows, _ = table
    rare = np.arange(24) % 2 == 0
    frame = pd.DataFrame(
        {"number": rare * 1.0, "word": pd.Categorical(["web"] * 24, rows.features()["word"].cat.categories)}
    )
    for name in ("gbdt", "lightgbm"):
        scores = base_model(name, columns_of(None, rows.schema)).fit(frame, rare).predict_proba(frame)[:, 1]
        assert scores[rare].min() > 0.9 > 0.1 > scores[~rare].max()


@pytest.mark.parametrize(("n_words", "is_encoded"), [(255, False), (256, True)])
def test_gradient_boosting_knows_up_to_255_categories(tmp_path, n_words, is_encoded):
    words = [f"w{n % n_words:03}" for n in range(2 * n_words)]
    pd.DataFrame({"word": words, "label": [n % 3 == 0 for n in range(2 * n_words)]}).to_parquet(
        tmp_path / "rows.parquet"
    )
    model = base_model("gbdt", columns_of(None, open_table(tmp_path / "rows.parquet", target="label").schema))
    assert hasattr(model, "steps") == is_encoded


@pytest.mark.parametrize(("name", "is_plain"), [("amount", True), ("a:b", False), ("größe", False), ("a b", True)])
def test_lightgbm_gets_numbers_for_names_that_it_refuses(tmp_path, name, is_plain):
    pd.DataFrame({name: [1.0, 2.0] * 10, "label": [0, 1] * 10}).to_parquet(tmp_path / "rows.parquet")
    model = base_model("lightgbm", columns_of(None, open_table(tmp_path / "rows.parquet", target="label").schema))
    assert hasattr(model, "steps") != is_plain
    assert list(numbered_columns(pd.DataFrame({"x:": [1], "y": [2]})).columns) == ["column_0", "column_1"]
