"""Measures by three ways to choose a threshold, and G-means of labels, against scikit-learn and imbalanced-learn."""

import numpy as np
import pytest
from imblearn.metrics import geometric_mean_score
from sklearn.metrics import f1_score, precision_score, recall_score

from paper.measures import (
    THRESHOLD_RULES,
    Scored,
    measure_by_rule,
    precision_recall_gmean_score,
    sensitivity_specificity_gmean_score,
)


def paper_gmean(y, flagged):
    return np.sqrt(precision_score(y, flagged, zero_division=0) * recall_score(y, flagged))


RANKED = [0.1, 0.9, 0.2, 0.8]
MEASURED = {
    "measure_by_rule": lambda y, **label: measure_by_rule("f1", "0.5", Scored(y, RANKED), Scored(y, RANKED), **label),
    "precision_recall_gmean_score": lambda y, **label: precision_recall_gmean_score(y, y, **label),
    "sensitivity_specificity_gmean_score": lambda y, **label: sensitivity_specificity_gmean_score(y, y, **label),
}


@pytest.mark.parametrize("measured", MEASURED.values(), ids=MEASURED)
class TestRareLabel:
    @pytest.mark.parametrize("labels", [[0, 1], [-1, 1], [0.0, 1.0], [False, True]], ids=str)
    def test_is_one_where_only_one_can_be_meant(self, measured, labels):
        common, rare = labels
        y = [common, rare, common, common]
        assert measured(y) == measured(y, pos_label=rare)

    @pytest.mark.parametrize("labels", [[1, 2], [0, 1, 2], [-1, 0, 1], ["no", "yes"], [1.0, 1.5]], ids=str)
    def test_must_be_named_among_other_labels(self, measured, labels):
        y = (labels * 2)[:4]
        with pytest.raises(ValueError, match=r"The labels found are \[.*\]\. Name the rare class with pos_label"):
            measured(y)
        assert measured(y, pos_label=labels[1]) is not None


def test_scores_of_labels_serve_as_scorers():
    y, flagged = [0, 0, 0, 1, 1], [0, 1, 0, 1, 0]
    assert precision_recall_gmean_score(y, flagged) == pytest.approx(paper_gmean(y, flagged))
    assert sensitivity_specificity_gmean_score(y, flagged) == pytest.approx(geometric_mean_score(y, flagged))


def test_the_three_rules_choose_where_they_say():
    validation = Scored([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.9])  # best F1 at 0.3
    test = Scored([0, 1, 0, 1], [0.35, 0.4, 0.6, 0.9])  # best F1 at 0.4
    found = {rule: measure_by_rule("f1", rule, validation, test) for rule in THRESHOLD_RULES}
    assert found == {
        "0.5": pytest.approx(f1_score([0, 1, 0, 1], [0, 0, 1, 1])),
        "validation": pytest.approx(f1_score([0, 1, 0, 1], [1, 1, 1, 1])),
        "best on test": pytest.approx(f1_score([0, 1, 0, 1], [0, 1, 1, 1])),
    }


def test_rules_work_with_labels_of_any_kind():
    words = Scored(["ok", "fraud", "fraud"], [0.2, 0.4, 0.9])
    numbers = Scored([0, 1, 1], [0.2, 0.4, 0.9])
    for rule in THRESHOLD_RULES:
        expected = measure_by_rule("f1", rule, numbers, numbers)
        assert measure_by_rule("f1", rule, words, words, pos_label="fraud") == expected


def test_unknown_measures_and_rules_are_named():
    scored = Scored([0, 1], [0.1, 0.2])
    with pytest.raises(ValueError, match=r"measure must be one of .*got 'f2'"):
        measure_by_rule("f2", "0.5", scored, scored)
    with pytest.raises(ValueError, match=r"rule must be one of .*got 'best'"):
        measure_by_rule("f1", "best", scored, scored)
