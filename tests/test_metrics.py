"""Measures of alerts: against scikit-learn's and imbalanced-learn's where they have them."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from imblearn.metrics import geometric_mean_score
from sklearn.metrics import average_precision_score, f1_score, matthews_corrcoef, precision_score, recall_score

from selfpaced import metrics
from selfpaced.metrics import (
    MEASURES,
    Alerts,
    Ranking,
    alerts_at_all_thresholds,
    alerts_at_k,
    alerts_at_threshold,
    aucprc,
    best_threshold,
)
from selfpaced.thresholds import choose_threshold, parse_rule
from selfpaced.thresholds.choosing import rule_score

rows = st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=4, max_size=40).filter(
    lambda rows: {label for label, _ in rows} == {True, False}
)


def unzipped(rows):
    labels, scores = zip(*rows, strict=True)
    return np.array(labels, dtype=int), np.array(scores) / 6


def paper_gmean(y, flagged):
    return np.sqrt(precision_score(y, flagged, zero_division=0) * recall_score(y, flagged))


PEERS = {
    "f1": f1_score,
    "precision_recall_gmean": paper_gmean,
    "sensitivity_specificity_gmean": geometric_mean_score,
    "mcc": matthews_corrcoef,
}


@given(rows=rows, threshold=st.floats(0, 1))
@settings(deadline=None, max_examples=50)
@pytest.mark.parametrize("measure", MEASURES)
def test_a_measure_at_a_threshold_is_the_peers_of_the_flagged_rows(measure, rows, threshold):
    y, scores = unzipped(rows)
    ours = MEASURES[measure](alerts_at_threshold(y, scores, threshold))
    assert ours == pytest.approx(PEERS[measure](y, (scores >= threshold).astype(int)), abs=1e-9)


@given(rows=rows)
@settings(deadline=None, max_examples=50)
@pytest.mark.parametrize("measure", MEASURES)
def test_no_threshold_is_better_than_the_best(measure, rows):
    y, scores = unzipped(rows)
    best = MEASURES[measure](alerts_at_threshold(y, scores, best_threshold(y, scores, measure)))
    for threshold in scores:
        assert MEASURES[measure](alerts_at_threshold(y, scores, threshold)) <= best + 1e-12


@given(rows=rows)
@settings(deadline=None, max_examples=50)
def test_all_thresholds_together_are_each_threshold_alone(rows):
    y, scores = unzipped(rows)
    thresholds, together = alerts_at_all_thresholds(y, scores)
    assert thresholds.tolist() == sorted(set(scores.tolist()), reverse=True)
    for number, threshold in enumerate(thresholds):
        alone = alerts_at_threshold(y, scores, threshold)
        assert (together.true_positives[number], together.false_positives[number]) == (
            alone.true_positives,
            alone.false_positives,
        )


@given(rows=rows)
@settings(deadline=None, max_examples=50)
def test_the_area_is_scikit_learns_average_precision(rows):
    y, scores = unzipped(rows)
    with patch.object(metrics, "ROWS_AT_ONCE", 5):
        assert aucprc(y, scores) == pytest.approx(average_precision_score(y, scores))


@given(rows=rows, seed=st.integers(0, 100))
@settings(deadline=None, max_examples=50)
def test_the_area_of_weighted_rows_is_scikit_learns_and_that_of_rows_that_are_repeated(rows, seed):
    y, scores = unzipped(rows)
    times = np.random.default_rng(seed).integers(0, 4, y.size)
    times[np.flatnonzero(y)[0]] = 1
    expected = average_precision_score(y, scores, sample_weight=times)
    assert aucprc(y, scores, sample_weight=times) == pytest.approx(expected)
    assert Ranking(scores, y == 1).aucprc(times) == pytest.approx(expected)
    assert aucprc(np.repeat(y, times), np.repeat(scores, times)) == pytest.approx(expected)


def test_of_equally_good_thresholds_the_one_with_fewer_alerts_is_best():
    # Recall of both classes is 1 x 1/2 and 1/2 x 1: at 0.9 there is one alert, at 0.2 there are three.
    assert best_threshold([1, 0, 1, 0], [0.9, 0.5, 0.2, 0.1], "sensitivity_specificity_gmean") == 0.9


def test_the_best_of_k_alerts_are_the_highest_scores():
    alerts = alerts_at_k([1, 0, 1, 0, 1], [0.9, 0.8, 0.7, 0.2, 0.1], 3)
    assert (alerts.true_positives, alerts.n_alerts) == (2, 3)
    assert (alerts.precision, alerts.recall) == (pytest.approx(2 / 3), pytest.approx(2 / 3))


def test_rows_that_tie_for_the_last_place_share_it_in_any_order():
    y, scores = np.array([0, 1, 0, 0]), np.array([0.9, 0.5, 0.5, 0.5])
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [0, 3, 2, 1]):
        assert alerts_at_k(y[order], scores[order], 2).true_positives == pytest.approx(1 / 3)


@pytest.mark.parametrize("k", [0, -1, 5, 2.0, 2.5])
def test_more_alerts_than_rows_or_none_are_refused(k):
    with pytest.raises(ValueError, match=r"from 1 to the number of rows, 4"):
        alerts_at_k([0, 1, 0, 0], [0.1, 0.2, 0.3, 0.4], k)


def test_measures_of_no_alerts_are_zero():
    nothing = Alerts(0, 0, 5, 95)
    assert (nothing.precision, nothing.recall, nothing.f1, nothing.mcc) == (0, 0, 0, 0)


def test_counts_of_billions_do_not_overflow():
    assert Alerts(10**9, 10**9, 10**9, 10**9).mcc == pytest.approx(0)
    assert Alerts(np.int64(2 * 10**9), np.int64(0), np.int64(0), np.int64(2 * 10**9)).mcc == pytest.approx(1)


def test_labels_of_any_kind_are_measured_by_naming_the_rare_one():
    y, scores = np.array(["ok", "fraud", "ok"]), [0.1, 0.9, 0.95]
    assert aucprc(y, scores, pos_label="fraud") == pytest.approx(0.5)
    assert alerts_at_threshold(y, scores, 0.5, pos_label="fraud").precision == pytest.approx(0.5)


RANKED = [0.1, 0.9, 0.2, 0.8]
MEASURED = {
    "aucprc": lambda y, **label: aucprc(y, RANKED, **label),
    "alerts_at_threshold": lambda y, **label: alerts_at_threshold(y, RANKED, 0.5, **label),
    "alerts_at_k": lambda y, **label: alerts_at_k(y, RANKED, 2, **label),
    "best_threshold": lambda y, **label: best_threshold(y, RANKED, **label),
    "choose_threshold": lambda y, **label: choose_threshold(y, RANKED, **label),
    "threshold_scorer": lambda y, **label: rule_score(y, y, rule=parse_rule("f1"), **label),
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


@pytest.mark.parametrize(
    ("y", "scores", "message"),
    [
        ([0, 0], [0.1, 0.2], "No row of y_true has the label 1"),
        (["ok", "fraud"], [0.1, 0.2], "labels found are .*fraud"),
        ([0, 1], [0.1, np.nan], "NaN"),
        ([1.0, np.nan], [0.1, 0.2], "y_true contains NaN"),
        ([0, 1], [0.1, 0.2, 0.3], "same length; got 2 labels and 3 scores"),
    ],
)
def test_what_cannot_be_measured_is_refused_with_a_reason(y, scores, message):
    for measure in (aucprc, best_threshold, alerts_at_all_thresholds):
        with pytest.raises(ValueError, match=message):
            measure(y, scores)


def test_an_unknown_measure_is_named():
    with pytest.raises(ValueError, match=r"measure must be one of .*'f1'.*got 'f2'"):
        best_threshold([0, 1], [0.1, 0.2], "f2")


def test_rows_of_one_class_have_no_thresholds():
    with pytest.raises(ValueError, match="All rows of y_true are of the rare class"):
        best_threshold([1, 1], [0.1, 0.2])
