"""How far the members are apart, asked of every ensemble."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from selfpaced.baselines import RUSBoostClassifier
from selfpaced.datasets import make_checkerboard
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from tests.ensembles_by_name import ENSEMBLES

TREE = DecisionTreeClassifier(max_depth=4)


@pytest.fixture(scope="module")
def fitted(board):
    return SelfPacedEnsembleClassifier(TREE, 10, random_state=0).fit(*board)


@pytest.mark.parametrize("name", ENSEMBLES)
def test_every_ensemble_has_a_spread_like_its_probabilities(name, board):
    X, y = board
    base = {} if name == "EasyEnsembleClassifier" else {"estimator": TREE}
    model = ENSEMBLES[name](n_estimators=3, random_state=0, **base).fit(X, y)
    spread = model.predict_proba_spread(X)
    assert spread.low.shape == spread.high.shape == model.predict_proba(X).shape
    assert (spread.low <= spread.high).all()
    assert (spread.low < spread.high).any()


def test_the_whole_share_goes_from_the_lowest_to_the_highest_member(fitted, board):
    low, high = fitted.predict_proba_spread(board[0], share=1)
    own = [member.predict_proba(board[0]) for member in fitted.estimators_]
    np.testing.assert_allclose(low, np.min(own, axis=0))
    np.testing.assert_allclose(high, np.max(own, axis=0))


def test_by_default_eight_of_ten_members_are_inside(fitted, board):
    low, high = fitted.predict_proba_spread(board[0])
    own = np.array([member.predict_proba(board[0]) for member in fitted.estimators_])
    all_differ = np.array([np.unique(values).size == 10 for values in own[:, :, 1].T])
    inside = ((low <= own) & (own <= high)).sum(axis=0)
    assert all_differ.sum() > 100
    assert (inside[all_differ] == 8).all()


def test_a_larger_share_is_a_wider_spread(fitted, board):
    widths = [np.subtract(*fitted.predict_proba_spread(board[0], share)[::-1]) for share in (0.2, 0.5, 0.8, 1)]
    for narrow, wide in itertools.pairwise(widths):
        assert (narrow <= wide + 1e-12).all()


def test_of_two_classes_one_is_as_low_as_the_other_is_high(fitted, board):
    low, high = fitted.predict_proba_spread(board[0])
    np.testing.assert_allclose(low[:, 0], 1 - high[:, 1])


def test_members_are_farther_apart_on_edges_than_amid_the_fields():
    model = SelfPacedEnsembleClassifier(TREE, 10, random_state=0).fit(*make_checkerboard(random_state=0))
    centres = np.array([(row, column) for row in range(3) for column in range(3)])
    amid, on_the_edges = (
        np.subtract(*model.predict_proba_spread(rows)[::-1])[:, 1] for rows in (centres, centres + 0.5)
    )
    assert 2 * amid.mean() < on_the_edges.mean()


def test_one_member_has_no_spread(board):
    model = SelfPacedEnsembleClassifier(TREE, 1, random_state=0).fit(*board)
    low, high = model.predict_proba_spread(board[0])
    np.testing.assert_array_equal(low, high)
    np.testing.assert_array_equal(low, model.predict_proba(board[0]))


def test_several_classes_have_a_column_each():
    X, y = make_blobs([40, 1000, 300], centers=[[0, 0], [2, 2], [0, 3]], random_state=0)
    model = SelfPacedEnsembleClassifier(TREE, 5, random_state=0).fit(X, y)
    low, high = model.predict_proba_spread(X, share=1)
    assert low.shape == (1340, 3)
    assert (low <= model.predict_proba(X) + 1e-12).all()
    assert (model.predict_proba(X) <= high + 1e-12).all()


def test_members_of_boosting_count_by_their_weights(board):
    X, y = board
    model = RUSBoostClassifier(TREE, 5, random_state=0).fit(X, y)
    weighed = model.predict_proba_spread(X).low
    (part,) = model.model_.parts
    equal = replace(model.model_, parts=(replace(part, weights=np.ones(len(part.members))),))
    unweighed = model.with_model(equal).predict_proba_spread(X).low
    own = [member.predict_proba(X) for member in model.estimators_]
    np.testing.assert_allclose(unweighed, np.quantile(own, 0.1, axis=0))
    assert not np.allclose(weighed, unweighed)


def test_it_does_not_depend_on_the_number_of_threads(fitted, board):
    one = fitted.predict_proba_spread(board[0])
    fitted.set_params(n_jobs=2)
    two = fitted.predict_proba_spread(board[0])
    fitted.set_params(n_jobs=None)
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("base", [TREE, KNeighborsClassifier()])
def test_frames_are_taken(base, board):
    import pandas as pd

    frame = pd.DataFrame(board[0], columns=["a", "b"])
    model = SelfPacedEnsembleClassifier(base, 3, random_state=0).fit(frame, board[1])
    assert model.predict_proba_spread(frame).low.shape == (1100, 2)


@pytest.mark.parametrize("share", [0, -0.1, 1.01, np.nan, True, "0.8", None])
def test_a_share_that_is_none_is_refused(fitted, board, share):
    with pytest.raises(
        ValueError, match="share, the share of the members in the middle, must be above 0 and at most 1"
    ):
        fitted.predict_proba_spread(board[0], share)


def test_a_model_that_is_not_fitted_says_so(board):
    with pytest.raises(NotFittedError):
        SelfPacedEnsembleClassifier().predict_proba_spread(board[0])
