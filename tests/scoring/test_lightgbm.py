"""The scorer of LightGBM models gives LightGBM's own probabilities, to the last bit."""

from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lightgbm import LGBMClassifier, early_stopping
from scipy import sparse

from selfpaced.scoring import boosting, coded_batch, probabilities_by, scorer_of, scorers_of
from selfpaced.scoring.boosting import trees_of
from selfpaced.trees.columns import FEW_ROWS

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3000, 6))
X[:, 3] = RNG.integers(0, 4, size=3000)
X[:, 4] = np.where(RNG.uniform(size=3000) < 0.7, 0, X[:, 4])
WITH_GAPS = np.where(RNG.uniform(size=X.shape) < 0.15, np.nan, X)
Y = (X[:, 0] * X[:, 1] + X[:, 3] + RNG.normal(size=3000) > 1).astype(int)


def fit(rows=X, y=Y, **parameters):
    return LGBMClassifier(**{"n_estimators": 20, "verbose": -1, "n_jobs": 1} | parameters).fit(rows, y)


def own(model, rows=X):
    return model.booster_.predict(rows, num_threads=1)


def prepared(model):
    scorer = scorer_of(model)
    scorer.view.prepare()
    return scorer


def ours(model, rows=X):
    """The probabilities of many rows at once, and those of the first rows in few."""
    scorer = prepared(model)
    probabilities = scorer.score(scorer.view(rows))[:, 1]
    few = scorer.score(scorer.view(rows[:FEW_ROWS]))[:, 1]
    np.testing.assert_array_equal(few, probabilities[:FEW_ROWS])
    return probabilities


def is_by_trees(scorer, rows):
    return len(scorer.view(rows).probabilities) > 0


BIT_MODELS = {
    "default": fit,
    "many rounds": lambda: fit(n_estimators=150),
    "one round": lambda: fit(n_estimators=1),
    "stumps": lambda: fit(num_leaves=2),
    "32 leaves": lambda: fit(num_leaves=32),
    "dart": lambda: fit(boosting_type="dart"),
    "goss": lambda: fit(data_sample_strategy="goss"),
    "regularised": lambda: fit(reg_lambda=5, min_child_samples=200),
    "unbalanced": lambda: fit(is_unbalance=True),
    "steep": lambda: fit(objective="binary", sigmoid=2.5),
    "coarse bins": lambda: fit(max_bin=15),
    "no missing values handled": lambda: fit(use_missing=False),
    "nothing to learn": lambda: fit(np.ones((3000, 6))),
    "trained with gaps": lambda: fit(WITH_GAPS),
    "codes of categories": lambda: LGBMClassifier(n_estimators=9, verbose=-1).fit(X, Y, categorical_feature=[3]),
}


@cache
def bit_model(name):
    return BIT_MODELS[name]()


@pytest.mark.parametrize("name", BIT_MODELS)
# LightGBM says that the list of categories overrides the parameter which the wrapper sets.
@pytest.mark.filterwarnings("ignore:categorical_feature keyword has been found:UserWarning")
@pytest.mark.parametrize("rows", [X, WITH_GAPS, X * 1e6, X.astype(np.float32)], ids=["plain", "gaps", "far", "float32"])
def test_trees_as_bits_give_the_same_probabilities(name, rows):
    model = bit_model(name)
    assert is_by_trees(prepared(model), rows)
    np.testing.assert_array_equal(ours(model, rows), own(model, rows))


OTHER_MODELS = {
    "33 leaves": lambda: fit(num_leaves=100, min_child_samples=1, n_estimators=3),
    "random forest": lambda: fit(boosting_type="rf", subsample=0.5, subsample_freq=1),
    "linear trees": lambda: fit(linear_tree=True),
    "zero as missing": lambda: fit(zero_as_missing=True),
    "cross entropy": lambda: fit(objective="cross_entropy"),
}


@pytest.mark.parametrize("name", OTHER_MODELS)
def test_other_boosters_are_asked_themselves(name):
    model = OTHER_MODELS[name]()
    assert trees_of(model) is None
    np.testing.assert_array_equal(ours(model), own(model))


def test_three_classes_are_asked_themselves():
    model = fit(y=X[:, 3] % 3)
    scorer = prepared(model)
    np.testing.assert_array_equal(scorer.score(scorer.view(X)), own(model))


def test_rounds_after_the_best_do_not_count():
    model = LGBMClassifier(n_estimators=200, learning_rate=0.5, verbose=-1, n_jobs=1)
    model.fit(X[:1500], Y[:1500], eval_X=(X[1500:],), eval_y=(Y[1500:],), callbacks=[early_stopping(3, verbose=False)])
    assert model.best_iteration_ < 200
    np.testing.assert_array_equal(ours(model), own(model))


def test_whole_numbers_are_read_as_lightgbm_reads_them():
    rows = (X * 10**9).astype(np.int64)
    model = fit(rows)
    np.testing.assert_array_equal(ours(model, rows), own(model, rows))


