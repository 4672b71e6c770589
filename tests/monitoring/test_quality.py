"""What probabilities promise without labels, and what labels say that have arrived."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from selfpaced.metrics import aucprc
from selfpaced.monitoring import make_reference
from selfpaced.monitoring.drift import Counter, Drift
from selfpaced.monitoring.quality import (
    Alarm,
    LabelledQuality,
    alarm_texts,
    count_interval,
    estimate_quality,
    measure_period,
    measure_quality,
    parse_limit,
)
from selfpaced.thresholds import Interval, share_interval


@pytest.fixture(scope="module")
def drawn():
    """Many rows whose labels are drawn by their probabilities: these are true."""
    rng = np.random.default_rng(0)
    p = rng.beta(0.05, 2, size=200_000)
    return p, rng.random(p.size) < p


def test_estimates_are_right_if_probabilities_are_true(drawn):
    p, y = drawn
    found = estimate_quality(p, threshold=0.3)
    alerts = p >= 0.3
    assert found.expected == pytest.approx(y.sum(), rel=0.03)
    assert found.precision == pytest.approx(y[alerts].mean(), abs=0.01)
    assert found.recall == pytest.approx(y[alerts].sum() / y.sum(), abs=0.01)
    assert found.aucprc == pytest.approx(aucprc(y, p), abs=0.01)
    assert found.n_alerts == alerts.sum()


def test_the_interval_holds_the_number_of_rare_rows_as_often_as_it_says():
    rng = np.random.default_rng(1)
    p = rng.beta(0.1, 3, size=500)
    interval = estimate_quality(p).expected_interval
    counts = (rng.random((2000, p.size)) < p).sum(axis=1)
    assert 0.88 <= np.mean((counts >= interval.low) & (counts <= interval.high)) <= 0.97


def test_labels_that_have_arrived_are_compared_with_what_was_expected_of_them(drawn):
    p, y = drawn
    as_expected = measure_quality(y, p, 0.3)
    assert not as_expected.is_surprising
    assert as_expected.precision_interval.low < as_expected.precision < as_expected.precision_interval.high
    assert measure_quality(y | (np.arange(y.size) % 50 == 0), p, 0.3).is_surprising
    assert measure_quality(np.zeros(y.size, dtype=bool), p, 0.3).is_surprising


def test_without_a_threshold_or_rare_rows_there_is_less_to_say():
    p = np.full(10, 0.01)
    assert estimate_quality(p).precision is None
    found = measure_quality(np.zeros(10, dtype=bool), p)
    assert (found.aucprc, found.precision, found.recall) == (None, None, None)
    assert estimate_quality(np.zeros(3), 0.5).recall is None


@pytest.mark.parametrize(
    ("probabilities", "complaint"),
    [
        ([0.2, 1.5], "must be between 0 and 1; got numbers from 0.2 to 1.5"),
        ([-0.1, 0.5], "must be between 0 and 1; got numbers from -0.1 to 0.5"),
        ([0.1, np.nan], "probabilities contains NaN"),
        ([[0.1, 0.9], [0.2, 0.8]], "1d array"),
    ],
)
def test_numbers_that_are_not_probabilities_estimate_nothing(probabilities, complaint):
    with pytest.raises(ValueError, match=complaint):
        estimate_quality(probabilities, 0.5)


def test_estimates_of_four_rows():
    found = estimate_quality([0.9, 0.6, 0.1, 0.0], threshold=0.6)
    assert (found.n_rows, found.expected, found.n_alerts) == (4, 1.6, 2)
    assert (found.precision, found.recall) == pytest.approx((1.5 / 2, 1.5 / 1.6))
    assert found.aucprc == pytest.approx((0.9 * 0.9 + 0.6 * 1.5 / 2 + 0.1 * 1.6 / 3) / 1.6)
    few = estimate_quality([0.3, 0.1], threshold=0.2)
    assert (few.recall, few.aucprc) == pytest.approx((0.75, (0.3 * 0.3 + 0.1 * 0.4 / 2) / 0.4))
    bare = estimate_quality([0.9, 0.6])
    assert (bare.n_alerts, bare.precision, bare.recall) == (None, None, None)
    assert (estimate_quality([0.9], 0.95).n_alerts, estimate_quality([0.9], 0.95).precision) == (0, None)
    assert estimate_quality([]).expected == 0
    assert estimate_quality([0.0, 1.0], 1.0).precision == 1


def test_the_interval_of_a_count_is_that_of_a_normal_distribution_within_what_is_possible():
    reach = 1.6448536 * 5 + 0.5
    assert tuple_of(count_interval(np.full(100, 0.5))) == pytest.approx((50 - reach, 50 + reach))
    assert tuple_of(count_interval(np.full(4, 0.5))) == (0, 4)
    assert tuple_of(count_interval(np.array([1.0, 1.0, 0.0]))) == (1.5, 2.5)


def tuple_of(interval):
    return interval.low, interval.high


def test_figures_of_five_rows_with_labels():
    is_rare, p = np.array([True, False, True, False, False]), np.array([0.9, 0.5, 0.3, 0.1, 0.5])
    found = measure_quality(is_rare, p, 0.5)
    assert (found.n_known, found.found, found.expected) == (5, 2, pytest.approx(2.3))
    assert (found.precision, found.recall) == (1 / 3, 1 / 2)
    assert found.aucprc == aucprc(is_rare, p)
    assert found.precision_interval == share_interval(1, 3)
    assert found.recall_interval == share_interval(1, 2)
    assert measure_quality(is_rare[:2], p[:2], 0.5).recall == 1
    no_alert = measure_quality(is_rare, p, 0.95)
    assert (no_alert.precision, no_alert.precision_interval, no_alert.recall) == (None, None, 0)
    bare = measure_quality(is_rare, p)
    assert (bare.precision, bare.recall, bare.recall_interval) == (None, None, None)


@pytest.mark.parametrize(("found", "is_surprising"), [(0, True), (1, False), (3, False), (4, True)])
def test_a_number_outside_of_its_interval_is_surprising(found, is_surprising):
    assert LabelledQuality(9, found, 2.0, Interval(1.0, 3.0), None).is_surprising is is_surprising


REFERENCE = make_reference(np.zeros((20, 1)), np.linspace(0, 1, 20), threshold=0.5)


def figures(scores, labels=None, calibrated=True, reference=REFERENCE):
    counter = Counter(reference.features[0], 1)
    counter.add(np.zeros(len(scores)), np.zeros(len(scores), dtype=np.intp))
    return measure_period(reference, {"x0": counter}, np.asarray(scores), labels, calibrated)


def test_figures_of_a_period():
    found = figures([0.1, 0.5, 0.9])
    assert (found.n_rows, found.n_alerts, found.mean_score, found.labelled) == (3, 2, pytest.approx(0.5), None)
    assert found.estimate == estimate_quality([0.1, 0.5, 0.9], 0.5)
    assert [drift.name for drift in found.drifts] == ["x0"]
    assert found.score_drift.name == "score"
    assert figures([0.1], reference=replace(REFERENCE, threshold=None)).n_alerts is None


def test_new_categories_of_a_period_are_among_its_drifts():
    reference = make_reference(pd.DataFrame({"a": ["x"] * 20}), np.linspace(0, 1, 20))
    counter = Counter(reference.features[0], 2, frozenset({"x"}))
    counter.add(["x", "y", "z", "z"], np.array([0, 0, 1, 1]))
    for period, unseen in ((None, 0.75), (0, 0.5), (1, 1.0)):
        (drift,) = measure_period(reference, {"a": counter}, np.ones(2), None, False, period).drifts
        assert drift.unseen == unseen


def test_only_rows_with_a_label_are_measured():
    is_rare, is_known = np.array([True, False, True]), np.array([True, True, False])
    found = figures([0.1, 0.5, 0.9], (is_rare, is_known)).labelled
    assert found == measure_quality(is_rare[:2], np.array([0.1, 0.5]), 0.5)
    assert figures([0.1], (np.array([False]), np.array([False]))).labelled is None


def test_scores_that_are_not_probabilities_have_drift_and_alerts_only():
    found = figures([7.0, 0.2], (np.array([True, False]), np.array([True, True])), calibrated=False)
    assert (found.estimate, found.labelled, found.n_alerts) == (None, None, 1)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("alerts>1", 2),
        ("alerts<3", 2),
        ("alerts>2", None),
        ("alerts<2", None),
        ("alert_share>0.6", 2 / 3),
        ("expected_share>0.4", 0.5),
        ("precision<0.71", 0.7),
        ("recall<0.95", 1.4 / 1.5),
        ("found_precision<0.6", 0.5),
        ("drifted>0", None),
        ("drifted<1", 0),
        ("psi>0", None),
        ("score_psi>0", None),
        ("missing>0", None),
        ("unseen<1e-3", 0),
    ],
)
def test_an_alarm_is_a_figure_beyond_its_limit(text, value):
    labels = np.array([False, True, False]), np.ones(3, dtype=bool)
    alarm = parse_limit(text).passed_by(figures([0.1, 0.5, 0.9], labels), "May")
    assert alarm == (None if value is None else Alarm(str(parse_limit(text)), pytest.approx(value), "May"))


def test_a_figure_that_is_not_known_raises_no_alarm():
    bare = figures([0.1], calibrated=False, reference=replace(REFERENCE, threshold=None))
    names = ("alerts", "alert_share", "expected_share", "precision", "recall", "found_precision")
    assert [parse_limit(f"{name}<9").passed_by(bare) for name in names] == [None] * len(names)
    assert parse_limit("score_psi<9").passed_by(replace(bare, score_drift=None)) is None


def test_the_largest_drift_that_is_real_counts():
    drifts = [
        Drift("a", 0.5, 0.2, 0.1, 0.4),
        Drift("b", 0.3, 0.001, 0.5, 0.4, 0.2),
        Drift("c", 0.2, 0.001, 0, 0.1, 0.3),
    ]
    found = replace(figures([0.1]), drifts=tuple(drifts), score_drift=Drift("score", 0.7, 0.2, 0, 0))
    figure = {name: parse_limit(f"{name}<9").passed_by(found).value for name in ("psi", "drifted", "missing", "unseen")}
    assert figure == {"psi": 0.3, "drifted": 2, "missing": pytest.approx(0.3), "unseen": 0.3}
    assert parse_limit("score_psi<9").passed_by(found).value == 0
    real = replace(found, score_drift=Drift("score", 0.7, 0.001, 0, 0))
    assert parse_limit("score_psi<9").passed_by(real).value == 0.7


@pytest.mark.parametrize("text", ["psi", "psi>", "psi=1", "psy>1", "psi>x", "psi>-1", "", "psi>1>2"])
def test_another_limit_is_refused_with_the_figures(text):
    with pytest.raises(ValueError, match=r"is not a limit such as 'psi>0\.25'.*alert_share: alerts per row"):
        parse_limit(text)


def test_alarms_name_the_worst_period():
    rising = [Alarm("psi>0.2", 0.3), Alarm("psi>0.2", 0.5, "May"), Alarm("psi>0.2", 0.4, "June")]
    falling = [Alarm("recall<0.5", 0.2, "May"), Alarm("recall<0.5", 0.4, "June")]
    assert alarm_texts([*rising, *falling, Alarm("alerts>1", 2.0, "May")]) == [
        "psi>0.2: 0.3 in all rows; in 2 periods, most in May: 0.5",
        "recall<0.5: in 2 periods, most in May: 0.2",
        "alerts>1: in 1 period, most in May: 2",
    ]
