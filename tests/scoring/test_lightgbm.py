"""The road for LightGBM gives LightGBM's own probabilities, to the last bit."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lightgbm import LGBMClassifier, early_stopping
from scipy import sparse

from selfpaced.scoring import lightgbm as road
from selfpaced.scoring import scorer_of

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


def ours(model, rows=X):
    return scorer_of(model, n_rows=10**6).score(rows)[:, 1]


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
}


@pytest.mark.parametrize("name", BIT_MODELS)
@pytest.mark.parametrize("rows", [X, WITH_GAPS, X * 1e6, X.astype(np.float32)], ids=["plain", "gaps", "far", "float32"])
def test_trees_as_bits_give_the_same_probabilities(name, rows):
    model = BIT_MODELS[name]()
    assert road.tree_sum_of(model.booster_) is not None
    np.testing.assert_array_equal(ours(model, rows), own(model, rows))


OTHER_MODELS = {
    "33 leaves": lambda: fit(num_leaves=100, min_child_samples=1, n_estimators=3),
    "random forest": lambda: fit(boosting_type="rf", subsample=0.5, subsample_freq=1),
    "linear trees": lambda: fit(linear_tree=True),
    "zero as missing": lambda: fit(zero_as_missing=True),
    "categories": lambda: LGBMClassifier(n_estimators=5, verbose=-1, n_jobs=1).fit(X, Y, categorical_feature=[3]),
    "cross entropy": lambda: fit(objective="cross_entropy"),
}


@pytest.mark.parametrize("name", OTHER_MODELS)
# LightGBM says that the list of categories overrides the parameter which the wrapper sets.
@pytest.mark.filterwarnings("ignore:categorical_feature keyword has been found:UserWarning")
def test_other_boosters_are_asked_themselves(name):
    model = OTHER_MODELS[name]()
    assert road.tree_sum_of(model.booster_) is None
    np.testing.assert_array_equal(ours(model), own(model))


def test_three_classes_are_asked_themselves():
    model = fit(y=X[:, 3] % 3)
    np.testing.assert_array_equal(scorer_of(model, n_rows=10**6).score(X), own(model))


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


def test_few_rows_are_not_worth_the_tables(monkeypatch):
    model = fit()
    monkeypatch.setattr(road, "tree_sum_of", None)
    np.testing.assert_array_equal(scorer_of(model, n_rows=1000).score(X)[:, 1], own(model))


def test_rows_in_column_order_are_read_too():
    model = fit()
    np.testing.assert_array_equal(ours(model, np.asfortranarray(X)), own(model))


@pytest.mark.parametrize("kind", [sparse.csr_matrix, lambda X: pd.DataFrame(X, columns=list("abcdef"))])
def test_sparse_matrices_and_frames_are_left_to_the_wrapper(kind):
    rows = kind(X)
    model = fit(rows)
    np.testing.assert_array_equal(ours(model, rows), own(model, rows))


@pytest.mark.parametrize(("n_jobs", "threads"), [(1, 1), (2, 2)])
def test_chunks_are_scored_in_the_threads_that_lightgbm_was_given(n_jobs, threads):
    assert scorer_of(fit(n_jobs=n_jobs), n_rows=10).threads == threads