@given(
    st.integers(0, 2**32),
    st.sampled_from([1, 10**9, 10**15, 2**53, 10**16, 2**62]),
    st.sampled_from([np.int64, np.float64, np.float32]),
)
@example(0, 1, np.float64)  # thresholds beside 0, and values on them
@example(0, 10**16, np.int64)
@settings(max_examples=30, deadline=None)
def test_large_whole_numbers_give_the_same_probabilities(seed, size, dtype):
    rng = np.random.default_rng(seed)
    rows = rng.integers(-size, size + 1, size=(400, 3)).astype(dtype)
    model = fit(rows, rows[:, 0] > rows[:, 1], n_estimators=5, min_child_samples=5, num_leaves=8)
    at_thresholds = np.resize(thresholds_of(model), (50, 3)).astype(dtype)
    for asked in (rows, at_thresholds, at_thresholds + 1, at_thresholds - 1):
        np.testing.assert_array_equal(ours(model, asked), own(model, asked))
    frame = pd.DataFrame(rows, columns=list("abc"))
    of_frame = fit(frame, rows[:, 0] > rows[:, 1], n_estimators=5)
    np.testing.assert_array_equal(ours(of_frame, frame), own(of_frame, frame))


def thresholds_of(model):
    def walk(node):
        if "threshold" in node:
            yield float(node["threshold"])
            yield from walk(node["left_child"])
            yield from walk(node["right_child"])

    trees = model.booster_.dump_model()["tree_info"]
    return [threshold for tree in trees for threshold in walk(tree["tree_structure"])]


@pytest.fixture
def n_read(monkeypatch):
    """An entry for each time that trees are read."""
    seen, real = [], boosting.trees.read_booster
    monkeypatch.setattr(boosting.trees, "read_booster", lambda booster: seen.append(1) or real(booster))
    return seen


def test_the_trees_are_read_once_and_not_for_a_single_call_with_few_rows(n_read):
    model = fit()
    scorer, few = scorer_of(model), X[: boosting.ROWS_WORTH_TABLES - 1]
    for expected in (0, 1, 1):
        np.testing.assert_array_equal(scorer.score(scorer.view(few))[:, 1], own(model, few))
        assert len(n_read) == expected


def test_a_first_call_with_many_rows_is_worth_the_tables():
    scorer = scorer_of(fit())
    assert is_by_trees(scorer, np.resize(X, (boosting.ROWS_WORTH_TABLES, 6)))


def test_threads_that_share_a_scorer_read_the_trees_once_and_score_the_same(n_read):
    models = [fit(n_estimators=5, random_state=seed) for seed in range(3)]
    scorers = scorers_of(models)

    def score(n_rows):
        return [answer[:, 1] for answer in probabilities_by(scorers, X[:n_rows])]

    sizes = [1, 3000, 2, 1000] * 8
    with ThreadPoolExecutor(4) as threads:
        for n_rows, answers in zip(sizes, threads.map(score, sizes), strict=True):
            for model, answer in zip(models, answers, strict=True):
                np.testing.assert_array_equal(answer, own(model, X[:n_rows]))
    assert len(n_read) == len(models)


def test_rows_in_column_order_are_read_too():
    model = fit()
    np.testing.assert_array_equal(ours(model, np.asfortranarray(X)), own(model))


def test_sparse_matrices_are_left_to_the_wrapper():
    rows = sparse.csr_matrix(X)
    model = fit(rows)
    np.testing.assert_array_equal(ours(model, rows), own(model, rows))


def frame_of(rng, n_rows, n_categories=40):
    """Numbers of several types, missing values, infinities, and categories, of which one is ordered."""
    codes = rng.integers(-1, n_categories, size=n_rows)
    return pd.DataFrame(
        {
            "float": np.where(rng.uniform(size=n_rows) < 0.3, np.nan, rng.normal(size=n_rows)),
            "narrow": np.where(rng.uniform(size=n_rows) < 0.01, np.inf, rng.normal(size=n_rows)).astype(np.float32),
            "many": pd.Categorical.from_codes(codes, [f"c{i}" for i in range(n_categories)]),
            "whole": rng.integers(0, 2**62, size=n_rows),
            "few": pd.Categorical(rng.choice(["x", "y", "z", None], size=n_rows), ["x", "y", "z"]),
            "ordered": pd.Categorical.from_codes(rng.integers(-1, 4, size=n_rows), [1, 2, 5, 9], ordered=True),
            "truth": rng.uniform(size=n_rows) < 0.5,
        }
    )


def labels_of(frame):
    codes = sum(frame[name].cat.codes % 3 for name in ("many", "few", "ordered"))
    return (frame["float"].fillna(1) + codes + frame["truth"] > 2).to_numpy().astype(int)


def fit_frame(rng, **parameters):
    frame = frame_of(rng, 2000)
    return fit(frame, labels_of(frame), min_data_per_group=5, cat_smooth=1, **parameters)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("parameters", [{}, {"max_cat_to_onehot": 64}, {"use_missing": False}], ids=str)
