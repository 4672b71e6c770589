"""A base model that can be calculated by hand."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin


class Oracle(ClassifierMixin, BaseEstimator):
    """Takes the first feature for the probability of class 1, and remembers what it was trained on."""

    def fit(self, X, y, sample_weight=None, colours=None):
        self.X_, self.y_, self.weights_, self.colours_ = X, y, sample_weight, colours
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.column_stack([1 - X[:, 0], X[:, 0]])


@pytest.fixture
def oracle():
    return Oracle()
