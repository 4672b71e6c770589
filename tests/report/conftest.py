"""A model with a report, and labels with scores."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from selfpaced.ensembles import SelfPacedEnsembleClassifier


@pytest.fixture(scope="session")
def model(frauds):
    X, y = frauds
    tree = DecisionTreeClassifier(max_depth=4)
    return SelfPacedEnsembleClassifier(tree, n_estimators=4, random_state=0).fit(X[::2], y[::2])


@pytest.fixture(scope="session")
def report(model, frauds):
    X, y = frauds
    return model.report(X[1::2], y[1::2], X_train=X[::2], y_train=y[::2])


@pytest.fixture(scope="session")
def scored():
    """5,000 labels, 2% of them cases, with scores that have ties."""
    rng = np.random.default_rng(0)
    is_case = rng.random(5000) < 0.02
    scores = 1 / (1 + np.exp(-(rng.normal(size=5000) + 2.5 * is_case - 3)))
    return is_case, scores.round(3)
