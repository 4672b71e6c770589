"""A guaranteed precision is kept, and refused with a reason where it cannot be given."""

import re

import numpy as np
import pytest
from scipy.stats import binom, norm

from selfpaced import SelfPacedEnsembleClassifier, choose_threshold
from selfpaced.exceptions import UnreachableRuleError
from selfpaced.metrics import Alerts
from selfpaced.report import make_report
from selfpaced.thresholds import parse_rule, sweep_of, threshold_scorer

N_ROWS, SHARE, SHIFT = 6000, 0.03, 3.5
GUARANTEE = "precision>=0.8 with 80%"


def drawn(seed, grid=None):
    rng = np.random.default_rng(seed)
    is_rare = rng.random(N_ROWS) < SHARE
    scores = rng.normal(SHIFT * is_rare)
    return is_rare, scores if grid is None else grid * np.round(scores / grid)


def true_precision(threshold, grid=None):
    at = threshold if grid is None else grid * (np.ceil(threshold / grid) - 0.5)
    rare, common = SHARE * norm.sf(at, SHIFT), (1 - SHARE) * norm.sf(at)
    return rare / (rare + common)


def threshold_by(rule, is_rare, scores):
    sweep = sweep_of(is_rare, scores)
    place = int(rule.best(sweep.alerts))
    return sweep.short(place) if rule.value(sweep.alerts)[place] > 0 else np.inf


@pytest.mark.parametrize("grid", [None, 0.5])
def test_a_promise_is_broken_no_more_often_than_its_risk_allows(grid):
    rule, n_runs = parse_rule(GUARANTEE), 120
    thresholds = [threshold_by(rule, *drawn(seed, grid)) for seed in range(n_runs)]
    given = [threshold for threshold in thresholds if np.isfinite(threshold)]
    assert len(given) > 0.9 * n_runs
    assert sum(true_precision(threshold, grid) < 0.8 for threshold in given) <= binom.ppf(0.999, n_runs, 0.2)


def test_the_plain_rule_breaks_it_more_often():
    thresholds = [threshold_by(parse_rule("precision>=0.8"), *drawn(seed)) for seed in range(100)]
    assert sum(true_precision(threshold) < 0.8 for threshold in thresholds) > binom.ppf(0.999, 100, 0.2)


def test_a_guarantee_has_a_higher_threshold_than_the_plain_rule_and_says_its_rule():
    y, scores = drawn(0)
    choice = choose_threshold(y, scores, GUARANTEE)
    assert choice.threshold > choose_threshold(y, scores, "precision>=0.8").threshold
    assert f"by {GUARANTEE}: " in str(choice)


def slowly_kept(is_rare, scores, least, confidence):
    """The thresholds that keep a promise: one walk, one threshold and one test after the other."""
    risk, kept = 1 - confidence, set()
    fewest = next(n for n in range(1, scores.size) if least**n <= risk / 2)
    for times, share in ((1, 1 / 2), (3, 1 / 6), (9, 1 / 6), (27, 1 / 6)):
        for threshold in sorted(set(scores.tolist()), reverse=True):
            are_alerts = scores >= threshold
            if are_alerts.sum() >= times * fewest:
                if binom.sf(is_rare[are_alerts].sum() - 1, are_alerts.sum(), least) > share * risk:
                    break
                kept.add(threshold)
    return kept


@pytest.mark.parametrize("seed", range(24))
def test_the_thresholds_that_keep_a_promise_are_those_of_a_slow_computation(seed):
    rng = np.random.default_rng(seed)
    is_rare = rng.random(1200) < 0.4
    scores = np.round(rng.normal(2.5 * is_rare), 1 + seed % 2)
    is_rare &= rng.random(1200) > 0.16  # wrong labels end some walks
    sweep = sweep_of(is_rare, scores)
    kept = parse_rule("precision>=0.7 with 80%").value(sweep.alerts) > 0
    assert set(sweep.thresholds[kept].tolist()) == slowly_kept(is_rare, scores, 0.7, 0.8)


def test_where_no_threshold_keeps_it_the_most_precise_one_is_nearest():
    is_rare = np.array([True, True, False, True, False, False])
    sweep = sweep_of(is_rare, np.array([5.0, 4.0, 4.0, 3.0, 2.0, 1.0]))
    values = parse_rule("precision>=0.9 with 95%").value(sweep.alerts)
    assert (values < 0).all()
    assert values.argmax() == 0
    assert values.argmin() == values.size - 1


def test_half_of_all_confidence_is_enough():
    assert parse_rule("precision>=0.9 with 50%").confidence == 0.5


def test_more_confidence_never_lowers_the_threshold():
    y, scores = drawn(1)
    rules = [f"precision>=0.8 with {percent}%" for percent in (60, 80, 95, 99)]
    thresholds = [choose_threshold(y, scores, rule).threshold for rule in rules]
    assert thresholds == sorted(thresholds)


