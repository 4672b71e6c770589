import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_blobs
from sklearn.linear_model import RidgeClassifier
from sklearn.svm import LinearSVC

from selfpaced.scoring import scorer_of


class Oracle(ClassifierMixin, BaseEstimator):
    """Predicts labels and nothing else."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize("model", [LinearSVC(), RidgeClassifier()])
def test_a_decision_function_of_two_classes_goes_through_the_logistic_function(model):
    X, y = make_blobs(60, centers=2, random_state=0)
    model.fit(X, y)
    np.testing.assert_allclose(scorer_of(model).score(X)[:, 1], expit(model.decision_function(X)))


@pytest.mark.parametrize("model", [LinearSVC(), RidgeClassifier()])
def test_a_decision_function_of_several_classes_goes_through_the_softmax(model):
    X, y = make_blobs(60, centers=3, random_state=0)
    model.fit(X, y)
    np.testing.assert_allclose(scorer_of(model).score(X), softmax(model.decision_function(X), axis=1))


def test_probabilities_from_decisions_add_up_to_one():
    X, y = make_blobs(60, centers=3, random_state=0)
    np.testing.assert_allclose(scorer_of(LinearSVC().fit(X, y)).score(X).sum(axis=1), 1)


def test_a_model_that_only_predicts_gives_votes():
    X = np.array([[-1.0], [2.0]])
    assert scorer_of(Oracle().fit(X, [0, 1])).score(X).tolist() == [[1, 0], [0, 1]]
