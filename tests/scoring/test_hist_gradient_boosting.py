"""Trees as bits give the probabilities of scikit-learn's histogram gradient boosting, to the last bit."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from selfpaced.scoring import coded_batch, scorer_of, scorers_of
from selfpaced.trees.columns import FEW_ROWS

RNG = np.random.default_rng(0)
X = RNG.normal(size=(2000, 5))
X[:, 3] = RNG.integers(0, 4, size=2000)
WITH_GAPS = np.where(RNG.uniform(size=X.shape) < 0.2, np.nan, X)
Y = (X[:, 0] * X[:, 1] + X[:, 3] + RNG.normal(size=2000) > 2).astype(int)


def fit(rows=X, y=Y, **parameters):
    return HistGradientBoostingClassifier(**{"max_iter": 15, "random_state": 0} | parameters).fit(rows, y)


def prepared(model):
    scorer = scorer_of(model)
    scorer.view.prepare()
    return scorer


def ours(model, rows):
    """The probabilities of many rows at once, and those of the first rows in few."""
    scorer = prepared(model)
    probabilities = scorer.score(scorer.view(rows))
    few = scorer.score(scorer.view(rows[:FEW_ROWS]))
    np.testing.assert_array_equal(few, probabilities[:FEW_ROWS])
    return probabilities


def is_by_trees(model, rows):
    return len(prepared(model).view(rows).probabilities) > 0


@pytest.mark.parametrize("trained_on", [X, WITH_GAPS], ids=["plain", "gaps"])
@pytest.mark.parametrize(
    "rows",
    [X, WITH_GAPS, X.astype(np.float32), (X * 10**9).astype(np.int64), X * 1e300, np.where(X > 1, np.inf, X)],
    ids=["plain", "gaps", "float32", "whole", "far", "infinite"],
)
def test_arrays_have_the_same_probabilities(trained_on, rows):
    model = fit(trained_on)
    assert is_by_trees(model, rows)
    np.testing.assert_array_equal(ours(model, rows), model.predict_proba(rows))


def test_values_at_thresholds_have_the_same_probabilities():
    model = fit()
    thresholds = np.concatenate([tree.nodes["num_threshold"] for trees in model._predictors for tree in trees])
    rows = np.resize(thresholds, (400, 5))
    for asked in (rows, np.nextafter(rows, np.inf), np.nextafter(rows, -np.inf)):
        np.testing.assert_array_equal(ours(model, asked), model.predict_proba(asked))


def frame_of(rng, n_rows, n_categories=30):
    codes = rng.integers(-1, n_categories, size=n_rows)
    return pd.DataFrame(
        {
            "a": np.where(rng.uniform(size=n_rows) < 0.3, np.nan, rng.normal(size=n_rows)),
            "many": pd.Categorical.from_codes(codes, [f"c{i}" for i in range(n_categories)]),
            "b": rng.normal(size=n_rows).astype(np.float32),
            "few": pd.Categorical(rng.choice(["x", "y", "z"], size=n_rows), ["z", "y", "x", "never"]),
            "count": rng.integers(0, 9, size=n_rows),
        }
    )


def fit_frame(rng, n_rows=600):
    frame = frame_of(rng, n_rows)
    y = frame["a"].fillna(1) + frame["many"].cat.codes % 3 + (frame["few"] == "x") > 2
    return fit(frame, y.astype(int), min_samples_leaf=5)


@pytest.mark.parametrize("seed", range(3))
def test_frames_with_categories_have_the_same_probabilities(seed):
    rng = np.random.default_rng(seed)
    model, rows = fit_frame(rng), frame_of(rng, 3000)
    assert any(tree.nodes["is_categorical"].any() for trees in model._predictors for tree in trees)
    assert is_by_trees(model, rows)
    np.testing.assert_array_equal(ours(model, rows), model.predict_proba(rows))


def test_record_batches_have_the_probabilities_of_the_frames_of_their_rows():
    rng = np.random.default_rng(0)
    model, rows = fit_frame(rng), frame_of(rng, 3000)
    batch = coded_batch(pa.RecordBatch.from_pandas(rows))
    assert is_by_trees(model, batch)
    np.testing.assert_array_equal(ours(model, batch), model.predict_proba(rows))


def test_other_categories_than_in_training_have_the_same_probabilities():
    rng = np.random.default_rng(0)
    model, rows = fit_frame(rng, 120), frame_of(rng, 2000, n_categories=45)
    rows["few"] = rows["few"].cat.set_categories(["new", "y", "x"]).fillna("new")
    np.testing.assert_array_equal(ours(model, rows), model.predict_proba(rows))


def test_members_without_categories_share_the_numbers_of_a_row():
    models = [fit(X[some], Y[some]) for some in np.array_split(np.arange(2000), 3)]
    scorers = scorers_of(models)
    assert [numbers for numbers, _ in scorers[0].view.prepare()] == [[0, 1, 2]]
    for scorer, model in zip(scorers, models, strict=True):
        np.testing.assert_array_equal(scorer.score(scorer.view(X)), model.predict_proba(X))


@pytest.mark.parametrize(
    "model",
    [
        fit(max_leaf_nodes=40, min_samples_leaf=1),
        fit(y=np.digitize(X[:, 0], [-0.5, 0.5])),
        fit(categorical_features=[3]),
    ],
    ids=["large trees", "three classes", "codes of categories"],
)
def test_other_models_are_asked_themselves(model):
    assert not is_by_trees(model, X)
    np.testing.assert_array_equal(ours(model, X), model.predict_proba(X))


def test_categories_at_other_places_than_in_training_are_left_to_the_model():
    rng = np.random.default_rng(0)
    model, rows = fit_frame(rng), frame_of(rng, 100)
    assert is_by_trees(model, rows)
    assert not is_by_trees(model, rows.assign(a=rows["many"], many=rows["a"]))


def test_a_single_call_with_few_rows_is_not_worth_the_tables():
    scorer = scorer_of(fit())
    assert not scorer.view(X).probabilities
    assert scorer.view(X).probabilities
