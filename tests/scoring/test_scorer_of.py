"""Every scorer gives the probabilities of the model's own predict_proba."""

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from xgboost import XGBClassifier

from selfpaced.scoring import scorer_of
from selfpaced.scoring.kinds import as_finite_float32, as_float32

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 5)).astype(np.float32)
Y = {
    2: (X[:, 0] + RNG.normal(size=600) > 0).astype(int),
    3: np.digitize(X[:, 0] + RNG.normal(size=600), [-0.5, 0.5]),
}
TREE = DecisionTreeClassifier(max_depth=4)


FAST = {
    "tree": TREE,
    "extra tree": ExtraTreeClassifier(max_depth=4),
    "forest": RandomForestClassifier(7),
    "extra trees": ExtraTreesClassifier(7),
    "bagged trees": BaggingClassifier(TREE, 7),
    "boosted trees": AdaBoostClassifier(TREE, n_estimators=7),
    "boosted stumps": AdaBoostClassifier(n_estimators=7),
}
OTHERS = {
    "LightGBM": LGBMClassifier(n_estimators=7, verbose=-1),
    "XGBoost": XGBClassifier(n_estimators=7),
    "HistGradientBoosting": HistGradientBoostingClassifier(max_iter=7),
    "bagged features": BaggingClassifier(TREE, 7, max_features=0.6),
    "bagged neighbours": BaggingClassifier(KNeighborsClassifier(), 3),
    "boosted Bayes": AdaBoostClassifier(GaussianNB(), n_estimators=3),
    "logistic regression": LogisticRegression(),
    "neighbours": KNeighborsClassifier(),
}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", [*FAST, *OTHERS])
def test_the_scorer_gives_the_models_own_probabilities(name, n_classes):
    model = clone((FAST | OTHERS)[name]).fit(X, Y[n_classes])
    scorer = scorer_of(model)
    np.testing.assert_allclose(scorer.score(scorer.view(X)), model.predict_proba(X), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("name", FAST)
def test_trees_and_their_ensembles_have_fast_scorers(name):
    assert scorer_of(FAST[name].fit(X, Y[2])).view in (as_float32, as_finite_float32)


def test_boosted_trees_refuse_missing_values_as_they_do_themselves():
    model = FAST["boosted trees"].fit(X, Y[2])
    with pytest.raises(ValueError, match="NaN"):
        scorer_of(model).view(np.full((3, X.shape[1]), np.nan, dtype=np.float32))


@pytest.mark.parametrize("name", ["bagged features", "bagged neighbours", "boosted Bayes"])
def test_ensembles_of_other_things_are_asked_themselves(name):
    model = OTHERS[name].fit(X, Y[2])
    assert scorer_of(model).score == model.predict_proba


@pytest.mark.parametrize("name", ["tree", "forest", "boosted trees", "LightGBM", "XGBoost", "neighbours"])
def test_the_probability_of_a_row_does_not_depend_on_its_neighbours(name):
    scorer = scorer_of(clone((FAST | OTHERS)[name]).fit(X, Y[2]))
    whole = scorer.score(scorer.view(X))
    pieces = [scorer.score(scorer.view(X[start : start + 7])) for start in range(0, len(X), 7)]
    np.testing.assert_array_equal(np.concatenate(pieces), whole)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_forest_scores_the_same_with_any_number_of_jobs(n_jobs):
    forest = RandomForestClassifier(20, random_state=0, n_jobs=n_jobs).fit(X, Y[3])
    alone = RandomForestClassifier(20, random_state=0).fit(X, Y[3])
    np.testing.assert_array_equal(scorer_of(forest).score(X), scorer_of(alone).score(X))


@pytest.mark.parametrize(
    "same_rows",
    [
        X.astype(np.float64),
        np.asfortranarray(X),
        sparse.csr_array(X),
        sparse.csr_matrix(X),
        pd.DataFrame(X),
        pd.DataFrame(X).convert_dtypes(),
    ],
    ids=["float64", "column order", "csr array", "csr matrix", "pandas", "pandas nullable"],
)
def test_a_tree_reads_any_kind_of_rows(same_rows):
    scorer = scorer_of(TREE.fit(X, Y[2]))
    np.testing.assert_array_equal(scorer.score(scorer.view(same_rows)), scorer.score(X))


def test_float32_rows_are_not_copied_for_a_tree():
    assert as_float32(X[10:20]).base is not None
    assert np.shares_memory(as_float32(X[10:20]), X)


def test_a_tree_scores_missing_values_as_it_does_itself():
    with_gaps = np.where(RNG.uniform(size=X.shape) < 0.1, np.nan, X)
    model = TREE.fit(with_gaps, Y[2])
    scorer = scorer_of(model)
    np.testing.assert_array_equal(scorer.score(scorer.view(with_gaps)), model.predict_proba(with_gaps))


def test_a_subclass_that_predicts_in_its_own_way_is_asked_in_its_own_way():
    class Contrary(DecisionTreeClassifier):
        def predict_proba(self, X):
            return super().predict_proba(X)[:, ::-1]

    model = Contrary(max_depth=3).fit(X, Y[2])
    scorer = scorer_of(model)
    np.testing.assert_array_equal(scorer.score(scorer.view(X)), model.predict_proba(X))


def test_a_subclass_that_predicts_like_its_parent_has_a_fast_scorer():
    class Named(DecisionTreeClassifier):
        pass

    assert scorer_of(Named(max_depth=3).fit(X, Y[2])).view is as_float32


def test_lightgbm_with_an_objective_of_ones_own_is_asked_itself():
    def logistic_loss(y_true, raw):
        probability = 1 / (1 + np.exp(-raw))
        return probability - y_true, probability * (1 - probability)

    model = LGBMClassifier(n_estimators=2, objective=logistic_loss, verbose=-1).fit(X, Y[2])
    assert scorer_of(model).score == model.predict_proba


@pytest.mark.parametrize(("n_jobs", "threads"), [(None, "0"), (2, "2")])
def test_xgboost_scores_with_the_threads_it_was_asked_for_not_those_it_was_trained_with(n_jobs, threads):
    import json

    model = XGBClassifier(n_estimators=2, n_jobs=1).fit(X, Y[2])
    model.n_jobs = n_jobs
    scorer_of(model)
    assert json.loads(model.get_booster().save_config())["learner"]["generic_param"]["nthread"] == threads
