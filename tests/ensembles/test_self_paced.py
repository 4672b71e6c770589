"""What the classifier gives a user: predictions, attributes, notes."""

import pickle

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.tree import DecisionTreeClassifier

from selfpaced.datasets import make_checkerboard, make_fraud
from selfpaced.ensembles import SelfPacedEnsembleClassifier


@pytest.fixture(scope="module")
def fitted(board):
    X, y = board
    return SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=4), 5, random_state=0).fit(X, y)


def test_there_are_as_many_members_as_asked_for(fitted):
    assert len(fitted.estimators_) == 5
    assert all(isinstance(member, DecisionTreeClassifier) for member in fitted.estimators_)


def test_every_member_is_trained_on_all_minority_rows_and_as_many_others(fitted):
    assert [member.tree_.n_node_samples[0] for member in fitted.estimators_] == [200] * 5


def test_the_default_base_model_is_a_decision_tree(board):
    model = SelfPacedEnsembleClassifier(n_estimators=2, random_state=0).fit(*board)
    assert isinstance(model.estimators_[0], DecisionTreeClassifier)
    assert model.estimator is None


def test_probabilities_are_the_mean_of_the_members(fitted, board):
    mean = np.mean([member.predict_proba(board[0]) for member in fitted.estimators_], axis=0)
    np.testing.assert_allclose(fitted.predict_proba(board[0]), mean)


def test_probabilities_add_up_to_one(fitted, board):
    np.testing.assert_allclose(fitted.predict_proba(board[0]).sum(axis=1), 1)


def test_log_probabilities_are_the_logarithm_without_a_warning_at_zero(fitted, board):
    logarithms = fitted.predict_log_proba(board[0])
    assert np.isneginf(logarithms).any()
    np.testing.assert_allclose(np.exp(logarithms), fitted.predict_proba(board[0]))


def test_the_most_probable_class_is_predicted(fitted, board):
    assert np.array_equal(fitted.predict(board[0]), fitted.predict_proba(board[0])[:, 1] > 0.5)


def test_stages_end_with_the_whole_ensemble(fitted, board):
    stages = list(fitted.staged_predict_proba(board[0]))
    assert len(stages) == 5
    np.testing.assert_array_equal(stages[0], fitted.estimators_[0].predict_proba(board[0]))
    np.testing.assert_allclose(stages[-1], fitted.predict_proba(board[0]))


def test_importances_are_the_mean_of_the_members(fitted):
    expected = np.mean([member.feature_importances_ for member in fitted.estimators_], axis=0)
    np.testing.assert_allclose(fitted.feature_importances_, expected)


def test_importances_in_counts_are_scaled_to_one(board):
    from lightgbm import LGBMClassifier

    model = SelfPacedEnsembleClassifier(LGBMClassifier(n_estimators=3, verbose=-1), 2, random_state=0).fit(*board)
    assert model.feature_importances_.sum() == pytest.approx(1)


def test_members_without_importances_leave_the_ensemble_without(board):
    model = SelfPacedEnsembleClassifier(LogisticRegression(), 2, random_state=0).fit(*board)
    assert not hasattr(model, "feature_importances_")


def test_classes_features_and_minority_are_known(fitted):
    assert fitted.classes_.tolist() == [0, 1]
    assert fitted.n_features_in_ == 2
    assert fitted.pos_label_ == 1
    assert not hasattr(fitted, "feature_names_in_")


def test_a_fitted_model_pickles_to_about_the_size_of_its_members(fitted):
    n_notes = sum(len(pickle.dumps(note)) for note in fitted.rounds_)
    n_members = len(pickle.dumps(fitted.estimators_))
    assert len(pickle.dumps(fitted)) < n_members + n_notes + 2000
    assert n_notes < 2000 * len(fitted.rounds_)


def test_a_fitted_model_does_not_grow_with_the_majority():
    sizes = []
    for n_majority in (2000, 20_000):
        X, y = make_checkerboard(n_minority=50, n_majority=n_majority, random_state=0)
        model = SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=3), 3, random_state=0).fit(X, y)
        sizes.append(len(pickle.dumps(model)))
    assert sizes[1] < sizes[0] + 1000


def test_a_pickled_model_predicts_the_same(fitted, board):
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(board[0]), fitted.predict_proba(board[0]))


def test_drawing_by_hardness_is_clearly_better_than_drawing_at_random():
    """Random under-bagging is SPE with one bin."""
    X, y = make_fraud(n_rows=60_000, n_frauds=600, random_state=0)
    scores = [
        average_precision_score(
            y[1::2],
            SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=10), n_bins=n_bins, random_state=0)
            .fit(X[::2], y[::2])
            .predict_proba(X[1::2])[:, 1],
        )
        for n_bins in (20, 1)
    ]
    assert scores[0] > scores[1] + 0.15


@pytest.mark.parametrize("hardness", ["absolute", "squared", "cross_entropy", np.sqrt])
def test_every_hardness_learns_the_board(board, hardness):
    X_test, y_test = make_checkerboard(random_state=1)
    model = SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=6), hardness=hardness, random_state=0).fit(
        *board
    )
    assert average_precision_score(y_test, model.predict_proba(X_test)[:, 1]) > 0.3


def test_a_function_equal_to_a_named_hardness_gives_the_same_members(board):
    named, own = (
        SelfPacedEnsembleClassifier(hardness=hardness, random_state=0).fit(*board).predict_proba(board[0])
        for hardness in ("squared", lambda doubt: doubt * doubt)
    )
    np.testing.assert_array_equal(named, own)


def test_a_pacing_of_ones_own_changes_the_draws(board):
    calm = SelfPacedEnsembleClassifier(pacing=lambda i, n: 0.0, n_estimators=3, random_state=0).fit(*board)
    assert [note.alpha for note in calm.rounds_] == [None, 0.0, 0.0, 0.0]


@pytest.mark.parametrize(("ratio", "n_rows"), [(0.5, 150), (1.0, 200), (3.7, 470)])
def test_the_ratio_says_how_many_majority_rows_go_with_each_minority_row(board, ratio, n_rows):
    model = SelfPacedEnsembleClassifier(ratio=ratio, n_estimators=2, random_state=0).fit(*board)
    assert [note.n_rows for note in model.rounds_] == [n_rows] * 3
