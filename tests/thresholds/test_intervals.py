"""Intervals hold what the threshold brings on other rows, about as often as they say."""

import numpy as np
import pytest
from scipy.stats import beta, binomtest, norm

from selfpaced.metrics import Alerts
from selfpaced.thresholds import Interval, choose_threshold, share_interval, sweep_of
from selfpaced.thresholds import sweep as intervals
from selfpaced.thresholds.rules import Best
from selfpaced.thresholds.sweep import FIGURES, _drawn_at, _drawn_losses, _places, _resamples, _thinned

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


class Watching(Best):
    """The best F1, how many samples it has been asked about, and how many numbers they had at most at once."""

    def __init__(self):
        super().__init__("f1")
        object.__setattr__(self, "n_samples", 0)
        object.__setattr__(self, "most_cells", 0)

    def best(self, alerts, lost=None):
        if np.ndim(alerts.true_positives) == 2:
            object.__setattr__(self, "n_samples", self.n_samples + len(alerts.true_positives))
            object.__setattr__(self, "most_cells", max(self.most_cells, alerts.true_positives.size))
        return super().best(alerts, lost)


def flipped(seed, n_rows=200):
    """Half of the rows are cases, and they score lowest."""
    scores = np.random.default_rng(seed).random(n_rows)
    return scores < 0.5, scores


def test_of_a_budget_they_hold_the_true_value_in_about_90_of_100_samples():
    """No luck is chosen by a number of alerts, so that nothing is stretched."""
    held = []
    for seed in range(150):
        choice = choose_threshold(*simulated(seed), "alerts<=40", n_bootstrap=200, random_state=seed)
        truth = true_precision_and_recall(choice.threshold)
        ends = choice.intervals["precision"], choice.intervals["recall"]
        held.append([end.low <= value <= end.high for end, value in zip(ends, truth, strict=True)])
    assert (np.mean(held, axis=0) >= 0.83).all()  # three standard errors of 150 samples
    assert (np.mean(held, axis=0) <= 0.97).all()


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.99])
def test_of_a_budget_the_interval_of_a_precision_is_jeffreys(confidence):
    choice = choose_threshold(*simulated(4), "alerts<=40", n_bootstrap=20_000, confidence=confidence)
    hits, alarms = choice.alerts.true_positives, choice.alerts.false_positives
    expected = beta.ppf([(1 - confidence) / 2, (1 + confidence) / 2], hits + 0.5, alarms + 0.5)
    found = choice.intervals["precision"]
    assert (found.low, found.high) == pytest.approx(expected.tolist(), abs=0.012)


def test_the_intervals_of_shares_are_those_of_counts_drawn_as_jeffreys_has_it():
    """Of alerts among all rows, and of found cases among all cases."""
    choice = choose_threshold(*simulated(5), "alerts<=40", n_bootstrap=20_000)
    now, rng = choice.alerts, np.random.default_rng(1)
    low, high = beta.ppf([0.05, 0.95], now.n_alerts + 0.5, N_ROWS - now.n_alerts + 0.5)
    found = choice.intervals["alert_share"]
    assert (found.low, found.high) == pytest.approx((low, high), rel=0.03)
    hits, missed = (rng.gamma(count + 0.5, size=50_000) for count in (now.true_positives, now.false_negatives))
    low, high = np.quantile(hits / (hits + missed), [0.05, 0.95])
    found = choice.intervals["recall"]
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.02)


def test_the_ends_are_as_exact_as_the_number_of_draws_that_was_asked_for():
    """The standard error of a quantile of n draws is sqrt(p (1 - p) / n), divided by the density there."""
    y, scores = simulated(2)
    highs = [choose_threshold(y, scores, n_bootstrap=100, random_state=seed) for seed in range(100)]
    now = highs[0].alerts
    law = beta(now.true_positives + 0.5, now.false_positives + 0.5)
    expected = np.sqrt(0.95 * 0.05 / 100) / law.pdf(law.ppf(0.95))
    assert np.std([choice.intervals["precision"].high for choice in highs]) == pytest.approx(expected, rel=0.25)


