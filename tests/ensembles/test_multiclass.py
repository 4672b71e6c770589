"""More than two classes: the smallest is the minority, and each other class is drawn down to its size."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import average_precision_score
from sklearn.tree import DecisionTreeClassifier

from selfpaced.ensembles import SelfPacedEnsembleClassifier

NAMES = np.array(["worm", "ok", "scan"])


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs([40, 1000, 300], centers=[[0, 0], [2, 2], [0, 3]], random_state=0)
    return X, NAMES[y]


@pytest.fixture(scope="module")
def fitted(blobs):
    base = DecisionTreeClassifier(max_depth=4)
    return SelfPacedEnsembleClassifier(base, 5, n_bins=10, random_state=0).fit(*blobs, eval_set=blobs)


def test_the_smallest_class_is_the_minority(fitted):
    assert fitted.pos_label_ == "worm"


def test_every_other_class_is_drawn_down_to_its_size(fitted):
    for note in fitted.rounds_:
        assert {label: bins.quota.sum() for label, bins in note.bins.items()} == {"ok": 40, "scan": 40}
        assert note.n_rows == 120


def test_every_larger_class_has_bins_of_its_own(fitted):
    for note in fitted.rounds_[1:]:
        assert {label: bins.counts.sum() for label, bins in note.bins.items()} == {"ok": 1000, "scan": 300}


def test_hardness_is_asked_for_each_larger_class_by_itself(blobs):
    X, y = blobs
    model = SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=2), 1, random_state=0)
    seen = []
    model.set_params(hardness=lambda doubt: seen.append(doubt.copy()) or doubt).fit(X, y)
    n_rows = {len(doubts) for doubts in seen}
    assert n_rows == {300, 1000}


def test_bins_of_several_classes_must_be_asked_for_by_label(fitted):
    with pytest.raises(AttributeError, match=r"name one of them: round.bins\['ok'\]"):
        _ = fitted.rounds_[1].counts


def test_all_classes_are_learned(fitted, blobs):
    X, y = blobs
    assert fitted.classes_.tolist() == ["ok", "scan", "worm"]
    for name in NAMES:
        assert (fitted.predict(X[y == name]) == name).mean() > 0.7


def test_the_score_is_the_mean_over_the_classes(fitted, blobs):
    X, y = blobs
    by_class = [
        average_precision_score(y == name, fitted.predict_proba(X)[:, i]) for i, name in enumerate(fitted.classes_)
    ]
    assert fitted.rounds_[-1].score == pytest.approx(np.mean(by_class))


def test_a_larger_class_missing_from_the_eval_set_does_not_count(blobs):
    X, y = blobs
    X_eval, y_eval = X[y != "scan"], y[y != "scan"]
    model = SelfPacedEnsembleClassifier(n_estimators=2, random_state=0).fit(X, y, eval_set=(X_eval, y_eval))
    probabilities = dict(zip(model.classes_, model.predict_proba(X_eval).T, strict=True))
    by_class = [average_precision_score(y_eval == name, probabilities[name]) for name in ("ok", "worm")]
    assert model.rounds_[-1].score == pytest.approx(np.mean(by_class))


def test_a_base_without_probabilities_works_with_several_classes(blobs):
    model = SelfPacedEnsembleClassifier(RidgeClassifier(), 3, random_state=0).fit(*blobs)
    np.testing.assert_allclose(model.predict_proba(blobs[0]).sum(axis=1), 1)


def test_two_classes_are_the_special_case_of_several(board):
    """Doubt of two classes read as 1 - own probability agrees with the probability of the other class."""
    from selfpaced.pools.chunk import doubt

    X, y = board
    probabilities = SelfPacedEnsembleClassifier(random_state=0).fit(X, y).predict_proba(X)
    with_an_empty_class = np.column_stack([probabilities, np.zeros(len(y))])
    np.testing.assert_allclose(doubt(probabilities, 0), doubt(with_an_empty_class, 0), atol=1e-7)


def test_hundreds_of_classes_work():
    y = np.repeat(np.arange(300), 6)
    X = y.reshape(-1, 1) + np.zeros((1, 2))
    model = SelfPacedEnsembleClassifier(n_estimators=2, random_state=0).fit(X, y)
    assert np.array_equal(model.predict(X), y)
