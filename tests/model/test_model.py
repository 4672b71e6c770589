"""A model is a value: it scores, is sent and saved without being changed, and prepares its scorers once."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression

from selfpaced import scoring
from selfpaced.datasets import make_fraud
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.ensembles.auto import AutoSelfPacedClassifier
from selfpaced.persistence import save_model
from selfpaced.persistence.files import load_model


@pytest.fixture(scope="module")
def rows():
    X, y = make_fraud(n_rows=3000, n_frauds=60, n_features=5, random_state=0)
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["shop"] = pd.Categorical(np.where(X[:, 0] > 0, "web", "till"))
    return frame, y


@pytest.fixture(scope="module")
def ensemble(rows):
    return SelfPacedEnsembleClassifier(LGBMClassifier(n_estimators=10, verbose=-1), 4, random_state=0).fit(*rows)


@pytest.fixture(scope="module")
def blend(rows):
    recipes = [
        ("boosted", SelfPacedEnsembleClassifier(LGBMClassifier(n_estimators=10, n_jobs=1, verbose=-1), 3)),
        ("forest", SelfPacedEnsembleClassifier(ExtraTreesClassifier(5), 3)),
        ("linear", SelfPacedEnsembleClassifier(LogisticRegression(max_iter=1000), 3)),
    ]
    return AutoSelfPacedClassifier(recipes, random_state=0).fit(rows[0].drop(columns="shop"), rows[1])


def scored(model, rows):
    return rows[0] if "shop" in model.feature_names_in_ else rows[0].drop(columns="shop")


@pytest.mark.parametrize("name", ["ensemble", "blend"])
def test_scorers_are_prepared_once(name, rows, request, monkeypatch):
    model = pickle.loads(pickle.dumps(request.getfixturevalue(name)))
    X = scored(model, rows)
    made, real = [], scoring.scorers_of
    monkeypatch.setattr(
        scoring, "scorers_of", lambda members, *given: made.append(len(members)) or real(members, *given)
    )
    first = model.predict_proba(X)
    n_made = len(made)
    assert n_made == len(model.model_.parts)
    np.testing.assert_array_equal(model.predict_proba(X), first)
    np.testing.assert_array_equal(list(model.staged_predict_proba(X))[-1], first)
    model.predict_proba_spread(X)
    assert len(made) == n_made


@pytest.mark.parametrize("name", ["ensemble", "blend"])
def test_threads_that_share_a_model_get_the_same_bits(name, rows, request):
    model = pickle.loads(pickle.dumps(request.getfixturevalue(name)))  # no scorers are prepared yet
    X = scored(model, rows)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: model.predict_proba(X), range(8)))
    expected = request.getfixturevalue(name).predict_proba(X)
    for answer in answers:
        np.testing.assert_array_equal(answer, expected)


@pytest.mark.parametrize("name", ["ensemble", "blend"])
def test_prepared_scorers_are_not_part_of_what_is_saved(name, rows, request, tmp_path):
    model = request.getfixturevalue(name)
    X = scored(model, rows)
    expected = model.predict_proba(X)
    assert "scorers" in vars(model.model_)
    assert "scorers" not in vars(pickle.loads(pickle.dumps(model)).model_)
    loaded = load_model(save_model(model, tmp_path / "model.skops"))
    assert "scorers" not in vars(loaded.model_)
    np.testing.assert_array_equal(loaded.predict_proba(X), expected)


def test_a_prediction_leaves_the_parameters_of_all_members_as_they_are(blend, rows):
    def parameters():
        return [member.get_params() for member in blend.estimators_]

    before, X = parameters(), rows[0].drop(columns="shop")
    blend.set_params(n_jobs=2).predict_proba(X)
    blend.set_params(n_jobs=None)
    assert parameters() == before


def test_a_blend_is_a_model_with_a_part_for_each_ensemble(blend, rows):
    model, X = blend.model_, rows[0].drop(columns="shop")
    assert [part.members for part in model.parts] == [tuple(each.estimators_) for each in blend.ensembles_.values()]
    pooled = model.pool([each.model_.means(X) for each in blend.ensembles_.values()])
    np.testing.assert_array_equal(model.means(X), pooled)
    np.testing.assert_array_equal(model.probabilities(X), blend.predict_proba(X))


def test_a_model_cannot_be_changed(ensemble):
    with pytest.raises(FrozenInstanceError):
        ensemble.model_.calibrator = None
    with pytest.raises(AttributeError):
        ensemble.estimators_ = []


def test_the_first_members_are_a_model(ensemble, rows):
    some = ensemble.model_.first(2)
    np.testing.assert_array_equal(some.means(rows[0]), list(ensemble.staged_predict_proba(rows[0]))[1])


def test_rows_that_were_read_are_not_read_again(ensemble, rows):
    read = ensemble.model_.reader(rows[0])
    assert ensemble.model_.reader(read) is read