@pytest.mark.parametrize("cells", [4_000_000, 5000, 1])
@pytest.mark.parametrize(("n_draws", "n_choices"), [(100, 20), (1003, 200)])
def test_for_every_five_draws_a_threshold_is_chosen_anew_however_many_at_once(monkeypatch, cells, n_draws, n_choices):
    monkeypatch.setattr(intervals, "MOST_CELLS", cells)
    rule = Watching()
    choose_threshold(*simulated(0), rule, n_bootstrap=n_draws)
    assert rule.n_samples == n_choices
    assert rule.most_cells <= cells or rule.most_cells <= 1000  # one sample of all thresholds at least


def test_choosing_a_few_at_a_time_gives_about_the_same_interval(monkeypatch):
    at_once = choose_threshold(*simulated(0), "f1").intervals["f1"]
    monkeypatch.setattr(intervals, "MOST_CELLS", 5000)
    by_parts = choose_threshold(*simulated(0), "f1").intervals["f1"]
    assert (by_parts.low, by_parts.high) == pytest.approx((at_once.low, at_once.high), abs=0.01)


def test_a_figure_stays_within_its_limits():
    """Alerts that are all wrong, and alerts that are all right."""
    wrong = choose_threshold(*flipped(0), "alerts<=100").intervals
    assert -1 <= wrong["mcc"].low < -0.9
    assert wrong["precision"].low == pytest.approx(0, abs=1e-3)
    y, scores = flipped(0)
    right = choose_threshold(~y, scores, "f1").intervals
    assert 0.95 < right["mcc"].high <= 1
    assert all(0 <= right[name].low <= right[name].high <= 1 for name in FIGURES)


def test_a_figure_that_cannot_be_better_is_not_promised_beyond_its_limit(monkeypatch):
    """The end that is stretched stops at the limit: here each end is stretched by twice the whole range."""
    for optimism, ends in ((2.0, ("low", 0, -1)), (-2.0, ("high", 1, 1))):
        monkeypatch.setattr(intervals, "_optimism", lambda *_, by=optimism: dict.fromkeys([*FIGURES, "cost"], by))
        found = choose_threshold(*simulated(0), "cost=5:100").intervals
        end, share, correlation = ends
        assert getattr(found["recall"], end) == share
        assert getattr(found["mcc"], end) == correlation


def test_a_gain_may_be_as_large_as_it_is():
    found = choose_threshold(*simulated(0), "cost", costs=[[0, 5], [0, -100]])
    assert found.cost < -1000
    assert found.intervals["cost"].low < found.cost < found.intervals["cost"].high < 0


def test_thresholds_to_choose_from_again_are_those_with_finds_and_those_nearby():
    """Rows are one common row after the other, with a case at every hundredth place."""
    is_case = np.arange(10_000) % 100 == 50
    sweep = sweep_of(is_case, -np.arange(10_000.0))
    places = _places(sweep, 399)  # 400 alerts; five standard deviations of them are 100
    assert {0, 399, 9999} <= set(places.tolist())
    assert set(np.flatnonzero(is_case).tolist()) <= set(places.tolist())
    near = np.setdiff1d(places, np.flatnonzero(is_case))[1:-1]
    assert (near.min(), near.max()) == (399 - 100, 399 + 100)


def test_of_very_many_thresholds_evenly_spread_ones_are_chosen_from():
    places = np.arange(0, 50_000, 5)
    assert _thinned(places, 10_000).tolist() == places.tolist()
    thin = _thinned(places, 101)
    assert (thin.size, thin[0], thin[-1]) == (101, 0, 49_995)
    assert np.ptp(np.diff(thin)) <= 5


