"""RUSBoost: balanced random draws, weighted by boosting."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from lightgbm import LGBMClassifier
from sklearn import config_context
from sklearn.datasets import make_blobs
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import average_precision_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from selfpaced.baselines import RUSBoostClassifier
from selfpaced.datasets import make_fraud

TREE = DecisionTreeClassifier(max_depth=4)


def rus_boost(base=TREE, n_estimators=5, **parameters):
    return RUSBoostClassifier(base, n_estimators, **{"random_state": 0, **parameters})


@pytest.fixture(scope="module")
def fitted(frauds):
    return rus_boost().fit(*frauds)


def test_every_member_is_trained_on_all_minority_rows_and_as_many_others(fitted):
    assert fitted.n_training_rows_ == [120] * 5
    assert [member.tree_.n_node_samples[0] for member in fitted.estimators_] == [120] * 5


@pytest.mark.parametrize(("ratio", "n_rows"), [(0.5, 90), (3.7, 282)])
def test_the_ratio_says_how_many_majority_rows_go_with_each_minority_row(frauds, ratio, n_rows):
    assert rus_boost(ratio=ratio, n_estimators=2).fit(*frauds).n_training_rows_ == [n_rows] * 2


def test_every_round_draws_other_majority_rows_and_none_twice(frauds, oracle):
    _, y = frauds
    row_numbers = np.column_stack([np.full(len(y), 0.4), np.arange(len(y))])
    model = rus_boost(oracle, n_estimators=3).fit(row_numbers, y)
    drawn = [set(member.X_[member.y_ == 0, 1]) for member in model.estimators_]
    assert [len(rows) for rows in drawn] == [60] * 3
    assert drawn[0] != drawn[1] != drawn[2]


def test_every_round_has_all_minority_rows(frauds, oracle):
    _, y = frauds
    row_numbers = np.column_stack([np.full(len(y), 0.4), np.arange(len(y))])
    model = rus_boost(oracle, n_estimators=2).fit(row_numbers, y)
    for member in model.estimators_:
        assert sorted(member.X_[member.y_ == 1, 1]) == np.flatnonzero(y).tolist()


def test_weights_follow_the_hand_worked_example(oracle):
    """Of two frauds one is doubted by 3/4, all other rows by 1/4.

    eps = (3/4 + 5 * 1/4) / 6 = 1/3, alpha = log 2, and the weights go by 2^(3/4) : 2^(1/4) = sqrt(2) : 1.
    """
    X = np.array([[0.25], [0.75], [0.25], [0.25], [0.25], [0.25]])
    model = rus_boost(oracle, n_estimators=2, ratio=2).fit(X, [1, 1, 0, 0, 0, 0])
    first, second = model.estimators_
    assert model.estimator_weights_[0] == pytest.approx(np.log(2))
    np.testing.assert_allclose(first.weights_, 1)
    np.testing.assert_allclose(second.weights_, np.array([np.sqrt(2), 1, 1, 1, 1, 1]) * 6 / (np.sqrt(2) + 5))
    loss = (0.75 * np.sqrt(2) + 0.25 * 5) / (np.sqrt(2) + 5)
    assert model.estimator_weights_[1] == pytest.approx(np.log((1 - loss) / loss))


def test_drawn_rows_bring_their_weights_on_a_scale_of_one(oracle, frauds):
    _, y = frauds
    X = np.random.default_rng(0).uniform(0, 0.6, size=(len(y), 1))
    _, second = rus_boost(oracle, n_estimators=2).fit(X, y).estimators_
    doubts = np.where(second.y_ == 1, 1 - second.X_[:, 0], second.X_[:, 0])
    logarithms = np.log(second.weights_)
    slope, _ = np.polyfit(doubts, logarithms, 1)
    np.testing.assert_allclose(logarithms - slope * doubts, (logarithms - slope * doubts).mean())
    assert second.weights_.mean() == pytest.approx(1)


def test_sample_weight_is_where_the_weights_begin(oracle):
    X = np.full((6, 1), 0.4)
    weights = np.array([3.0, 1, 2, 2, 2, 2])
    model = rus_boost(oracle, n_estimators=1, ratio=2).fit(X, [1, 1, 0, 0, 0, 0], sample_weight=weights)
    np.testing.assert_allclose(model.estimators_[0].weights_, weights / 2)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([-1.0, 1, 1, 1, 1, 1], "sample_weight has 1 negative weight"),
        ([0.0, 0, 1, 1, 1, 1], "All rows of the class 1 have a sample_weight of 0"),
    ],
)
def test_weights_that_cannot_be_a_distribution_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        rus_boost().fit(np.arange(6).reshape(-1, 1), [1, 1, 0, 0, 0, 0], sample_weight=weights)


def test_requested_metadata_goes_with_the_drawn_rows(frauds, oracle):
    X, y = frauds
    with config_context(enable_metadata_routing=True):
        base = oracle.set_fit_request(colours=True)
        model = rus_boost(base, n_estimators=1).fit(X, y, colours=np.where(y == 1, "red", "blue"))
    assert sorted(model.estimators_[0].colours_) == ["blue"] * 60 + ["red"] * 60


def test_probabilities_are_the_weighted_mean_of_the_members(fitted, frauds):
    each = [member.predict_proba(frauds[0]) for member in fitted.estimators_]
    expected = np.average(each, axis=0, weights=fitted.estimator_weights_)
    np.testing.assert_allclose(fitted.predict_proba(frauds[0]), expected)


def test_stages_are_weighted_too(fitted, frauds):
    stages = list(fitted.staged_predict_proba(frauds[0]))
    each = [member.predict_proba(frauds[0]) for member in fitted.estimators_[:3]]
    np.testing.assert_allclose(stages[2], np.average(each, axis=0, weights=fitted.estimator_weights_[:3]))
    np.testing.assert_allclose(stages[-1], fitted.predict_proba(frauds[0]))


def test_importances_are_weighted_too(fitted):
    each = [member.feature_importances_ for member in fitted.estimators_]
    expected = np.average(each, axis=0, weights=fitted.estimator_weights_)
    np.testing.assert_allclose(fitted.feature_importances_, expected)


def test_a_perfect_member_does_not_end_the_training():
    X = np.arange(100.0).reshape(-1, 1)
    model = rus_boost(ratio=9).fit(X, (X[:, 0] >= 90).astype(int))
    assert len(model.estimators_) == 5
    assert np.isfinite(model.estimator_weights_).all()


def test_after_a_model_no_better_than_chance_the_weights_start_over(oracle):
    """The row that a member gets wrong weighs more than the others together, and the next one errs on it again."""
    X = np.array([[0.0], [1.0], [0.0], [0.0], [0.0], [0.0]])
    model = rus_boost(oracle, n_estimators=4, ratio=2, learning_rate=1.5).fit(X, [1, 1, 0, 0, 0, 0])
    assert len(model.estimators_) == len(model.n_training_rows_) == 4
    assert len(set(model.estimator_weights_)) == 1


def test_a_base_model_without_sample_weight_is_refused(frauds):
    with pytest.raises(ValueError, match="the base model KNeighborsClassifier does not accept sample_weight"):
        rus_boost(KNeighborsClassifier()).fit(*frauds)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"learning_rate": 0}, "learning_rate must be a positive number; got 0"),
        ({"ratio": -1}, "ratio must be a positive number; got -1"),
        ({"n_estimators": 0}, "n_estimators must be a whole number >= 1; got 0"),
    ],
)
def test_a_wrong_parameter_is_named_with_its_value(frauds, parameters, message):
    with pytest.raises(ValueError, match=message):
        rus_boost(**parameters).fit(*frauds)


def test_a_ratio_beyond_the_majority_warns_where_fit_was_called(frauds):
    with pytest.warns(UserWarning, match="ratio=50 asks for 3000 rows of the class 0, which has only 2940") as caught:
        rus_boost(ratio=50, n_estimators=1).fit(*frauds)
    assert caught[0].filename == __file__


def test_an_error_of_the_base_model_says_in_which_round_it_was(frauds):
    with pytest.raises(ValueError, match="max_depth") as caught:
        rus_boost(DecisionTreeClassifier(max_depth=0)).fit(*frauds)
    assert caught.value.__notes__ == ["This happened in round 1 of 5."]


FRAMES = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize(
    "base",
    [
        HistGradientBoostingClassifier(max_iter=5, categorical_features="from_dtype"),
        LGBMClassifier(n_estimators=5, verbose=-1),
    ],
    ids=["HistGradientBoosting", "LightGBM"],
)
def test_categories_reach_the_base_model(frauds, kind, base):
    """The category alone tells the classes apart: whoever sees it finds every fraud."""
    _, y = frauds
    frame = pd.DataFrame({"country": pd.Categorical(np.where(y == 1, "x", "z")), "V0": np.zeros(len(y))})
    model = rus_boost(base, n_estimators=2).fit(FRAMES[kind](frame), y)
    assert np.array_equal(model.predict(FRAMES[kind](frame)), y)


def test_a_frame_gives_the_same_members_as_an_array(frauds, fitted):
    X, y = frauds
    frame = pd.DataFrame(X, columns=list("abcdef"), index=np.arange(len(y))[::-1])
    np.testing.assert_array_equal(rus_boost().fit(frame, y).predict_proba(frame), fitted.predict_proba(X))


def test_several_classes_are_drawn_down_to_the_smallest_and_learned():
    X, y = make_blobs([40, 1000, 300], centers=[[0, 0], [3, 3], [0, 4]], random_state=0)
    model = rus_boost().fit(X, y)
    assert model.n_training_rows_ == [120] * 5
    assert all((model.predict(X[y == number]) == number).mean() > 0.7 for number in range(3))


def test_a_base_without_probabilities_works(frauds):
    assert rus_boost(RidgeClassifier(), n_estimators=2).fit(*frauds).predict_proba(frauds[0]).shape == (3000, 2)


def test_it_ranks_better_than_a_single_tree_on_one_draw():
    X, y = make_fraud(n_rows=20_000, n_frauds=400, random_state=0)
    scores = [
        average_precision_score(
            y[1::2], rus_boost(n_estimators=n_members).fit(X[::2], y[::2]).predict_proba(X[1::2])[:, 1]
        )
        for n_members in (1, 10)
    ]
    assert scores[1] > scores[0] + 0.15