def test_frames_with_categories_are_scored_as_lightgbm_scores_them(seed, parameters):
    rng = np.random.default_rng(seed)
    model = fit_frame(rng, **parameters)
    assert any("==" in str(tree) for tree in model.booster_.dump_model()["tree_info"])
    rows = frame_of(rng, 5000)
    assert is_by_trees(prepared(model), rows)
    np.testing.assert_array_equal(ours(model, rows), model.predict_proba(rows)[:, 1])


def test_a_column_that_is_only_asked_whether_its_value_is_missing_is_no_trouble():
    """Its one threshold is infinite: all values go left, and missing ones go right."""
    rng = np.random.default_rng(0)
    rows = np.where(rng.uniform(size=(2000, 1)) < 0.4, np.nan, rng.normal(size=(2000, 1)))
    model = fit(rows, np.isnan(rows[:, 0]).astype(int), n_estimators=1, num_leaves=2)
    assert "\nthreshold=inf\n" in model.booster_.model_to_string()
    asked = np.array([[-np.inf], [-1e308], [0.0], [1e308], [np.inf], [np.nan]])
    np.testing.assert_array_equal(ours(model, asked), own(model, asked))


@pytest.mark.parametrize("seed", range(3))
def test_record_batches_are_scored_as_the_frames_of_their_rows(seed):
    rng = np.random.default_rng(seed)
    model, rows = fit_frame(rng), frame_of(rng, 5000, n_categories=55)
    batch = pa.RecordBatch.from_pandas(rows)
    assert batch.column("float").null_count > 0
    scorer = prepared(model)
    view = scorer.view(coded_batch(batch)[1000:4000])
    assert view.probabilities
    np.testing.assert_array_equal(scorer.score(view)[:, 1], model.predict_proba(rows[1000:4000])[:, 1])


def test_a_record_batch_with_booleans_and_missing_values_is_left_to_the_wrapper_as_a_frame():
    rows = pa.array([True, None] * 3)
    batch = pa.RecordBatch.from_arrays([pa.array(X[:6, 0]), rows], names=["a", "b"])
    assert coded_batch(batch) is None


def test_other_categories_than_in_training_are_scored_as_lightgbm_scores_them():
    rng = np.random.default_rng(0)
    model = fit_frame(rng)
    rows = frame_of(rng, 3000, n_categories=55)
    rows["few"] = rows["few"].cat.set_categories(["new", "z", "x"])
    np.testing.assert_array_equal(ours(model, rows), model.predict_proba(rows)[:, 1])


@pytest.mark.filterwarnings("ignore:categorical_feature keyword has been found:UserWarning")
@pytest.mark.parametrize("rows", [[-2.0, -0.5, 0.0, 0.9, 3.0, 3.7, 7e9, -7e9, np.inf, -np.inf, np.nan]])
def test_codes_that_are_no_whole_numbers_are_cut_off_as_lightgbm_does(rows):
    model = LGBMClassifier(n_estimators=9, verbose=-1, n_jobs=1).fit(X, Y, categorical_feature=[3])
    asked = np.repeat(X[:30], len(rows), axis=0)
    asked[:, 3] = np.tile(rows, 30)
    np.testing.assert_array_equal(ours(model, asked), own(model, asked))


def test_a_frame_with_a_column_that_is_neither_numbers_nor_categories_is_left_to_the_wrapper():
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = fit(frame)
    with pytest.raises(ValueError, match="dtypes"):
        ours(model, frame.assign(b="text"))
    nullable = frame.convert_dtypes()
    np.testing.assert_array_equal(ours(model, nullable), model.predict_proba(nullable)[:, 1])


def test_members_with_the_same_categories_share_the_numbers_of_a_row():
    rng = np.random.default_rng(0)
    models = [fit_frame(rng) for _ in range(3)]
    rows = frame_of(rng, 1000)
    scorers = scorers_of(models)
    assert len({scorer.view for scorer in scorers}) == 1
    assert [numbers for numbers, _ in scorers[0].view.prepare()] == [[0, 1, 2]]
    for scorer, model in zip(scorers, models, strict=True):
        np.testing.assert_array_equal(scorer.score(scorer.view(rows))[:, 1], model.predict_proba(rows)[:, 1])


@pytest.mark.filterwarnings("ignore:categorical_feature keyword has been found:UserWarning")
def test_members_that_read_a_column_as_numbers_and_as_categories_can_share_it():
    models = [fit(), LGBMClassifier(n_estimators=9, verbose=-1, n_jobs=1).fit(X, Y, categorical_feature=[3])]
    scorers = scorers_of(models)
    scorers[0].view.prepare()
    for scorer, model in zip(scorers, models, strict=True):
        np.testing.assert_array_equal(scorer.score(scorer.view(X))[:, 1], own(model))


@pytest.mark.parametrize(("n_jobs", "threads"), [(1, 1), (2, 2)])
def test_chunks_are_scored_in_the_threads_that_lightgbm_was_given(n_jobs, threads):
    assert scorer_of(fit(n_jobs=n_jobs)).threads == threads
