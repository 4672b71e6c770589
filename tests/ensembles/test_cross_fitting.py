"""Honest scores come from models that have not seen the row, whatever the row is."""

from typing import ClassVar

import numpy as np
import pytest
from joblib import effective_n_jobs
from lightgbm import LGBMClassifier
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_info

from selfpaced.ensembles import MemberFactory, SelfPacedEnsembleClassifier
from selfpaced.ensembles.cross_fitting import CrossFitted, HonestScores, cross_fit, folds, honest_means
from selfpaced.pools import Rows
from selfpaced.tables import InMemoryTable, encode_labels


class Parrot(ClassifierMixin, BaseEstimator):
    """Is sure of the label of every row that it has been told, and knows nothing of others."""

    def fit(self, X, y):
        self.known_ = dict(zip(X[:, 0].tolist(), y.tolist(), strict=True))
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        rare = np.array([self.known_.get(number, 0.5) for number in X[:, 0].tolist()])
        return np.column_stack([1 - rare, rare])


def test_no_copy_has_seen_the_row_that_it_scores():
    ids = np.arange(40)
    rows = Rows(ids, ids[:, np.newaxis].astype(float), {})
    y = (ids < 20).astype(np.intp)
    found = cross_fit(MemberFactory([Parrot()], 0, {}), 1, rows, y, seed=0, n_threads=1)
    assert (found.probabilities == 0.5).all()


def test_rows_that_a_member_has_not_seen_are_scored_by_the_member():
    member = Parrot().fit(np.array([[1.0], [2.0]]), np.array([1, 0]))
    copies = HonestScores(np.array([1, 2]), np.array([[0.7, 0.3], [0.6, 0.4]]))
    table = InMemoryTable(np.array([[1.0], [2.0], [3.0]]))
    means = honest_means([CrossFitted(member, copies)], table, np.array([1, 2, 3]), 2, n_threads=1)
    assert means[:, 1].tolist() == [0.3, 0.4, 0.5]


def test_every_part_has_equally_many_rows_of_each_class():
    y = np.repeat([0, 1, 2], [50, 20, 10])
    parts = folds(np.arange(80), y, seed=3, number=2)
    for number, expected in enumerate([10, 4, 2]):
        assert np.bincount(parts[y == number]).tolist() == [expected] * 5


def test_parts_are_drawn_anew_for_each_member_and_by_ids_alone():
    ids, y = np.arange(60), np.repeat([0, 1], 30)
    assert folds(ids, y, 0, 1).tolist() != folds(ids, y, 0, 2).tolist()
    order = np.random.default_rng(0).permutation(60)
    assert folds(ids[order], y[order], 0, 1).tolist() == folds(ids, y, 0, 1)[order].tolist()


def test_two_rows_of_a_class_are_left_out_one_by_one():
    parts = folds(np.arange(12), np.repeat([0, 1], [10, 2]), 0, 1)
    assert sorted(parts[10:].tolist()) == [0, 1]


def test_a_single_row_of_a_class_cannot_be_left_out():
    with pytest.raises(ValueError, match=r"one class has only one\. Increase ratio"):
        folds(np.arange(3), np.array([0, 1, 1]), 0, 1)


def test_a_parrot_that_is_calibrated_honestly_is_sure_of_nothing():
    """By what it says of its own training rows it would seem to be always right."""
    X = np.arange(500.0)[:, np.newaxis]
    y = (np.arange(500) % 25 == 0).astype(int)
    model = SelfPacedEnsembleClassifier(Parrot(), 3, random_state=0, calibration="sigmoid").fit(X, y)
    assert model.predict_proba(np.array([[1000.5]]))[0, 1] < 0.2


class Reader(ClassifierMixin, BaseEstimator):
    """Takes the first feature for the probability of class 1; the class remembers the rows of each fit."""

    fits: ClassVar[list[list[float]]] = []

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.fits.append(X[:, 0].tolist())
        return self

    def predict_proba(self, X):
        return np.column_stack([1 - X[:, 0], X[:, 0]])


@pytest.mark.parametrize(
    ("n_rare", "n_copies"), [(10_000, 2), (9999, 3), (1000, 3), (999, 5), (20, 5), (6, 5), (5, 5), (4, 4), (2, 2)]
)
def test_every_row_is_left_out_once_and_scored_by_the_copy_that_has_not_seen_it(n_rare, n_copies):
    Reader.fits.clear()
    own = np.linspace(0.01, 0.99, n_rare + max(n_rare, 20))  # each row's feature is a number of its own
    rows = Rows(np.arange(own.size) + 100, own[:, np.newaxis], {})
    y = (np.arange(own.size) < n_rare).astype(np.intp)
    found = cross_fit(MemberFactory([Reader()], 0, {}), 1, rows, y, seed=0, n_threads=1)
    assert found.ids.tolist() == rows.ids.tolist()
    np.testing.assert_allclose(found.probabilities, np.column_stack([1 - own, own]))
    assert len(Reader.fits) == n_copies
    left_out = sorted(row for seen in Reader.fits for row in set(own.tolist()) - set(seen))
    assert left_out == own.tolist()


