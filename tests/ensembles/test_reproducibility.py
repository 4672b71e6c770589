"""One seed, one model: the same rows and the same seed give the same members, bit for bit."""

import pickle
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lightgbm import LGBMClassifier
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

from selfpaced.datasets import make_fraud
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from tests.chunks import chunks_of

BASES = {
    "tree": DecisionTreeClassifier(max_depth=5, max_features=2),
    "forest": RandomForestClassifier(5, max_depth=4),
    "boosted trees": AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=3),
    "HistGradientBoosting": HistGradientBoostingClassifier(max_iter=3),
    "LightGBM": LGBMClassifier(n_estimators=3, verbose=-1, subsample=0.5, subsample_freq=1),
    "XGBoost": XGBClassifier(n_estimators=3, subsample=0.5),
    "neighbours": KNeighborsClassifier(),
    "pipeline": make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=4, max_features=2)),
}
X, Y = make_fraud(n_rows=1500, n_frauds=40, n_features=5, random_state=0)


def fit(base, **parameters):
    return SelfPacedEnsembleClassifier(base, n_estimators=3, random_state=1, **parameters).fit(X, Y)


@cache
def fitted_once(base):
    return fit(base)


def probabilities(model):
    return np.stack([member.predict_proba(X) for member in model.estimators_])


def same_members(one, other):
    quotas = [
        np.array_equal(a.quota, b.quota) and np.array_equal(a.counts, b.counts)
        for a, b in zip(one.rounds_, other.rounds_, strict=True)
    ]
    return all(quotas) and np.array_equal(probabilities(one), probabilities(other))


@pytest.fixture(params=BASES)
def base(request):
    return BASES[request.param]


def test_two_fits_give_the_same_members(base):
    assert same_members(fit(base), fitted_once(base))


def test_a_refit_of_the_same_object_gives_the_same_members(base):
    model = fit(base)
    first = pickle.loads(pickle.dumps(model))
    assert same_members(model.fit(X, Y), first)


def test_a_clone_of_a_fitted_model_gives_the_same_members(base):
    model = fitted_once(base)
    assert same_members(clone(model).fit(X, Y), model)


def test_threads_do_not_change_the_members(base):
    assert same_members(fit(base, n_jobs=2), fitted_once(base))


@pytest.mark.slow
@pytest.mark.parametrize(
    "base", [BASES["tree"], BASES["LightGBM"], BASES["neighbours"]], ids=["tree", "LightGBM", "kNN"]
)
@given(scored=st.integers(1, 2000), hashed=st.integers(1, 2000), n_jobs=st.sampled_from([1, 2]))
@settings(max_examples=5, deadline=None)
def test_chunks_of_any_size_give_the_same_members(base, scored, hashed, n_jobs):
    with chunks_of(scored, hashed):
        again = fit(base, n_jobs=n_jobs)
    assert same_members(again, fitted_once(base))


@pytest.mark.parametrize("base", [MLPClassifier((8,), max_iter=20), LogisticRegression()], ids=["MLP", "logistic"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # enough training is not the point here
def test_models_on_blas_agree_to_the_seventh_digit_over_chunks(base):
    expected = fit(base)
    with chunks_of(scored=100, hashed=100):
        again = fit(base)
    for one, other in zip(expected.rounds_[1:2], again.rounds_[1:2], strict=True):
        np.testing.assert_allclose(one.mean_hardness, other.mean_hardness, atol=1e-6)


def test_another_seed_gives_other_members():
    tree = BASES["tree"]
    other = SelfPacedEnsembleClassifier(tree, n_estimators=3, random_state=2).fit(X, Y)
    assert not np.array_equal(probabilities(fit(tree)), probabilities(other))


def test_without_a_seed_two_fits_differ():
    one, other = (SelfPacedEnsembleClassifier(BASES["tree"], n_estimators=3).fit(X, Y) for _ in range(2))
    assert not np.array_equal(probabilities(one), probabilities(other))


def test_a_generator_as_random_state_is_drawn_from_and_gives_the_same_members_from_the_same_state():
    one, other = (
        SelfPacedEnsembleClassifier(BASES["tree"], 3, random_state=np.random.RandomState(5)).fit(X, Y) for _ in range(2)
    )
    assert same_members(one, other)


def test_the_global_generator_is_left_alone():
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    fit(BASES["tree"])
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


def test_every_random_state_inside_the_base_model_gets_a_seed_of_its_own():
    boosted = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=2)
    model = fit(make_pipeline(StandardScaler(), boosted))
    seeds = [
        member.get_params()[name]
        for member in model.estimators_
        for name in ("adaboostclassifier__random_state", "adaboostclassifier__estimator__random_state")
    ]
    assert len(set(seeds)) == 6


def test_the_kind_of_table_does_not_change_the_members():
    arrays = fit(BASES["tree"])
    frame = pd.DataFrame(X, columns=list("abcde"))
    frames = SelfPacedEnsembleClassifier(BASES["tree"], n_estimators=3, random_state=1).fit(frame, Y)
    for one, other in zip(arrays.estimators_, frames.estimators_, strict=True):
        np.testing.assert_array_equal(one.tree_.threshold, other.tree_.threshold)


def test_nothing_that_was_given_is_changed():
    weights, base, state = np.ones(len(Y)), BASES["tree"], np.random.RandomState(0)
    before = (X.copy(), Y.copy(), weights.copy(), base.get_params())
    model = SelfPacedEnsembleClassifier(base, random_state=state).fit(X, Y, sample_weight=weights)
    assert np.array_equal(X, before[0])
    assert np.array_equal(Y, before[1])
    assert np.array_equal(weights, before[2])
    assert base.get_params() == before[3]
    assert model.random_state is state
    assert model.estimator is base
