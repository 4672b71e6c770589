"""Data at the edge: tiny minorities, nothing to learn, nothing to choose from."""

import numpy as np
import pytest

from selfpaced.datasets import make_checkerboard
from selfpaced.ensembles import SelfPacedEnsembleClassifier


def fit(X, y, **parameters):
    return SelfPacedEnsembleClassifier(random_state=0, **parameters).fit(X, y)


@pytest.mark.parametrize("n_minority", [2, 3, 5, 20])
def test_a_tiny_minority_is_enough(n_minority):
    X, y = make_checkerboard(n_minority=n_minority, n_majority=500, random_state=0)
    model = fit(X, y)
    assert [note.n_rows for note in model.rounds_] == [2 * n_minority] * 11
    assert model.predict_proba(X).shape == (500 + n_minority, 2)


def test_fewer_rows_than_bins_are_drawn_from_some_of_them():
    X, y = make_checkerboard(n_minority=3, n_majority=500, random_state=0)
    assert all(note.quota.sum() == 3 for note in fit(X, y, n_bins=50).rounds_)


def test_constant_features_give_one_filled_bin_and_even_odds():
    model = fit(np.ones((200, 3)), np.arange(200) % 10 == 0)
    np.testing.assert_allclose(model.predict_proba(np.ones((1, 3))), [[0.5, 0.5]])
    assert all((note.counts > 0).sum() == 1 for note in model.rounds_)


@pytest.mark.parametrize("constant", [0.0, 0.3, 1.0, 7.0])
def test_constant_hardness_is_random_under_bagging(board, constant):
    model = fit(*board, hardness=lambda doubt: np.full_like(doubt, constant))
    assert all((note.counts > 0).sum() == 1 for note in model.rounds_)
    assert all(note.quota.sum() == 100 for note in model.rounds_)


def test_a_perfectly_separable_set_is_learned():
    X = np.r_[np.zeros(300), np.ones(10)].reshape(-1, 1)
    y = np.r_[np.zeros(300), np.ones(10)]
    model = fit(X, y)
    assert np.array_equal(model.predict(X), y)


def test_hardness_zero_everywhere_at_alpha_zero_still_draws():
    X = np.r_[np.zeros(300), np.ones(10)].reshape(-1, 1)
    model = fit(X, np.r_[np.zeros(300), np.ones(10)], pacing=lambda i, n: 0.0)
    assert all(note.n_rows == 20 for note in model.rounds_)


@pytest.mark.parametrize("n_bins", [1, 2, 256, 257, 1000])
def test_any_number_of_bins_works(board, n_bins):
    assert fit(*board, n_bins=n_bins, n_estimators=2).rounds_[1].counts.size == n_bins


def test_balanced_data_is_used_whole():
    X, y = make_checkerboard(n_minority=200, n_majority=200, random_state=0)
    model = fit(X, y, n_estimators=3)
    assert [note.n_rows for note in model.rounds_] == [400] * 4
    assert model.pos_label_ == 1


def test_one_member_is_an_ensemble(board):
    model = fit(*board, n_estimators=1)
    assert len(model.estimators_) == 1
    assert len(model.rounds_) == 2


def test_a_ratio_that_asks_for_less_than_a_row_draws_one():
    X, y = make_checkerboard(n_minority=5, n_majority=500, random_state=0)
    assert fit(X, y, ratio=0.01, n_estimators=1).rounds_[1].n_rows == 6


def test_one_row_is_predicted(board):
    assert fit(*board).predict(board[0][:1]).shape == (1,)
