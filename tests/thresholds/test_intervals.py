"""Intervals hold what the threshold brings on other rows, about as often as they say."""

import numpy as np
import pytest
from scipy.stats import beta, norm

from selfpaced.thresholds import choose_threshold
from selfpaced.thresholds.intervals import FIGURES, _drawn_losses

SHIFT, N_ROWS, N_CASES = 3.0, 4000, 40


def simulated(seed):
    rng = np.random.default_rng(seed)
    y = rng.random(N_ROWS) < N_CASES / N_ROWS
    return y, rng.normal(size=N_ROWS) + SHIFT * y


def true_precision_and_recall(threshold):
    share, recall, false_rate = N_CASES / N_ROWS, norm.sf(threshold - SHIFT), norm.sf(threshold)
    return share * recall / (share * recall + (1 - share) * false_rate), recall


@pytest.mark.parametrize("rule", ["f1", "precision>=0.9", "recall>=0.8", "cost=5:100"])
def test_they_hold_the_true_value_about_as_often_as_they_say(rule):
    held = []
    for seed in range(100):
        choice = choose_threshold(*simulated(seed), rule, n_bootstrap=200, random_state=seed)
        truth = true_precision_and_recall(choice.threshold)
        ends = choice.intervals["precision"], choice.intervals["recall"]
        held.append([end.low <= value <= end.high for end, value in zip(ends, truth, strict=True)])
    assert np.mean(held, axis=0).min() >= 0.8  # of 0.9; the luck of 100 choices is 0.03


def test_one_seed_gives_one_interval():
    one, other = (choose_threshold(*simulated(0), random_state=3) for _ in range(2))
    assert one.intervals == other.intervals


def test_the_surer_the_wider():
    narrow, wide = (choose_threshold(*simulated(0), confidence=share).intervals for share in (0.5, 0.99))
    for name, one in narrow.items():
        assert wide[name].low < one.low < one.high < wide[name].high


@pytest.mark.parametrize("rule", ["f1", "mcc", "precision>=0.8", "recall>=0.7", "alerts<=30", "cost=5:100"])
def test_every_figure_has_one_that_it_lies_in(rule):
    choice = choose_threshold(*simulated(1), rule)
    assert set(FIGURES) <= set(choice.intervals)
    for name, one in choice.intervals.items():
        assert one.low <= choice.value(name) <= one.high


def test_ten_alerts_that_are_right_promise_no_precision_of_1():
    y = np.repeat([1, 0, 1, 0], [10, 500, 10, 500])
    choice = choose_threshold(y, np.linspace(1, 0, y.size), "precision>=0.99")
    assert choice.precision == 1
    assert choice.intervals["precision"].low < 0.9


def test_more_rows_make_them_narrower():
    y, scores = simulated(0)
    one, many = (choose_threshold(np.tile(y, n), np.tile(scores, n)).intervals["f1"] for n in (1, 16))
    assert many.high - many.low < (one.high - one.low) / 2.5


def test_losses_are_drawn_as_drawing_the_missed_cases_again_would():
    rng = np.random.default_rng(0)
    amounts = rng.lognormal(3, 0.5, 400)
    drawn = _drawn_losses(amounts, 100, 20_000, rng)
    again = rng.poisson(1, (5000, 300)) @ amounts[100:]
    assert drawn.mean() == pytest.approx(again.mean() + amounts.mean(), rel=0.02)
    assert drawn.std() == pytest.approx(again.std(), rel=0.05)


def test_many_cases_with_ties_and_amounts_are_no_trouble():
    rng = np.random.default_rng(0)
    y = rng.random(60_000) < 0.2
    scores = (rng.normal(size=y.size) + y).round(2)
    for rule, options in {"f1": {}, "alerts<=100/10000": {}, "cost=5": {"amounts": rng.random(y.size) * 50}}.items():
        choice = choose_threshold(y, scores, rule, n_bootstrap=100, **options)
        assert choice.intervals["recall"].high - choice.intervals["recall"].low < 0.02


def test_only_the_end_that_flatters_is_stretched_beyond_the_luck_of_the_rows():
    """Without the luck of the choice, the interval of a precision would be Jeffreys'."""
    choice = choose_threshold(*simulated(2), "f1", n_bootstrap=20_000)
    hits, alarms = choice.alerts.true_positives, choice.alerts.false_positives
    low, high = beta.ppf([0.05, 0.95], hits + 0.5, alarms + 0.5)
    assert choice.intervals["precision"].low < low - 0.01
    assert choice.intervals["precision"].high == pytest.approx(high, abs=0.01)


def test_a_cost_is_stretched_upwards():
    choice = choose_threshold(*simulated(3), "cost=5:100", n_bootstrap=20_000)
    rng = np.random.default_rng(0)
    alarms, missed = (
        rng.gamma(count + 0.5, size=20_000) for count in (choice.alerts.false_positives, choice.alerts.false_negatives)
    )
    low, high = np.quantile(5 * alarms + 100 * missed, [0.05, 0.95])
    assert choice.intervals["cost"].low == pytest.approx(low, rel=0.05)
    assert choice.intervals["cost"].high > high + 50


def test_amounts_that_are_all_the_same_are_a_cost_of_a_missed_case():
    y, scores = simulated(3)
    fixed = choose_threshold(y, scores, "cost=5:100", n_bootstrap=20_000).intervals
    own = choose_threshold(y, scores, "cost=5", amounts=np.full(y.size, 100), n_bootstrap=20_000).intervals
    assert own["recall"].low == pytest.approx(fixed["recall"].low, abs=0.01)
    assert own["cost"].low == pytest.approx(fixed["cost"].low, abs=60)  # half a case more may be missed
    assert own["cost"].high == pytest.approx(fixed["cost"].high, abs=80)