def test_the_fewest_alerts_give_it_if_all_are_right():
    fewest = parse_rule("precision>=0.9 with 95%").fewest
    scores = -np.arange(1000.0)
    assert choose_threshold(scores > -fewest, scores, "precision>=0.9 with 95%").alerts.n_alerts >= fewest
    with pytest.raises(UnreachableRuleError, match=f"at least {fewest} alerts, all of them right"):
        choose_threshold(scores > -fewest + 1, scores, "precision>=0.9 with 95%")


def test_without_it_the_error_says_how_many_more_rows_would_do():
    y, scores = drawn(2)
    with pytest.raises(UnreachableRuleError, match=r"About [\d,]+ more rare rows \(in [\d,]+ more rows like these\)"):
        choose_threshold(y, scores, "precision>=0.97 with 99%")


@pytest.mark.parametrize(
    ("seed", "rule"),
    [(0, "precision>=0.9 with 99.9%"), (2, "precision>=0.95 with 99%"), (2, "precision>=0.97 with 99%")],
)
def test_as_many_more_rows_as_the_error_says_are_needed(seed, rule):
    y, scores = drawn(seed)
    y[scores.argmin()] = True
    with pytest.raises(UnreachableRuleError) as error:
        choose_threshold(y, scores, rule)
    said = re.search(
        r"There are (.*) rare rows in (.*) rows\. About (.*) more rare rows \(in (.*) more rows .* about (.*) alerts",
        str(error.value),
    )
    n_rare, n_rows, more_rare, more_rows, n_alerts = (int(one.replace(",", "")) for one in said.groups())
    assert (n_rare, n_rows) == (y.sum(), y.size)
    times, alerts = 1 + more_rows / n_rows, sweep_of(y, scores).alerts
    assert 1 + more_rare / n_rare == pytest.approx(times, abs=1 / n_rare)

    def kept(times):
        right, n = np.floor(times * alerts.true_positives), np.ceil(times * alerts.n_alerts)
        wrong = n - right
        return n[parse_rule(rule).value(Alerts(right, wrong, right[-1] - right, wrong[-1] - wrong)) > 0]

    assert kept(times).max() == pytest.approx(n_alerts, rel=0.02)
    assert not kept(times / 1.15).size


def test_a_precision_hardly_above_the_promise_would_need_a_thousand_times_as_many_rows():
    y, scores = np.arange(6000) < 4001, 1.0 * (np.arange(6000) < 5000)
    with pytest.raises(UnreachableRuleError, match="More than 1,000 times as many rows would be needed"):
        choose_threshold(y, scores, GUARANTEE)


def test_a_precision_of_just_the_promise_would_never_do():
    y, scores = np.arange(6000) < 4000, 1.0 * (np.arange(6000) < 5000)
    with pytest.raises(UnreachableRuleError, match=r"The highest precision is 0\.8, .*more rows would not help"):
        choose_threshold(y, scores, GUARANTEE)


def test_where_no_threshold_is_precise_enough_more_rows_would_not_help():
    rng = np.random.default_rng(0)
    y, scores = rng.random(5000) < 0.05, np.arange(5000) % 10
    with pytest.raises(UnreachableRuleError, match=r"The highest precision is 0\.0\d+.*more rows would not help"):
        choose_threshold(y, scores, GUARANTEE)


@pytest.mark.parametrize(
    ("rule", "complaint"),
    [
        ("precision>=1 with 95%", "A precision of 1 cannot be guaranteed"),
        ("precision>=0.9 with 100%", "must be from 50% to below 100%"),
        ("precision>=0.9 with 0.95%", "must be from 50% to below 100%"),
        ("precision>=90 with 95%", "A precision must be between 0 and 1"),
    ],
)
def test_a_promise_that_nobody_can_keep_is_refused(rule, complaint):
    with pytest.raises(ValueError, match=complaint):
        parse_rule(rule)


def test_a_guarantee_on_the_training_rows_is_refused():
    y, scores = drawn(3)
    X = scores[:, None]
    model = SelfPacedEnsembleClassifier(n_estimators=2, random_state=0).fit(X, y.astype(int))
    with pytest.raises(ValueError, match="needs rows that the model was not trained on"):
        make_report(model, X, y.astype(int), threshold=GUARANTEE)
    make_report(model, X, y.astype(int), threshold="precision>=0.8")  # promises nothing


def test_a_guarantee_on_other_rows_than_those_of_the_training_is_given():
    (y, scores), (other_y, other_scores) = drawn(3), drawn(4)
    model = SelfPacedEnsembleClassifier(n_estimators=2, random_state=0).fit(scores[:, None], y.astype(int))
    make_report(model, other_scores[:, None], other_y.astype(int), threshold="precision>=0.5 with 80%")


@pytest.mark.parametrize("rule", [GUARANTEE, "alerts<=5/day", "a: precision>=0.5, b"])
def test_a_scorer_cannot_have_a_rule_about_all_rows(rule):
    with pytest.raises(ValueError, match="A scorer sees one threshold and a part of the rows"):
        threshold_scorer(rule)
