"""One exam for every ensemble."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

from tests.ensembles_by_name import ENSEMBLES, given_bases

NAMES = [f"V{i}" for i in range(6)]
FRAMES = {
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "pyarrow": lambda X: pa.table(dict(zip(NAMES, X.T, strict=True))),
}


@pytest.fixture(scope="module", params=sorted(ENSEMBLES))
def make_ensemble(request):
    """An ensemble of three small trees that draw their features at random."""
    return lambda: ENSEMBLES[request.param](DecisionTreeClassifier(max_depth=4, max_features=3), 3, random_state=0)


@pytest.fixture
def ensemble(make_ensemble):
    return make_ensemble()


@pytest.fixture(scope="module")
def fitted(make_ensemble, frauds):
    """The same ensemble, trained once for all tests that only ask it."""
    return make_ensemble().fit(*frauds)


# The exam provokes warnings of base models on hopeless data.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "base"),
    # `tests/ensembles/test_estimator_checks.py` checks the others with other base models.
    [(name, None) for name in ENSEMBLES]
    + [
        (name, GaussianNB())
        for name in ("BalanceCascadeClassifier", "EasyEnsembleClassifier", "UnderBaggingClassifier")
    ],
    ids=str,
)
def test_every_check_of_scikit_learn_passes(name, base):
    results = check_estimator(ENSEMBLES[name](base, 2), on_fail=None)
    not_passed = {result["check_name"]: result["exception"] for result in results if result["status"] != "passed"}
    assert not_passed == {}
    assert len(results) > 50


def test_two_fits_a_refit_and_a_clone_give_the_same_members(ensemble, fitted, frauds):
    X, y = frauds
    expected = fitted.predict_proba(X)
    model = ensemble.fit(X, y)
    for again in (model, model.fit(X, y), clone(model).fit(X, y), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict_proba(X), expected)


def test_negative_weights_are_refused_with_their_number(ensemble, frauds):
    X, y = frauds
    with pytest.raises(ValueError, match="sample_weight has 7 negative weight"):
        ensemble.fit(X, y, sample_weight=np.where(np.arange(y.size) < 7, -1.0, 1.0))


def test_a_class_without_weight_is_refused_by_its_name(ensemble, frauds):
    X, y = frauds
    with pytest.raises(ValueError, match="All rows of the class 1 have a sample_weight of 0"):
        ensemble.fit(X, y, sample_weight=1.0 - y)


def test_another_seed_gives_another_model(ensemble, fitted, frauds):
    X, y = frauds
    other = ensemble.set_params(random_state=1).fit(X, y)
    assert not np.array_equal(fitted.predict_proba(X), other.predict_proba(X))


def test_threads_do_not_change_the_model(ensemble, fitted, frauds):
    X, y = frauds
    other = ensemble.set_params(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(fitted.predict_proba(X), other.predict_proba(X))


@pytest.mark.parametrize("frame", FRAMES)
def test_a_frame_gives_the_model_of_its_numbers_and_remembers_its_names(ensemble, frauds, frame):
    X, y = frauds
    X = X.astype(np.float32).astype(np.float64)
    expected = clone(ensemble).fit(X, y).predict_proba(X)
    rows = FRAMES[frame](X)
    model = ensemble.fit(rows, y)
    np.testing.assert_array_equal(model.predict_proba(rows), expected)
    assert model.feature_names_in_.tolist() == NAMES
    with pytest.raises(ValueError, match="feature names"):
        model.predict(FRAMES["pandas"](X).rename(columns={"V0": "W0"}))


@pytest.mark.parametrize(
    "labels", [("common", "rare"), (False, True), (-1, 1), (1.0, 2.0)], ids=["words", "bools", "-1 and 1", "floats"]
)
def test_labels_of_any_kind_name_the_same_rows(ensemble, fitted, frauds, labels):
    X, y = frauds
    model = ensemble.fit(X, np.array(labels)[y])
    rare = model.classes_.tolist().index(labels[1])
    np.testing.assert_array_equal(model.predict_proba(X)[:, rare], fitted.predict_proba(X)[:, 1])
    assert model.predict(X).tolist() == np.array(labels)[fitted.predict(X)].tolist()


def test_more_than_two_classes_are_told_apart(ensemble):
    X, y = make_classification(
        n_samples=1500,
        n_classes=3,
        n_informative=5,
        n_redundant=0,
        n_features=6,
        weights=[0.8, 0.15],
        class_sep=2.0,
        random_state=0,
    )
    if hasattr(ensemble, "n_estimators"):
        ensemble.set_params(n_estimators=10)  # SMOTEBoost balances its rows a little more in each round
    model = ensemble.fit(X, y)
    probabilities = model.predict_proba(X)
    assert probabilities.shape == (1500, 3)
    assert min(np.mean(model.predict(X)[y == label] == label) for label in range(3)) > 0.5
    assert min(roc_auc_score(y == label, probabilities[:, label]) for label in range(3)) > 0.9


def test_probabilities_add_up_to_one_and_the_last_stage_is_the_ensemble(fitted, frauds):
    X, _ = frauds
    probabilities = fitted.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    stages = list(fitted.staged_predict_proba(X))
    # The classifier that chooses has a stage for each of its ensembles.
    assert len(stages) == len(getattr(fitted, "ensembles_", fitted.estimators_))
    np.testing.assert_allclose(stages[-1], probabilities)


def test_sample_weights_reach_the_members(ensemble, fitted, frauds):
    X, y = frauds
    weights = np.where(X[:, 0] > 0, 10.0, 0.1)
    weighted = ensemble.fit(X, y, sample_weight=weights).predict_proba(X)
    assert not np.array_equal(weighted, fitted.predict_proba(X))


def test_nothing_given_is_changed(ensemble, frauds):
    X, y = frauds[0].copy(), frauds[1].copy()
    generator = np.random.RandomState(3)
    ensemble.set_params(random_state=generator).fit(X, y)
    np.testing.assert_array_equal(X, frauds[0])
    np.testing.assert_array_equal(y, frauds[1])
    assert ensemble.random_state is generator
    assert all(not hasattr(base, "tree_") for base in given_bases(ensemble))


def test_importances_of_the_features_add_up_to_one(fitted):
    assert fitted.feature_importances_.sum() == pytest.approx(1)


def test_one_rare_row_is_refused_by_name(ensemble):
    with pytest.raises(ValueError, match=r"class 'rare' has 1 row"):
        ensemble.fit(np.arange(20.0).reshape(10, 2), ["common"] * 9 + ["rare"])
