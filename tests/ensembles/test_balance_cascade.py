"""BalanceCascade as an estimator: which rows it lets go."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier

from selfpaced.baselines import EasyEnsembleClassifier
from selfpaced.ensembles import BalanceCascadeClassifier, UnderBaggingClassifier


class Remembering(ClassifierMixin, BaseEstimator):
    """Calls a row rare with the probability that its only feature states, and remembers what it was trained on."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.common_ = X[y == 0, 0]
        return self

    def predict_proba(self, X):
        return np.column_stack([1 - X[:, 0], X[:, 0]])

    def predict(self, X):
        return (X[:, 0] > 0.5).astype(int)


def trained_on(X, y, n_members):
    model = BalanceCascadeClassifier(Remembering(), n_members, random_state=0).fit(X, y)
    return [member.common_ for member in model.estimators_]


def test_the_last_member_is_trained_on_the_hardest_rows_alone():
    hard = np.linspace(0, 1, 1000)
    X = np.append(hard, np.ones(10))[:, np.newaxis]
    y = np.repeat([0, 1], [1000, 10])
    assert sorted(trained_on(X, y, 4)[-1]) == pytest.approx(hard[-10:])


def test_equally_hard_rows_stay_or_go_by_chance_not_by_their_place():
    X = np.full((1010, 1), 0.25)
    y = np.repeat([0, 1], [1000, 10])
    X[:1000, 0] += np.arange(1000) * 1e-12  # places that float32 doubts cannot tell apart
    places = np.round((trained_on(X, y, 2)[-1] - 0.25) / 1e-12)
    assert 300 < places.mean() < 700


def test_rounds_tell_how_many_rows_were_left(frauds, tree):
    model = BalanceCascadeClassifier(tree, 4, random_state=0).fit(*frauds)
    assert [int(round.counts[0]) for round in model.rounds_] == [2940, 803, 220, 60]
    assert [round.number for round in model.rounds_] == [1, 2, 3, 4]
    assert {round.n_rows for round in model.rounds_} == {120}


def test_under_bagging_does_not_score_rows(frauds, tree):
    model = UnderBaggingClassifier(tree, 3, random_state=0).fit(*frauds)
    assert [round.seconds_scoring for round in model.rounds_] == [0, 0, 0]


def test_the_first_members_of_under_bagging_are_the_smaller_ensemble(frauds, tree):
    X, y = frauds
    large, small = (UnderBaggingClassifier(tree, n, random_state=0).fit(X, y) for n in (5, 2))
    stages = list(large.staged_predict_proba(X))
    np.testing.assert_array_equal(stages[1], small.predict_proba(X))


def test_easy_ensemble_boosts_trees_unless_told_otherwise(frauds):
    X, y = frauds
    model = EasyEnsembleClassifier(n_estimators=2, random_state=0).fit(X, y)
    assert {len(member.estimators_) for member in model.estimators_} <= set(range(1, 11))
    tree = DecisionTreeClassifier(max_depth=3)
    same = UnderBaggingClassifier(tree, 3, random_state=0).fit(X, y)
    other = EasyEnsembleClassifier(tree, 3, random_state=0).fit(X, y)
    np.testing.assert_array_equal(other.predict_proba(X), same.predict_proba(X))


def test_an_error_of_the_base_model_says_in_which_round_it_was(frauds):
    class Failing(Remembering):
        def fit(self, X, y):
            raise RuntimeError("no more")

    with pytest.raises(RuntimeError) as caught:
        UnderBaggingClassifier(Failing(), 3).fit(*frauds)
    assert "round 1 of 3" in caught.value.__notes__[0]
