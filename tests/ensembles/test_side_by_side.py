"""Recipes are trained side by side in processes where that changes nothing."""

import os

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier

from selfpaced.datasets import make_fraud
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.ensembles.auto import AutoSelfPacedClassifier
from selfpaced.ensembles.auto import training as side_by_side
from selfpaced.ensembles.auto.training import can_be_trained_side_by_side
from selfpaced.tables import InMemoryTable, LabelledTable, encode_labels
from selfpaced.tables.sources import open_table

# With fewer than 10 rare rows recipes are not judged: all of them are trained, and a warning says so.
N_RARE = 8
X, Y = make_fraud(n_rows=3000, n_frauds=N_RARE, n_features=6, random_state=0)
pytestmark = pytest.mark.filterwarnings("ignore:The class 1 has 8 rows:UserWarning")


class Located(DecisionTreeClassifier):
    """A tree that knows in which process it was trained."""

    def fit(self, X, y):
        self.process_ = os.getpid()
        return super().fit(X, y)


class Failing(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        raise RuntimeError("out of luck")


def recipe(base):
    return SelfPacedEnsembleClassifier(base, 2, ratio=3)


RECIPES = [
    ("deep", recipe(Located(max_depth=6))),
    ("boosted", recipe(LGBMClassifier(n_estimators=10, verbose=-1))),
]


def auto(recipes=RECIPES, **parameters):
    return AutoSelfPacedClassifier(recipes, **{"random_state": 0, "n_jobs": 2} | parameters)


@pytest.fixture(scope="module")
def fitted():
    return auto().fit(X, Y)


def processes_of(model):
    return {member.process_ for member in model.ensembles_["deep"].estimators_}


def test_recipes_are_trained_in_other_processes_and_are_the_same(fitted):
    assert os.getpid() not in processes_of(fitted)
    alone = auto(n_jobs=1).fit(X, Y)
    assert processes_of(alone) == {os.getpid()}
    assert list(fitted.ensembles_) == list(alone.ensembles_) == ["deep", "boosted"]
    np.testing.assert_array_equal(fitted.predict_proba(X), alone.predict_proba(X))


def test_ensembles_come_back_with_their_settings(fitted):
    for ensemble in fitted.ensembles_.values():
        assert ensemble.n_jobs == 2
        assert ensemble.callbacks is None
    assert fitted.ensembles_["boosted"].estimators_[0].n_jobs is None
    assert all(result.seconds_fitting > 0 for result in fitted.recipes_)


def test_with_a_time_limit_they_are_trained_one_after_the_other():
    assert processes_of(auto(time_limit=1000).fit(X, Y)) == {os.getpid()}


def test_a_recipe_that_fails_in_its_process_is_left_out_with_its_reason():
    model = auto([*RECIPES, ("failing", recipe(Failing()))])
    with pytest.warns(UserWarning, match=r"'failing' failed and is skipped\. RuntimeError: out of luck"):
        model.fit(X, Y)
    assert list(model.ensembles_) == ["deep", "boosted"]


def can(table, ensembles=(RECIPES[0][1], RECIPES[1][1]), n_threads=2):
    return can_be_trained_side_by_side(ensembles, table, 6, n_threads)


def test_few_rows_in_memory_can_be_trained_on_side_by_side(tmp_path):
    table = LabelledTable(InMemoryTable(X), encode_labels(Y))
    assert can(table)
    assert not can(table, n_threads=1)
    assert not can(table, ensembles=[RECIPES[0][1]])
    pd.DataFrame(X).add_prefix("x").assign(y=Y).to_parquet(tmp_path / "rows.parquet")
    in_files = open_table(tmp_path / "rows.parquet", target="y")
    assert not can(in_files)
    assert can(in_files.loaded())


@pytest.mark.parametrize(("limit", "value"), [("SMALL_TRAINING_SET", N_RARE * 4 * 6), ("MOST_BYTES_OF_ROWS", 1000)])
def test_large_training_sets_and_large_tables_are_not_trained_on_side_by_side(limit, value, monkeypatch):
    monkeypatch.setattr(side_by_side, limit, value)
    assert not can(LabelledTable(InMemoryTable(X), encode_labels(Y)))
