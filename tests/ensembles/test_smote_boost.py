"""SMOTEBoost: all real rows, weighted by boosting, and ever more synthetic ones."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.datasets import make_blobs
from sklearn.metrics import average_precision_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from selfpaced.baselines.smote import SMOTEBoostClassifier
from selfpaced.datasets import make_fraud

TREE = DecisionTreeClassifier(max_depth=4)


def smote_boost(base=TREE, n_estimators=4, **parameters):
    return SMOTEBoostClassifier(base, n_estimators, **{"random_state": 0, **parameters})


@pytest.fixture(scope="module")
def fitted(frauds):
    return smote_boost().fit(*frauds)


def hazy(X):
    """The rows behind a first feature that the oracle takes for a small doubt about the majority."""
    return np.column_stack([np.full(len(X), 0.3), X])


def test_every_round_after_the_first_adds_as_many_rows_as_the_minority_has(fitted):
    assert fitted.n_training_rows_ == [3000, 3060, 3120, 3180]
    assert [member.tree_.n_node_samples[0] for member in fitted.estimators_] == [3000, 3060, 3120, 3180]


def test_ten_rounds_on_credit_fraud_train_on_as_many_rows_as_the_paper_says():
    """170,885 rows with 321 frauds: sum(170885 + 321 * i for i in range(10))."""
    y = np.zeros(170_885, dtype=int)
    y[:321] = 1
    X = np.random.default_rng(0).normal(size=(y.size, 1)) + y.reshape(-1, 1)
    stump = DecisionTreeClassifier(max_depth=1)
    model = smote_boost(stump, n_estimators=10).fit(X, y)
    assert sum(model.n_training_rows_) == 1_723_295


def test_synthetic_rows_are_of_the_minority_and_lie_within_it(frauds, oracle):
    X, y = frauds
    member = smote_boost(oracle, n_estimators=2).fit(hazy(X), y).estimators_[1]
    synthetic = member.X_[3000:]
    assert set(member.y_[3000:]) == {1}
    assert (synthetic >= hazy(X)[y == 1].min(axis=0)).all()
    assert (synthetic <= hazy(X)[y == 1].max(axis=0)).all()


def test_synthetic_rows_stay_for_later_rounds_and_the_new_ones_differ(frauds, oracle):
    _, second, third = smote_boost(oracle, n_estimators=3).fit(hazy(frauds[0]), frauds[1]).estimators_
    np.testing.assert_array_equal(third.X_[: len(second.X_)], second.X_)
    assert not np.isin(third.X_[3060:, 1], second.X_[:, 1]).any()


def test_a_synthetic_row_weighs_as_much_as_the_average_real_row(frauds, oracle):
    X, y = frauds
    X = np.column_stack([np.random.default_rng(0).uniform(0, 0.6, len(y)), X])
    member = smote_boost(oracle, n_estimators=2).fit(X, y).estimators_[1]
    assert np.ptp(member.weights_[:3000]) > 0.1
    np.testing.assert_allclose(member.weights_[3000:], member.weights_[:3000].mean())


def test_weights_of_real_rows_follow_the_hand_worked_example(oracle):
    """Of two frauds one is doubted by 3/4, all other rows by 1/4.

    eps = (3/4 + 5 * 1/4) / 6 = 1/3, alpha = log 2, and the weights go by 2^(3/4) : 2^(1/4) = sqrt(2) : 1.
    """
    X = np.array([[0.25], [0.75], [0.25], [0.25], [0.25], [0.25]])
    model = smote_boost(oracle, n_estimators=2).fit(X, [1, 1, 0, 0, 0, 0])
    assert model.estimator_weights_[0] == pytest.approx(np.log(2))
    weights = np.array([np.sqrt(2), 1, 1, 1, 1, 1]) * 6 / (np.sqrt(2) + 5)
    np.testing.assert_allclose(model.estimators_[1].weights_, [*weights, 1, 1])


def test_sample_weight_is_where_the_weights_begin(frauds, oracle):
    X, y = frauds
    weights = np.random.default_rng(0).uniform(1, 3, len(y))
    model = smote_boost(oracle, n_estimators=1).fit(hazy(X), y, sample_weight=weights)
    np.testing.assert_allclose(model.estimators_[0].weights_, weights / weights.mean())


def test_no_class_grows_beyond_the_largest():
    X, y = make_blobs([40, 100], random_state=0, n_features=2)
    assert smote_boost(n_estimators=5).fit(X, y).n_training_rows_ == [140, 180, 200, 200, 200]


def test_classes_of_the_same_size_are_left_as_they_are():
    X, y = make_blobs([50, 50], random_state=0, n_features=2)
    assert smote_boost().fit(X, y).n_training_rows_ == [100] * 4


def test_with_several_classes_all_but_the_largest_grow():
    X, y = make_blobs([40, 1000, 300], centers=[[0, 0], [3, 3], [0, 4]], random_state=0)
    model = smote_boost(n_estimators=5).fit(X, y)
    assert model.n_training_rows_ == [1340, 1680, 2020, 2160, 2200]
    assert all((model.predict(X[y == number]) == number).mean() > 0.7 for number in range(3))


@pytest.mark.parametrize("n_minority", [2, 3])
def test_a_minority_smaller_than_the_neighbourhood_is_enough(n_minority):
    X = np.random.default_rng(0).normal(size=(50, 2))
    y = (np.arange(50) < n_minority).astype(int)
    assert smote_boost(n_estimators=2).fit(X, y).n_training_rows_ == [50, 50 + n_minority]


def test_fully_grown_trees_go_on_with_other_rows(frauds):
    """They doubt no training row: every one counts the same, and the synthetic rows make them differ."""
    X, y = frauds
    model = smote_boost(DecisionTreeClassifier()).fit(X, y)
    assert len(model.estimators_) == 4
    np.testing.assert_allclose(model.estimator_weights_, np.log(1e10))
    assert len({member.tree_.node_count for member in model.estimators_}) > 1


def test_probabilities_are_the_weighted_mean_of_the_members(fitted, frauds):
    each = [member.predict_proba(frauds[0]) for member in fitted.estimators_]
    expected = np.average(each, axis=0, weights=fitted.estimator_weights_)
    np.testing.assert_allclose(fitted.predict_proba(frauds[0]), expected)


def test_it_ranks_better_than_a_single_tree():
    X, y = make_fraud(n_rows=10_000, n_frauds=200, random_state=0)
    tree = DecisionTreeClassifier(max_depth=10, random_state=0)
    alone, boosted = (
        average_precision_score(y[1::2], model.fit(X[::2], y[::2]).predict_proba(X[1::2])[:, 1])
        for model in (tree, smote_boost(tree, n_estimators=10))
    )
    assert boosted > alone + 0.3


FRAMES = {
    "pandas": lambda X: pd.DataFrame(X, columns=list("abcdef")),
    "pandas, nullable": lambda X: pd.DataFrame(X, columns=list("abcdef")).convert_dtypes(),
    "polars": lambda X: pl.DataFrame(X, schema=list("abcdef")),
    "pyarrow": lambda X: pa.table(dict(zip("abcdef", X.T, strict=True))),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_of_numbers_gives_the_same_members_as_an_array(frauds, fitted, kind):
    X, y = frauds
    model = smote_boost().fit(FRAMES[kind](X), y)
    assert model.feature_names_in_.tolist() == list("abcdef")
    np.testing.assert_array_equal(model.predict_proba(FRAMES[kind](X)), fitted.predict_proba(X))


@pytest.mark.parametrize("to_kind", [lambda f: f, pl.from_pandas, pa.Table.from_pandas], ids=["pandas", "polars", "pa"])
def test_whole_numbers_and_booleans_in_a_frame_are_numbers(frauds, to_kind):
    _, y = frauds
    frame = pd.DataFrame({"n": np.arange(len(y)), "flag": y == 1})
    assert np.array_equal(smote_boost().fit(to_kind(frame), y).predict(to_kind(frame)), y)


@pytest.mark.parametrize("to_kind", [lambda f: f, pl.from_pandas, pa.Table.from_pandas], ids=["pandas", "polars", "pa"])
@pytest.mark.parametrize("values", [["x", "z"], pd.Categorical(["x", "z"]), pd.to_datetime(["2020", "2021"])], ids=type)
def test_a_column_without_numbers_is_named_with_what_to_do(to_kind, values):
    frame = pd.DataFrame({"V0": np.arange(10.0), "country": pd.Series(values).repeat(5).reset_index(drop=True)})
    with pytest.raises(ValueError, match=r"Column 'country' of X does not hold numbers. Encode it first"):
        smote_boost().fit(to_kind(frame), [1, 1] + [0] * 8)


@pytest.mark.parametrize("kind", FRAMES)
def test_missing_values_in_a_frame_are_refused_with_what_to_do(frauds, kind):
    X, y = frauds
    with_gap = X.copy()
    with_gap[7, 2] = np.nan
    with pytest.raises(ValueError, match=r"Input X contains NaN, first in column 'c'.*Impute missing values first"):
        smote_boost().fit(FRAMES[kind](with_gap), y)


def test_missing_values_in_an_array_are_refused_at_fit_and_predict(frauds, fitted):
    X, y = frauds
    with_gap = X.copy()
    with_gap[7, 2] = np.nan
    for call in (lambda: smote_boost().fit(with_gap, y), lambda: fitted.predict_proba(with_gap)):
        with pytest.raises(ValueError, match="Input X contains NaN, first in column 2"):
            call()


def test_a_sparse_matrix_is_refused(frauds):
    with pytest.raises(TypeError, match="Sparse data was passed"):
        smote_boost().fit(sparse.csr_array(frauds[0]), frauds[1])


def test_without_imbalanced_learn_the_extra_is_named(frauds, monkeypatch):
    monkeypatch.setitem(sys.modules, "imblearn.over_sampling", None)
    with pytest.raises(ImportError, match=r"SMOTE needs imblearn.*pip install 'selfpaced\[smote\]'"):
        smote_boost().fit(*frauds)


def test_a_base_model_without_sample_weight_is_refused(frauds):
    with pytest.raises(ValueError, match="the base model KNeighborsClassifier does not accept sample_weight"):
        smote_boost(KNeighborsClassifier()).fit(*frauds)


def test_what_only_real_rows_can_have_is_refused(frauds, oracle):
    X, y = frauds
    with config_context(enable_metadata_routing=True):
        model = smote_boost(oracle.set_fit_request(colours=True))
        with pytest.raises(
            ValueError, match=r"fit got \['colours'\] for each row, but synthetic rows can only have a sample_weight"
        ):
            model.fit(X, y, colours=["red"] * len(y))


def test_a_wrong_number_of_neighbours_is_named(frauds):
    with pytest.raises(ValueError, match="k_neighbors must be a whole number >= 1; got 0"):
        smote_boost(k_neighbors=0).fit(*frauds)


def test_the_global_generator_is_left_alone(frauds):
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    smote_boost().fit(*frauds)
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002
