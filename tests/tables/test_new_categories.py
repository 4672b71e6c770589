"""Categories that a model was not trained with are counted, and reported once."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.ensembles.auto import AutoSelfPacedClassifier
from selfpaced.exceptions import NewCategoryWarning, TableError
from selfpaced.tables.sources import open_table

BASE = HistGradientBoostingClassifier(max_iter=5, categorical_features="from_dtype")


def shops(n_rows: int, names: list[str]) -> pd.DataFrame:
    random = np.random.default_rng(0)
    return pd.DataFrame({"amount": random.normal(size=n_rows), "shop": random.choice(names, n_rows)})


def labelled(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.assign(label=(np.arange(len(rows)) % 10 == 0).astype(int))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("shops") / "rows.parquet"
    labelled(shops(400, ["web", "store"])).to_parquet(path)
    return SelfPacedEnsembleClassifier(BASE, 2, random_state=0).fit_table(open_table(path, target="label"))


@pytest.fixture
def new_rows() -> pd.DataFrame:
    rows = shops(300, ["web", "store"])
    rows.loc[:6, "shop"] = "kiosk"
    rows.loc[10:12, "shop"] = None
    return rows


def new_categories(caught) -> list[NewCategoryWarning]:
    return [one.message for one in caught if isinstance(one.message, NewCategoryWarning)]


def test_a_frame_with_new_categories_is_warned_about_with_counts(model, new_rows):
    with pytest.warns(NewCategoryWarning, match=r"'shop' in 7 rows of 300") as caught:
        model.predict_proba(new_rows)
    assert new_categories(caught)[0].counts == {"shop": 7}
    assert caught[0].filename == __file__


def test_pandas_categories_are_counted_too(model, new_rows):
    with pytest.warns(NewCategoryWarning, match="'shop' in 7 rows of 300"):
        model.predict_proba(new_rows.astype({"shop": "category"}))


@pytest.mark.parametrize("batch_rows", [40, 300])
def test_a_file_gives_one_warning_for_all_its_batches(model, new_rows, tmp_path, batch_rows):
    new_rows.to_parquet(tmp_path / "new.parquet")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.predict_proba_table(tmp_path / "new.parquet", batch_rows=batch_rows)
    assert [one.counts for one in new_categories(caught)] == [{"shop": 7}]


def test_a_file_of_several_threads_is_counted_once(model, new_rows, tmp_path):
    pd.concat([new_rows] * 200, ignore_index=True).to_parquet(tmp_path / "new.parquet")
    model.set_params(n_jobs=2)
    with pytest.warns(NewCategoryWarning, match=r"'shop' in 1,400 rows of 60,000"):
        model.predict_proba_table(tmp_path / "new.parquet")


def test_missing_values_and_known_categories_are_not_new(model, new_rows):
    """Warnings are errors in tests."""
    model.predict_proba(new_rows.iloc[7:])


def test_missing_values_in_a_dictionary_are_not_new(model, tmp_path):
    import pyarrow as pa

    shop = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None]), pa.array(["web", None, "kiosk"]))
    with pytest.warns(NewCategoryWarning, match=r"'shop' in 1 row of 4"):
        model.predict_proba(pa.table({"amount": [0.0, 1.0, 2.0, 3.0], "shop": shop}))


def test_a_blend_of_a_frame_with_strings_counts_them(new_rows):
    rows = labelled(shops(400, ["web", "store"]))
    recipes = [("boosting", SelfPacedEnsembleClassifier(BASE, 2))]
    blend = AutoSelfPacedClassifier(recipes, calibration=None, random_state=0).fit(
        rows[["amount", "shop"]], rows["label"]
    )
    with pytest.warns(NewCategoryWarning, match="'shop' in 7 rows of 300"):
        blend.predict_proba(new_rows)


@pytest.fixture(scope="module")
def of_frame():
    """A model that was trained on pandas categories, whose order is not the alphabet's."""
    rows = labelled(shops(400, ["web", "store"]))
    rows["shop"] = pd.Categorical(rows["shop"], categories=["web", "store", "phone"])
    return SelfPacedEnsembleClassifier(BASE, 2, random_state=0).fit(rows[["amount", "shop"]], rows["label"])


