"""Which recipes are trained on the whole table when the time is limited."""

import time

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.ensembles.auto.choosing import TIME_IS_UP, Chooser, Clock
from selfpaced.ensembles.auto.judging import Judge, Judgement, WorkingSample

SECONDS = {"heavy": 18.0, "heavier": 30.0, "light": 2.0}


def judge_of(n_rare=4, stands_for=1.0):
    """Two folds of a sample, by copies of three members."""
    ones = np.ones(n_rare)
    sample = WorkingSample(None, ones.astype(int), ones, ones, stands_for * ones)
    return Judge(sample, np.arange(n_rare) % 2, 2, 1, 0, 1, n_members=3)


def fitted_with(seconds_left, weights):
    """Who is trained, in order, and the chooser. Every recipe takes as long as its copies took."""
    trained = []

    def fits(names):
        for name in names:
            trained.append(name)
            yield name.upper(), SECONDS[name]

    recipes = dict.fromkeys(SECONDS, SelfPacedEnsembleClassifier(DecisionTreeClassifier(), 3))
    clock = Clock(limit=60.0, begin=time.perf_counter() - 60 + seconds_left)
    chooser = Chooser(recipes, judge_of(), fits, clock, lambda name, step: None)
    chooser._judged = {name: Judgement(np.empty(0), seconds) for name, seconds in SECONDS.items()}
    assert chooser._fitted(weights) == {name: name.upper() for name in SECONDS if name in trained}
    return trained, chooser


def test_a_recipe_that_is_fast_enough_is_trained_after_one_that_is_skipped():
    """20 seconds are left: enough for what took 18 and 2 seconds to judge, and not for what took 30."""
    trained, chooser = fitted_with(20, {"heavy": 0.5, "heavier": 0.3, "light": 0.2})
    assert trained == ["heavy", "light"]
    assert chooser._results["heavier"].note == TIME_IS_UP


def test_a_recipe_that_would_be_late_is_not_trained_first_although_it_has_the_largest_weight():
    trained, chooser = fitted_with(20, {"heavy": 0.3, "heavier": 0.5, "light": 0.2})
    assert trained == ["heavy", "light"]
    assert chooser._results["heavier"].note == TIME_IS_UP


def test_if_all_would_be_late_the_fastest_is_trained():
    assert fitted_with(1, {"heavy": 0.3, "heavier": 0.5, "light": 0.2})[0] == ["light"]


@pytest.mark.parametrize(("n_members", "stands_for", "times"), [(3, 1, 1), (6, 1, 2), (2, 1, 1), (3, 10, 10)])
def test_work_on_the_whole_table_is_expected_by_members_and_rare_rows(n_members, stands_for, times):
    """Two folds have two copies of three members or fewer, each trained on half of the sample."""
    assert judge_of(stands_for=stands_for).times_as_much_work(n_members) == times
