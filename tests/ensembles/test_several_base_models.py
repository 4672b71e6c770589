"""Members from several base models in turn, and base models with habits of their own."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from selfpaced.baselines import RUSBoostClassifier
from selfpaced.datasets import make_fraud
from selfpaced.ensembles import SelfPacedEnsembleClassifier, UnderBaggingClassifier
from selfpaced.persistence import read_card, save_model
from selfpaced.persistence.files import load_model

TREE, FOREST, LINEAR = DecisionTreeClassifier(max_depth=4), ExtraTreesClassifier(5), LogisticRegression(max_iter=500)


@pytest.fixture(scope="module")
def rows():
    return make_fraud(n_rows=2000, n_frauds=40, random_state=0)


def test_base_models_take_turns_from_the_warm_up_on(rows):
    model = SelfPacedEnsembleClassifier([TREE, FOREST, LINEAR], 5, random_state=0).fit(*rows)
    kinds = [type(member) for member in model.estimators_]
    assert kinds == [
        ExtraTreesClassifier,
        LogisticRegression,
        DecisionTreeClassifier,
        ExtraTreesClassifier,
        LogisticRegression,
    ]


def test_the_probabilities_are_the_mean_of_all_members(rows):
    model = SelfPacedEnsembleClassifier([TREE, LINEAR], 4, random_state=0).fit(*rows)
    mean = np.mean([member.predict_proba(rows[0]) for member in model.estimators_], axis=0)
    np.testing.assert_allclose(model.predict_proba(rows[0]), mean)


def test_a_list_of_one_is_the_model_itself(rows):
    models = [UnderBaggingClassifier(base, 3, random_state=0).fit(*rows) for base in ([TREE], TREE)]
    np.testing.assert_array_equal(*(model.predict_proba(rows[0]) for model in models))


def test_a_clone_has_clones_of_all_base_models(rows):
    model = SelfPacedEnsembleClassifier([TREE, LINEAR], 2, random_state=0)
    copies = clone(model).estimator
    assert [type(copy) for copy in copies] == [DecisionTreeClassifier, LogisticRegression]
    assert copies[0] is not TREE


def test_a_saved_ensemble_of_several_kinds_predicts_the_same(rows, tmp_path):
    model = SelfPacedEnsembleClassifier([TREE, FOREST, LINEAR], 3, random_state=0).fit(*rows)
    path = save_model(model, tmp_path / "model.skops")
    np.testing.assert_array_equal(load_model(path).predict_proba(rows[0]), model.predict_proba(rows[0]))
    assert read_card(path).base_model == f"{TREE!r}, {FOREST!r}, {LINEAR!r}"


def test_weights_must_suit_all_base_models(rows):
    model = SelfPacedEnsembleClassifier([TREE, KNeighborsClassifier()], 2)
    with pytest.raises(ValueError, match="KNeighborsClassifier does not accept sample_weight"):
        model.fit(*rows, sample_weight=np.ones(2000))


def test_an_empty_list_is_refused(rows):
    with pytest.raises(ValueError, match="estimator is an empty list"):
        SelfPacedEnsembleClassifier([]).fit(*rows)


def test_something_in_the_list_that_is_not_a_classifier_is_refused(rows):
    with pytest.raises(ValueError, match="estimator must be an instance of a classifier"):
        SelfPacedEnsembleClassifier([TREE, "tree"]).fit(*rows)


def test_boosting_takes_one_base_model(rows):
    with pytest.raises(ValueError, match="estimator must be an instance of a classifier"):
        RUSBoostClassifier([TREE, TREE]).fit(*rows)


def test_missing_values_need_base_models_that_all_take_them():
    both = SelfPacedEnsembleClassifier([TREE, LINEAR]).__sklearn_tags__().input_tags
    assert SelfPacedEnsembleClassifier([TREE, FOREST]).__sklearn_tags__().input_tags.allow_nan
    assert not both.allow_nan


class TestCatBoost:
    """CatBoost lists only the parameters that were given, and refuses changes once it is fitted."""

    @staticmethod
    def base(**params):
        catboost = pytest.importorskip("catboost")
        return catboost.CatBoostClassifier(iterations=5, verbose=0, allow_writing_files=False, **params)

    def test_members_have_seeds_of_their_own_and_one_seed_gives_one_model(self, rows):
        models = [SelfPacedEnsembleClassifier(self.base(), 3, random_state=0).fit(*rows) for _ in range(2)]
        seeds = [member.get_params()["random_seed"] for member in models[0].estimators_]
        assert len(set(seeds)) == 3
        np.testing.assert_array_equal(*(model.predict_proba(rows[0]) for model in models))

    def test_a_seed_that_was_given_by_its_other_name_is_replaced(self, rows):
        model = SelfPacedEnsembleClassifier(self.base(random_state=1), 2, random_state=0).fit(*rows)
        assert len({member.get_params()["random_state"] for member in model.estimators_}) == 2

    def test_small_training_sets_are_fitted_in_one_thread_unless_told_otherwise(self, rows):
        for params, expected in (({}, 1), ({"thread_count": 2}, 2)):
            model = SelfPacedEnsembleClassifier(self.base(**params), 2, random_state=0).fit(*rows)
            assert model.estimators_[0].get_params()["thread_count"] == expected

    def test_a_saved_ensemble_predicts_the_same(self, rows, tmp_path):
        model = SelfPacedEnsembleClassifier(self.base(), 2, random_state=0).fit(*rows)
        path = save_model(model, tmp_path / "model.skops")
        np.testing.assert_array_equal(load_model(path).predict_proba(rows[0]), model.predict_proba(rows[0]))