def test_a_model_of_pandas_categories_counts_new_ones(of_frame, new_rows):
    with pytest.warns(NewCategoryWarning, match=r"'shop' in 7 rows of 300") as caught:
        of_frame.predict_proba(new_rows.astype({"shop": "category"}))
    assert caught[0].filename == __file__


def test_a_category_that_was_declared_in_training_is_not_new(of_frame, new_rows):
    """Warnings are errors in tests."""
    of_frame.predict_proba(new_rows.replace({"shop": {"kiosk": "phone"}}).astype({"shop": "category"}))


@pytest.mark.parametrize("batch_rows", [40, 300])
@pytest.mark.parametrize("kinds", [{"shop": "category"}, {}], ids=["category", "strings"])
def test_a_model_of_pandas_categories_scores_a_file_as_its_frame(of_frame, new_rows, tmp_path, batch_rows, kinds):
    new_rows.astype(kinds).to_parquet(tmp_path / "new.parquet")
    with pytest.warns(NewCategoryWarning, match=r"'shop' in 7 rows of 300"):
        expected = of_frame.predict_proba(new_rows.astype({"shop": "category"}))[:, 1]
    with pytest.warns(NewCategoryWarning, match=r"'shop' in 7 rows of 300"):
        scores = of_frame.predict_proba_table(tmp_path / "new.parquet", batch_rows=batch_rows)
    np.testing.assert_array_equal(scores, expected)


def test_a_file_whose_strings_are_all_missing_is_scored_as_its_frame(of_frame, new_rows, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    nothing = pa.nulls(len(new_rows))
    pq.write_table(pa.table({"amount": new_rows["amount"], "shop": nothing}), tmp_path / "new.parquet")
    frame = new_rows.assign(shop=pd.Categorical([None] * len(new_rows), categories=["web"]))
    np.testing.assert_array_equal(
        of_frame.predict_proba_table(tmp_path / "new.parquet"), of_frame.predict_proba(frame)[:, 1]
    )


def test_a_model_of_pandas_categories_refuses_a_file_with_numbers_in_their_place(of_frame, new_rows, tmp_path):
    new_rows.assign(shop=1.5).to_parquet(tmp_path / "new.parquet")
    with pytest.raises(TableError, match=r"Column 'shop' of .* is double, but the model was trained with strings"):
        of_frame.predict_proba_table(tmp_path / "new.parquet")


def test_a_file_is_read_once_for_a_model_of_a_frame(of_frame, new_rows, tmp_path, passes):
    new_rows.iloc[7:].to_parquet(tmp_path / "new.parquet")
    of_frame.predict_proba_table(tmp_path / "new.parquet")
    assert passes == [("amount", "shop")]


def test_a_pipeline_refuses_a_new_category_of_a_file_as_that_of_a_frame(tmp_path, new_rows):
    encode = make_column_transformer((OneHotEncoder(), ["shop"]), remainder="passthrough")
    base = make_pipeline(encode, DecisionTreeClassifier(max_depth=3, random_state=0))
    rows = labelled(shops(400, ["web", "store"]))
    of_strings = SelfPacedEnsembleClassifier(base, 2, random_state=0).fit(rows[["amount", "shop"]], rows["label"])
    new_rows.iloc[:9].to_parquet(tmp_path / "new.parquet")
    with pytest.raises(ValueError, match="unknown categories"):
        of_strings.predict_proba(new_rows.iloc[:9])
    with pytest.raises(ValueError, match="unknown categories"):
        of_strings.predict_proba_table(tmp_path / "new.parquet")


def test_a_column_in_which_most_categories_are_new_is_said_to_be_written_otherwise(model, new_rows):
    with pytest.warns(NewCategoryWarning, match="Most rows of 'shop' are concerned: check how its values are written"):
        model.predict_proba(new_rows.assign(shop=new_rows["shop"].str.upper()))
