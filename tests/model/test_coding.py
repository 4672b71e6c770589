"""A second frame of the same types is read as columns of numbers, with the same scores, warnings and errors."""

import pickle

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression

from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.ensembles.auto import AutoSelfPacedClassifier
from selfpaced.ensembles.auto.recipes import columns_of, with_codes, with_scales
from selfpaced.exceptions import NewCategoryWarning
from selfpaced.scoring import CodedRows
from selfpaced.tables import schema_of_frame

N_ROWS = 1500


def frame_of(seed, n_rows=N_ROWS):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "amount": np.where(rng.random(n_rows) < 0.2, np.nan, rng.normal(size=n_rows)),
            "narrow": rng.normal(size=n_rows).astype(np.float32),
            "count": rng.integers(0, 9, n_rows),
            "online": rng.random(n_rows) < 0.5,
            "shop": pd.Categorical.from_codes(rng.integers(-1, 5, n_rows), list("abcde")),
            "city": pd.array(np.array(["Bonn", "Lyon", None], dtype=object)[rng.integers(3, size=n_rows)], "str"),
            "at": pd.Timestamp("2024-03-01") + pd.to_timedelta(rng.integers(0, 10**7, n_rows), unit="s"),
        }
    )


@pytest.fixture(scope="module")
def model():
    """A blend of three kinds, by a schema."""
    frame = frame_of(0)
    columns = columns_of(None, schema_of_frame(frame))
    recipes = [
        ("boosted", SelfPacedEnsembleClassifier(LGBMClassifier(n_estimators=10, n_jobs=1, verbose=-1), 2)),
        ("trees", SelfPacedEnsembleClassifier(with_codes(ExtraTreesClassifier(5), columns.categorical), 2)),
        ("linear", SelfPacedEnsembleClassifier(with_scales(LogisticRegression(max_iter=1000), columns), 2)),
    ]
    return AutoSelfPacedClassifier(recipes, random_state=0).fit(frame, frame["count"] + frame["narrow"] > 8)


def fresh(model):
    """The same model, which has read no frame yet."""
    return pickle.loads(pickle.dumps(model))


def read_twice(model, frame):
    """The rows by the full checks, and the rows as columns of numbers."""
    reader = fresh(model).model_.reader
    return reader(frame).span(0, len(frame)), reader.coded(frame).span(0, len(frame))


CHANGES = {
    "the same": {},
    "whole numbers as floats": {"count": float},
    "whole numbers in 32 bits": {"count": np.int32},
    "numbers in 32 bits": {"amount": np.float32},
    "wide numbers": {"narrow": float},
    "booleans as numbers": {"online": int},
    "strings as objects": {"city": object, "shop": object},
    "strings as categories": {"city": "category"},
    "moments in nanoseconds": {"at": "datetime64[ns]"},
}


@pytest.mark.parametrize("name", CHANGES)
def test_columns_of_numbers_have_the_features_and_scores_of_the_frame(model, name):
    frame = frame_of(1, 60).astype(CHANGES[name])
    first, second = read_twice(model, frame)
    assert isinstance(second, CodedRows)
    for at, column in enumerate(first):
        is_category = first[column].dtype == "category"
        numbers = first[column].cat.codes.replace(-1, np.nan) if is_category else first[column]
        np.testing.assert_array_equal(second.numbers[at], numbers.to_numpy(np.float64))
    pd.testing.assert_frame_equal(second.frame, first)
    scored = fresh(model).model_
    means = [scored.means_of(reader(frame), 1) for reader in (scored.reader, scored.reader.coded, scored.reader.coded)]
    np.testing.assert_array_equal(means[1], means[0])
    np.testing.assert_array_equal(means[2], means[0])


BAD = {
    "infinity": ({"amount": np.inf}, "'amount' of X contains infinity"),
    "a fraction": ({"count": 2.5}, "'count' of X is double"),
    "a number too large for 32 bits": (
        {"narrow": 1e300},
        "'narrow' of X is double, .* not all within the range of 32 bits",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_values_that_are_refused_are_refused_in_later_frames_too(model, name):
    change, message = BAD[name]
    frame, scored = frame_of(1, 20).astype({"count": float, "narrow": float}), fresh(model)
    scored.predict_proba(frame)
    with pytest.raises(ValueError, match=message):
        scored.predict_proba(frame.assign(**change))


@pytest.mark.parametrize("kind", [object, "category"])
def test_new_categories_are_counted_in_later_frames_too(model, kind):
    frame, scored = frame_of(1, 20).astype({"city": kind}), fresh(model)
    if kind == "category":
        frame["city"] = frame["city"].cat.add_categories(["Oslo"])
    scored.predict_proba(frame)
    frame.loc[3, "city"] = "Oslo"
    with pytest.warns(NewCategoryWarning, match="city"):
        scored.predict_proba(frame)


def test_a_frame_with_other_columns_is_checked_in_full(model):
    scored, frame = fresh(model), frame_of(1, 20)
    scored.predict_proba(frame)
    with pytest.raises(ValueError, match="has no column 'amount'"):
        scored.predict_proba(frame.drop(columns="amount"))


def test_what_is_prepared_for_frames_is_not_saved(model):
    scored, frame = fresh(model), frame_of(1, 20)
    scored.predict_proba(frame)
    assert "_plan" in vars(scored.model_.reader)
    assert "_plan" not in vars(fresh(scored).model_.reader)


def test_a_large_frame_is_not_copied(model):
    """Of more than 2**21 values."""
    reader, frame = fresh(model).model_.reader, frame_of(1, 2**21 // 7 + 1)
    assert isinstance(reader.coded(frame[:-1]).span(0, 1), CodedRows)
    assert not isinstance(reader.coded(frame).span(0, 1), CodedRows)


def test_categories_in_another_order_have_the_scores_of_their_names():
    """To pandas, both types are equal."""
    frame = frame_of(0)[["amount", "shop"]]
    base = LGBMClassifier(n_estimators=5, verbose=-1)
    model = SelfPacedEnsembleClassifier(base, n_estimators=2, random_state=0).fit(frame, frame_of(0)["count"] == 0)
    expected = model.predict_proba(frame)
    other = frame.assign(shop=frame["shop"].cat.reorder_categories(list("dbeca")))
    assert other["shop"].dtype == frame["shop"].dtype
    np.testing.assert_array_equal(model.predict_proba(other), expected)
