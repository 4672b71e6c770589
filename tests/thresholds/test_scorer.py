"""Rules in scikit-learn's own tuning of thresholds."""

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.tree import DecisionTreeClassifier

from selfpaced.datasets import make_fraud
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.metrics import alerts_of_labels
from selfpaced.thresholds import choose_threshold, parse_rule
from selfpaced.thresholds.choosing import rule_score, threshold_scorer

LABELS = {"numbers": np.array([0, 1]), "words": np.array(["ok", "fraud"]), "rare first": np.array(["z", "a"])}


@pytest.fixture(params=sorted(LABELS))
def rows(request):
    X, y = make_fraud(n_rows=3000, n_frauds=90, random_state=0)
    labels = LABELS[request.param]
    return X, labels[y], labels[1]


def ensemble():
    return SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=4), n_estimators=4, random_state=0)


def test_tuning_finds_the_threshold_that_the_rule_finds(rows):
    """Without folds, tuning looks at the very scores that the rule is given."""
    X, y, rare = rows
    fitted = ensemble().fit(X[::2], y[::2])
    own = fitted.predict_proba(X[1::2])[:, fitted.classes_.tolist().index(rare)]
    choice = choose_threshold(y[1::2], own, "recall>=0.7", pos_label=rare)
    tuned = TunedThresholdClassifierCV(
        FrozenEstimator(fitted),
        scoring=threshold_scorer("recall>=0.7", pos_label=rare),
        thresholds=np.unique(own),
        cv="prefit",
        refit=False,
    ).fit(X[1::2], y[1::2])
    by_rule = alerts_of_labels(y[1::2] == rare, own >= choice.threshold)
    by_tuning = alerts_of_labels(y[1::2], tuned.predict(X[1::2]), pos_label=rare)
    assert by_tuning.recall >= 0.7
    assert by_tuning.precision == pytest.approx(by_rule.precision)


@pytest.mark.parametrize("rule", ["f1", "precision>=0.4", "recall>=0.5", "alerts<=3/10", "cost=1:1"])
def test_of_equally_good_thresholds_tuning_takes_the_rules_one(rule):
    y = np.array([1, 1, 0, 0, 1, 0, 0, 0, 0, 0] + [0] * 10)
    X = -np.arange(y.size, dtype=float)[:, None] / 10
    fitted = LogisticRegression().fit(X, y)
    own = fitted.predict_proba(X)[:, 1]
    choice = choose_threshold(y, own, rule)
    tuned = TunedThresholdClassifierCV(
        FrozenEstimator(fitted), scoring=threshold_scorer(rule), thresholds=np.unique(own), cv="prefit", refit=False
    ).fit(X, y)
    assert int(np.sum(own >= tuned.best_threshold_)) == choice.alerts.n_alerts


def test_a_trace_never_outweighs_the_rule():
    y = np.repeat([0, 1], [99_000, 1000])
    few, many = np.arange(y.size) >= y.size - 500, np.arange(y.size) >= y.size - 501
    for rule in map(parse_rule, ("f1", "precision>=0.9", "cost=1:2")):
        assert rule_score(y, many.astype(int), rule=rule) > rule_score(y, few.astype(int), rule=rule)


def test_tuning_in_folds_works(rows):
    X, y, rare = rows
    scorer = threshold_scorer("cost", costs=(1, 20), pos_label=rare)
    tuned = TunedThresholdClassifierCV(ensemble(), scoring=scorer, cv=3).fit(X, y)
    assert 0 < tuned.best_threshold_ < 1
    assert tuned.best_score_ < 0
    assert set(tuned.predict(X)) == set(y)


def test_a_chosen_threshold_can_be_fixed(rows):
    X, y, rare = rows
    model = ensemble().fit(X[::2], y[::2])
    scores = model.predict_proba(X[1::2])[:, model.classes_.tolist().index(rare)]
    choice = choose_threshold(y[1::2], scores, "precision>=0.4", pos_label=rare)
    fixed = FixedThresholdClassifier(FrozenEstimator(model), threshold=choice.threshold, pos_label=rare)
    alerts = alerts_of_labels(y[1::2], fixed.fit(X[1::2], y[1::2]).predict(X[1::2]), pos_label=rare)
    assert alerts == choice.alerts


def test_a_score_is_the_rules_value_of_the_alerts():
    y, flagged = [0, 0, 1, 1, 1], [0, 1, 1, 1, 0]
    for rule in map(parse_rule, ("f1", "precision>=0.6", "precision>=0.9", "alerts<=3/5", "cost=5:100")):
        assert rule_score(y, flagged, rule=rule) == pytest.approx(float(rule.value(alerts_of_labels(y, flagged))))


def test_a_budget_in_all_rows_is_refused():
    with pytest.raises(ValueError, match=r"a scorer sees only some. Give the number of rows: alerts<=50/10000"):
        threshold_scorer("alerts<=50")


def test_amounts_are_refused():
    with pytest.raises(ValueError, match="needs amounts"):
        threshold_scorer("cost=5")
