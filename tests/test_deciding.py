"""The classifier that decides row by row."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

from selfpaced.datasets import make_fraud
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.thresholds.decisions import CostDecisionClassifier

COST = 5.0


@pytest.fixture(scope="module")
def rows():
    X, y = make_fraud(n_rows=6000, n_frauds=300, n_features=4, random_state=0)
    amounts = np.random.default_rng(0).lognormal(2, 1.5, y.size)
    return pd.DataFrame(X, columns=list("abcd")), y, amounts


def ensemble(**params):
    return SelfPacedEnsembleClassifier(
        DecisionTreeClassifier(max_depth=5), 3, random_state=0, **{"calibration": "sigmoid"} | params
    )


def cost_of(alerts, y, amounts):
    return COST * alerts.sum() + amounts[(y == 1) & ~alerts].sum()


@pytest.fixture(scope="module")
def model(rows):
    X, y, _ = rows
    return CostDecisionClassifier(ensemble(), alert=COST).fit(X[:3000], y[:3000])


def test_rows_whose_expected_loss_is_more_than_the_cost_of_an_alert_are_alerts(model, rows):
    X, _, amounts = rows
    expected = model.predict_proba(X)[:, 1] * amounts > COST
    np.testing.assert_array_equal(model.predict(X, amounts=amounts) == 1, expected)
    np.testing.assert_array_equal(model.gains(X, amounts=amounts) > 0, expected)


def test_it_costs_less_than_the_best_single_threshold(model, rows):
    X, y, amounts = (each[3000:] for each in rows)
    probabilities = model.predict_proba(X)[:, 1]
    by_threshold = min(cost_of(probabilities >= threshold, y, amounts) for threshold in np.unique(probabilities))
    assert cost_of(model.predict(X, amounts=amounts) == 1, y, amounts) < by_threshold


def test_costs_are_columns_functions_or_numbers(model, rows):
    X, y, amounts = rows
    expected = model.predict(X, amounts=amounts)
    known, priced = FrozenEstimator(model.estimator_), X.assign(amount=amounts, look=COST)
    by_columns = CostDecisionClassifier(known, missed="amount", alert="look").fit(X, y)
    by_functions = CostDecisionClassifier(known, missed=lambda X: amounts, alert=lambda X: COST).fit(X, y)
    np.testing.assert_array_equal(by_columns.predict(priced), expected)
    np.testing.assert_array_equal(by_functions.predict(X), expected)


@pytest.mark.parametrize("kind", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "pyarrow"])
def test_costs_are_columns_of_frames_of_any_kind(rows, kind):
    """Once a column that is a feature too, and once one that the classifier has not seen."""
    X, y, amounts = rows
    priced = X.assign(amount=amounts)
    fitted = ensemble().fit(priced, y)
    feature = CostDecisionClassifier(FrozenEstimator(fitted), missed="amount", alert=COST).fit(priced, y)
    np.testing.assert_array_equal(feature.predict(kind(priced)), feature.predict(priced))
    for given in (X, kind(X)):
        apart = CostDecisionClassifier(FrozenEstimator(ensemble().fit(given, y)), missed="amount", alert=COST)
        found = apart.fit(given, y).predict(kind(priced))
        expected = apart.predict_proba(kind(X))[:, 1] * amounts > COST
        np.testing.assert_array_equal(found == 1, expected)
        assert 0 < expected.sum() < len(y)


def test_a_fixed_cost_is_a_threshold(model, rows):
    X, y, _ = rows
    fixed = CostDecisionClassifier(FrozenEstimator(model.estimator_), missed=50.0, alert=COST).fit(X, y)
    np.testing.assert_array_equal(fixed.predict(X) == 1, model.predict_proba(X)[:, 1] > 0.1)


def test_scikit_learn_routes_amounts_to_predict_and_weights_to_fit(rows):
    X, y, amounts = rows
    with sklearn.config_context(enable_metadata_routing=True):
        inner = LogisticRegression().set_fit_request(sample_weight=True)
        decides = CostDecisionClassifier(inner, alert=COST).set_predict_request(amounts=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, decides).fit(X, y, sample_weight=np.where(y, 2.0, 1.0))
        alerts = pipeline.predict(X, amounts=amounts) == 1
        scored = cross_validate(CostDecisionClassifier(LogisticRegression(), missed=9.0), X, y, cv=2)
    np.testing.assert_array_equal(alerts, pipeline.predict_proba(X)[:, 1] * amounts > COST)
    assert scored["test_score"].size == 2


def test_a_grid_searches_its_parameters(rows):
    X, y, _ = rows
    grid = GridSearchCV(CostDecisionClassifier(LogisticRegression()), {"missed": [2.0, 9.0]}, cv=2, scoring="recall")
    assert grid.fit(X, y).best_params_ == {"missed": 9.0}


def test_it_keeps_the_conventions_of_scikit_learn():
    by_costs = {"check_classifiers_train": "with several classes, costs do not choose the most probable one"}
    check_estimator(
        CostDecisionClassifier(LogisticRegression(), missed=2.0, alert=1.0), expected_failed_checks=by_costs
    )


def test_an_ensemble_without_calibration_is_warned_about(rows):
    X, y, _ = rows
    with pytest.warns(UserWarning, match="is not calibrated, so its scores are far higher than probabilities") as told:
        CostDecisionClassifier(ensemble(calibration=None), missed=1.0).fit(X, y)
    assert told[0].filename == __file__


class Known(ClassifierMixin, BaseEstimator):
    """Its probabilities of all classes but the first are columns of X. It keeps the weights of its fit."""

    def fit(self, X, y, sample_weight=None):
        self.classes_, self.sample_weight_ = np.unique(y), sample_weight
        return self

    def predict_proba(self, X):
        given = np.asarray(X)[:, : self.classes_.size - 1].astype(np.float64)
        return np.column_stack([1 - given.sum(axis=1), given])


def test_an_alert_that_gains_nothing_is_not_raised_and_amounts_may_be_0():
    decides = CostDecisionClassifier(Known(), alert=1.0).fit([[0.0]] * 3, [0, 0, 1])
    assert decides.predict([[0.5]] * 3, amounts=[2.0, 2.5, 0.0]).tolist() == [0, 1, 0]
    assert decides.gains([[0.5]] * 3, amounts=[2.0, 2.5, 0.0]).tolist() == [0.0, 0.25, -1.0]


@pytest.mark.parametrize("wrong", [-1.0, np.inf, np.nan])
def test_amounts_that_are_no_costs_are_refused(wrong):
    decides = CostDecisionClassifier(Known()).fit([[0.0]] * 3, [0, 0, 1])
    with pytest.raises(ValueError, match="amounts must be numbers >= 0; 1 of 3 are missing, negative or infinite"):
        decides.predict([[0.5]] * 3, amounts=[1.0, wrong, 3.0])


def test_the_rare_label_is_the_one_with_the_fewest_rows_and_of_several_the_last():
    rows = [[0.0, 0.0]] * 5
    for labels, rare in (("abbcc", "a"), ("aabcc", "b"), ("aaabc", "c")):
        assert CostDecisionClassifier(Known(), missed=1.0).fit(rows, list(labels)).pos_label_ == rare


def test_a_named_label_is_the_rare_one():
    decides = CostDecisionClassifier(Known(), missed=3.0, pos_label="a").fit([[0.0]] * 3, list("abb"))
    assert decides.predict([[0.5], [0.7], [0.6]]).tolist() == ["a", "b", "a"]
    common = CostDecisionClassifier(Known(), missed=3.0, pos_label="b").fit([[0.0]] * 3, list("abb"))
    assert common.predict([[0.5], [0.2], [0.4]]).tolist() == ["b", "a", "b"]
    with pytest.raises(ValueError, match=r"pos_label='c' is not one of the labels \['a', 'b'\]"):
        CostDecisionClassifier(Known(), missed=3.0, pos_label="c").fit([[0.0]] * 3, list("abb"))


def test_a_classifier_without_probabilities_is_refused():
    with pytest.raises(ValueError, match="has no predict_proba"):
        CostDecisionClassifier(RidgeClassifier(), missed=1.0).fit([[0.0]] * 3, [0, 0, 1])


def test_a_classifier_without_names_gets_all_columns_of_a_frame():
    rows = pd.DataFrame({"p": [0.5, 0.5], "amount": [1.0, 3.0]})
    decides = CostDecisionClassifier(Known(), missed="amount").fit(rows, [0, 1])
    assert decides.predict(rows).tolist() == [0, 1]


def test_a_classifier_with_names_takes_an_array_too(rows):
    X, y, amounts = rows
    decides = CostDecisionClassifier(LogisticRegression(), alert=COST).fit(X, y)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        assert decides.predict(X.to_numpy(), amounts=amounts).tolist() == decides.predict(X, amounts=amounts).tolist()


def test_a_column_of_costs_must_be_one_column_of_numbers():
    rows = pd.DataFrame([[0.5, 1.0, 2.0]], columns=["p", "amount", "amount"])
    decides = CostDecisionClassifier(Known(), missed="amount").fit([[0.0]] * 3, [0, 0, 1])
    with pytest.raises(ValueError, match="X has several columns with the name 'amount'"):
        decides.predict(rows)
    with pytest.raises(ValueError, match="missed, the cost of a row, must be numbers"):
        decides.predict(pd.DataFrame({"p": [0.5], "amount": pd.to_datetime(["2024-01-31"])}))


def test_arguments_of_fit_reach_the_classifier_and_with_routing_only_those_it_asks_for():
    X, y, weights = [[0.0]] * 3, [0, 0, 1], [1.0, 2.0, 3.0]
    decides = CostDecisionClassifier(Known(), missed=1.0).fit(X, y, sample_weight=weights)
    assert decides.estimator_.sample_weight_ == weights
    with sklearn.config_context(enable_metadata_routing=True):
        apart = CostDecisionClassifier(Known().set_fit_request(sample_weight=False), missed=1.0)
        with pytest.raises(TypeError, match="sample_weight"):
            apart.fit(X, y, sample_weight=weights)


@pytest.mark.parametrize(
    ("params", "amounts", "complaint"),
    [
        ({}, None, "The cost of missing a row is not known"),
        ({"missed": 1.0}, np.ones(6000), "was given twice"),
        ({}, np.ones(3), "a number for each of 6000 rows"),
        ({}, np.full(6000, np.nan), "6000 of 6000 are missing, negative or infinite"),
        ({"missed": "price"}, None, "is not a column of X"),
        ({}, ["a"] * 6000, "must be numbers"),
    ],
)
def test_costs_that_are_not_clear_are_refused(model, rows, params, amounts, complaint):
    X, y, _ = rows
    decides = CostDecisionClassifier(FrozenEstimator(model.estimator_), alert=COST, **params).fit(X, y)
    with pytest.raises(ValueError, match=complaint):
        decides.predict(X, amounts=amounts)
