"""Recipes that are trained from files share the passes over them, and one split."""

from threading import Barrier
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from selfpaced.datasets import make_fraud
from selfpaced.ensembles import SelfPacedEnsembleClassifier, UnderBaggingClassifier
from selfpaced.ensembles.auto import AutoSelfPacedClassifier
from selfpaced.ensembles.auto.training import SharedPasses
from selfpaced.pools import Pass
from selfpaced.tables.sources import open_table

N_MEMBERS, N_SCOUTS, BATCH_ROWS = 4, 3, 4096


class FailsOnManyRows(ClassifierMixin, BaseEstimator):
    """A model that can be judged, but fails while it scores the pool of the whole table."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.tree_ = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
        return self

    def predict_proba(self, X):
        if len(X) == BATCH_ROWS:  # of the table
            raise RuntimeError("no more memory")
        return self.tree_.predict_proba(X)


def recipes(*others):
    return [
        ("trees", SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=5), N_MEMBERS)),
        ("linear", SelfPacedEnsembleClassifier(LogisticRegression(), N_MEMBERS, ratio=2)),
        ("bags", UnderBaggingClassifier(DecisionTreeClassifier(max_depth=3), N_MEMBERS)),
        *others,
    ]


def written(folder, n_rows):
    X, y = make_fraud(n_rows=n_rows, n_frauds=80, n_features=4, random_state=0)
    pd.DataFrame(X, columns=list("abcd")).assign(label=y).to_parquet(folder / "rows.parquet")
    return folder / "rows.parquet"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A table that is larger than the sample that recipes are judged by."""
    return written(tmp_path_factory.mktemp("large"), n_rows=30_000)


def opened(path):
    return open_table(path, target="label", batch_rows=BATCH_ROWS)


def equal_weights(monkeypatch):
    """Every recipe becomes a part of the blend, whatever it is worth."""
    monkeypatch.setattr(
        "selfpaced.ensembles.auto.judging.blend_weights", lambda scores, *_: np.full(len(scores), 1 / len(scores))
    )


def test_all_recipes_are_trained_in_as_many_passes_as_one(path, passes, monkeypatch):
    equal_weights(monkeypatch)
    model = AutoSelfPacedClassifier(recipes(), random_state=0).fit_table(opened(path))
    assert len(model.ensembles_) == 3
    # One pass brings the labels, and one the minority with the first draw of the scouts.
    # Their rounds take a pass each, and the sample to judge by two: one finds the hard rows, one draws.
    to_judge = 2 + N_SCOUTS + 2
    assert len(passes) == to_judge + 1 + N_MEMBERS  # the first draws, and the rounds after them


def test_a_table_that_is_judged_whole_is_read_three_times(tmp_path, passes, monkeypatch):
    """Once for the labels, once for the minority, and once into memory."""
    equal_weights(monkeypatch)
    path = written(tmp_path, n_rows=4000)
    model = AutoSelfPacedClassifier(recipes(), random_state=0).fit_table(opened(path))
    assert len(model.ensembles_) == 3
    assert len(passes) == 3


def test_the_model_is_that_of_recipes_trained_one_after_the_other(path, monkeypatch):
    equal_weights(monkeypatch)
    shared = AutoSelfPacedClassifier(recipes(), random_state=0).fit_table(opened(path))
    alone = AutoSelfPacedClassifier(recipes(), random_state=0, time_limit=1e6).fit_table(opened(path))
    X = pd.read_parquet(path).drop(columns="label")
    np.testing.assert_array_equal(shared.predict_proba(X), alone.predict_proba(X))


def test_an_error_of_one_recipe_during_a_pass_ends_only_that_recipe(path, monkeypatch):
    equal_weights(monkeypatch)
    failing = ("failing", SelfPacedEnsembleClassifier(FailsOnManyRows(), N_MEMBERS))
    with pytest.warns(UserWarning, match="The recipe 'failing' failed and is skipped. RuntimeError: no more memory"):
        model = AutoSelfPacedClassifier(recipes(failing), random_state=0).fit_table(opened(path))
    assert sorted(model.ensembles_) == ["bags", "linear", "trees"]


def test_a_fit_that_needs_one_thread_leaves_the_others_theirs():
    shared, both, inside, most_inside = SharedPasses(), Barrier(2, timeout=30), [], []

    class Rows:
        def batches(self):
            return [SimpleNamespace(start=0, stop=1), SimpleNamespace(start=1, stop=2)]

    def alone(batch):
        inside.append(batch)
        most_inside.append(len(inside))
        inside.remove(batch)

    def asking(work, n_threads):
        return lambda: shared.read(Rows(), Pass(work, n_threads, lambda n_rows: None, lambda seconds: None))

    # The barrier lets nobody through unless both batches are worked on at the same time.
    found = shared.run([asking(alone, 1), asking(lambda batch: both.wait(), 2)])
    assert [result for result, _ in found] == [None, None]
    assert set(most_inside) == {1}


def test_an_interrupted_fit_leaves_no_work_behind():
    shared, went_on = SharedPasses(), []

    class Rows:
        def batches(self):
            raise KeyboardInterrupt

    def work():
        shared.read(Rows(), asked)
        went_on.append(1)

    asked = Pass(lambda batch: None, 1, lambda n_rows: None, lambda seconds: None)
    with pytest.raises(KeyboardInterrupt):
        shared.run([work, work])
    assert not went_on