def test_the_first_part_is_scored_like_all_others(monkeypatch):
    """Probabilities that nobody has filled in would be whatever lies in the memory."""
    monkeypatch.setattr(np, "empty", lambda shape, dtype=float: np.full(shape, 7, dtype=dtype))
    ids = np.arange(40)
    rows = Rows(ids, ids[:, np.newaxis] / 40, {})
    found = cross_fit(MemberFactory([Reader()], 0, {}), 1, rows, (ids < 20).astype(np.intp), seed=0, n_threads=1)
    assert ((found.probabilities >= 0) & (found.probabilities <= 1)).all()


def test_means_are_over_all_members_each_with_its_own_copies():
    table, ids = InMemoryTable(np.array([[0.2], [0.4]])), np.array([5, 6])
    reader = Reader().fit(np.array([[0.0], [1.0]]), np.array([0, 1]))
    first = CrossFitted(reader, HonestScores(np.array([6, 9]), np.array([[0.5, 0.5], [0.0, 1.0]])))
    second = CrossFitted(reader, HonestScores(np.array([4, 5]), np.array([[0.0, 1.0], [0.1, 0.9]])))
    means = honest_means([first, second], table, ids, 2, n_threads=1)
    np.testing.assert_allclose(means[:, 1], [(0.2 + 0.9) / 2, (0.5 + 0.4) / 2])


def test_the_members_of_a_finished_ensemble_are_cross_fitted_on_their_own_rows():
    Reader.fits.clear()
    own = np.linspace(0.01, 0.99, 30)
    labels = encode_labels((np.arange(30) < 15).astype(int))
    seen = [np.arange(0, 30, 2), np.arange(1, 30, 2)]
    table = InMemoryTable(own[:, np.newaxis])
    factory = MemberFactory([Reader()], 0, {})
    for number, rows in enumerate(seen, start=1):
        scores = cross_fit(factory, number, table.rows(rows), labels.codes[rows].astype(np.intp), 0, 1)
        assert scores.ids.tolist() == rows.tolist()
        np.testing.assert_allclose(scores.probabilities[:, 1], own[rows])
    parts = [folds(rows, labels.codes[rows], 0, number) for number, rows in enumerate(seen, start=1)]
    expected = [
        sorted(own[rows[part != left]].tolist()) for rows, part in zip(seen, parts, strict=True) for left in range(5)
    ]
    assert [sorted(rows) for rows in Reader.fits] == expected


@pytest.mark.parametrize("base", [DecisionTreeClassifier(max_depth=4), LGBMClassifier(n_estimators=5, verbose=-1)])
def test_copies_in_threads_say_what_copies_one_after_the_other_say(base):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(400, 4))
    rows, y = Rows(np.arange(400), features, {}), (features[:, 0] > 0).astype(np.intp)
    factory = MemberFactory([base], 0, {})
    assert factory.copies_at_once(1, features, n_copies=5, n_threads=3) == 3
    alone, together = (cross_fit(factory, 1, rows, y, seed=0, n_threads=n) for n in (1, 3))
    np.testing.assert_array_equal(alone.probabilities, together.probabilities)


def test_thread_pools_are_as_before_after_copies_in_threads():
    def threads():
        return [pool["num_threads"] for pool in threadpool_info()]

    rng = np.random.default_rng(0)
    rows, y = Rows(np.arange(300), rng.normal(size=(300, 4)), {}), rng.integers(0, 2, size=300)
    before = threads()
    cross_fit(MemberFactory([DecisionTreeClassifier(max_depth=4)], 0, {}), 1, rows, y, seed=0, n_threads=4)
    assert threads() == before


MANY_ROWS = np.empty((2**19, 1))
TREE, N_CORES = DecisionTreeClassifier(), effective_n_jobs(-1)


@pytest.mark.parametrize("base", [Reader(), RandomForestClassifier(), LGBMClassifier(num_threads=2)])
def test_copies_of_unknown_models_and_of_those_with_threads_by_another_name_follow_each_other(base):
    assert MemberFactory([base], 0, {}).copies_at_once(1, np.empty((10, 1)), n_copies=5, n_threads=4) == 1


@pytest.mark.parametrize(
    ("base", "n_copies", "at_once"),
    [
        (TREE, 3, 2),  # as many as the ensemble has threads
        (LGBMClassifier(n_jobs=1), 3, 2),
        (LGBMClassifier(n_jobs=4), 3, 3),  # in the place of LightGBM's own threads
        (LGBMClassifier(n_jobs=7), 3, 1),  # of which there are more than copies could use
        (LGBMClassifier(), 100, max(2, N_CORES)),
    ],
)
def test_on_many_rows_copies_take_the_place_of_the_threads_of_the_base_model(base, n_copies, at_once):
    assert MemberFactory([base], 0, {}).copies_at_once(1, MANY_ROWS, n_copies, n_threads=2) == at_once


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_copies_beside_others_are_trained_in_one_thread_and_keep_their_settings(n_jobs):
    seen = []

    class Watched(LGBMClassifier):
        def fit(self, X, y, **arguments):
            seen.append(self.n_jobs)
            return super().fit(X, y, **arguments)

    rng = np.random.default_rng(0)
    factory = MemberFactory([Watched(n_estimators=2, verbose=-1, n_jobs=n_jobs)], 0, {})
    model = factory.fit(1, rng.normal(size=(60, 3)), np.arange(60) % 2, {}, beside_others=True)
    assert seen == [1]
    assert model.n_jobs == n_jobs