def test_rows_are_drawn_again_once_on_average_and_stay_in_order():
    rng = np.random.default_rng(0)
    is_case, scores = simulated(0)
    amounts = rng.random(is_case.sum()) * 100
    for own in (None, amounts):
        sweep = sweep_of(is_case, scores, own)
        places = _places(sweep, 40)
        ((alerts, lost),) = _resamples(sweep, places, 2000, rng)
        for name, counts in vars(alerts).items():
            assert (counts >= 0).all()
            np.testing.assert_allclose(counts.mean(axis=0), getattr(sweep.alerts, name)[places], atol=0.3, rtol=0.03)
        assert (np.diff(alerts.n_alerts, axis=1) >= 0).all()
        spread = alerts.false_positives[:, -1].std()
        assert spread == pytest.approx(np.sqrt((~is_case).sum()), rel=0.1)
        assert alerts.true_positives[:, -1].std() == pytest.approx(np.sqrt(is_case.sum()), rel=0.1)
        if own is not None:
            np.testing.assert_allclose(lost.mean(axis=0), sweep.lost[places], rtol=0.05, atol=1)


def test_losses_of_no_missed_case_allow_for_one_more_of_the_mean_amount():
    drawn = _drawn_losses(np.full(50, 20.0), 50, 20_000, np.random.default_rng(0))
    assert (drawn.mean(), drawn.std()) == pytest.approx((20, 20), rel=0.05)


def test_amounts_of_nothing_are_no_loss():
    assert _drawn_losses(np.zeros(5), 2, 3, np.random.default_rng(0)).tolist() == [0, 0, 0]


def test_half_a_row_is_added_on_either_side_of_each_share():
    """Of four rows the first is an alert and a case; one of the other three is a case."""
    sweep = sweep_of(np.array([True, False, True, False]), np.array([0.9, 0.5, 0.4, 0.1]))
    drawn, lost = _drawn_at(sweep, 0, 40_000, np.random.default_rng(0))
    assert lost is None
    assert np.mean(drawn.alert_share) == pytest.approx(
        (1 + 0.5) / (4 + 1), abs=0.0025
    )  # three standard errors, here and below
    assert np.mean(drawn.precision) == pytest.approx((1 + 0.5) / (1 + 1), abs=0.004)
    silent = drawn.false_negatives + drawn.true_negatives
    assert np.mean(drawn.false_negatives / silent) == pytest.approx((1 + 0.5) / (3 + 1), abs=0.004)
    np.testing.assert_allclose(drawn.n_rows, 4)


@pytest.mark.parametrize(("part", "whole"), [(8, 10), (0, 7), (7, 7), (1, 300)])
def test_the_interval_of_a_share_is_wilsons(part, whole):
    expected = binomtest(part, whole).proportion_ci(0.9, method="wilson")
    found = share_interval(part, whole)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert share_interval(0, 0) == Interval(0.0, 1.0)


def test_the_alerts_of_any_number_are_the_rows_at_or_above_it():
    sweep = sweep_of(np.array([True, False, True, False]), np.array([0.9, 0.5, 0.5, 0.1]))
    counts = {0.95: (0, 0), 0.9: (1, 0), 0.6: (1, 0), 0.5: (2, 1), 0.1: (2, 2), 0.0: (2, 2)}
    for threshold, (found, false_alarms) in counts.items():
        assert sweep.alerts_from(threshold) == Alerts(found, false_alarms, 2 - found, 2 - false_alarms)


def test_the_shares_of_every_threshold():
    sweep = sweep_of(np.array([True, False, True, False]), np.array([0.9, 0.5, 0.5, 0.1]))
    assert sweep.thresholds.tolist() == [0.9, 0.5, 0.1]
    assert sweep.recall.tolist() == [0.5, 1, 1]
    assert sweep.false_alarm_rate.tolist() == [0, 0.5, 1]
    assert sweep.precision.tolist() == pytest.approx([1, 2 / 3, 0.5])
    assert sweep.finds.tolist() == [0, 1]
    assert sweep_of(np.array([False, True]), np.array([0.9, 0.5])).finds.tolist() == [1]
