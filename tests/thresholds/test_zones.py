"""Zones divide the scores from the highest down, and alerts of a day are counted by the day."""

import numpy as np
import pytest

from selfpaced import choose_threshold
from selfpaced.exceptions import UnknownRuleError, UnreachableRuleError
from selfpaced.thresholds import ZoneLimits, best_rows, parse_rule, sweep_of

DAY = np.timedelta64(1, "D")
BEGIN = np.datetime64("2024-03-01")


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y = rng.random(8000) < 0.03
    return y, rng.normal(3 * y), BEGIN + rng.integers(0, 20 * 86_400, y.size) * np.timedelta64(1, "s")


@pytest.fixture(scope="module")
def chosen(rows):
    y, scores, times = rows
    return choose_threshold(y, scores, "block: precision>=0.9, review: alerts<=4/day, pass", times=times)


def busiest(times, is_alert):
    return np.unique(times[is_alert].astype("datetime64[D]"), return_counts=True)[1].max()


class TestAlertsPerDay:
    def test_no_day_has_more_and_one_more_alert_would_be_too_many(self, rows):
        y, scores, times = rows
        choice = choose_threshold(y, scores, "alerts<=5/day", times=times)
        assert busiest(times, scores >= choice.threshold) == 5
        next_lower = scores[scores < choice.threshold].max()
        assert busiest(times, scores >= next_lower) == 6

    def test_rows_with_equal_scores_are_all_alerts_or_none(self, rows):
        y, scores, times = rows
        rounded = np.round(scores, 1)
        choice = choose_threshold(y, rounded, "alerts<=5/day", times=times)
        assert busiest(times, rounded >= choice.threshold) <= 5

    def test_days_with_fewer_rows_do_not_count(self):
        times = BEGIN + np.array([0, 0, 0, 1, 2]) * DAY
        choice = choose_threshold([0, 1, 0, 1, 0], [0.9, 0.8, 0.2, 0.7, 0.1], "alerts<=2/day", times=times)
        assert choice.alerts.n_alerts == 3

    def test_days_are_those_of_the_time_zone(self):
        times = np.array(["2024-03-01T23:30", "2024-03-02T00:30", "2024-03-05T00:00"], dtype="datetime64[s]")
        how = {"y_true": [1, 1, 0], "scores": [0.9, 0.8, 0.1], "rule": "alerts<=1/day", "times": times}
        assert choose_threshold(**how).alerts.n_alerts == 3
        assert choose_threshold(**how, timezone="Europe/Berlin").alerts.n_alerts == 1

    def test_more_equal_highest_scores_in_a_day_than_the_budget_are_refused(self):
        with pytest.raises(
            UnreachableRuleError, match=r"alerts<=1/day cannot be met.*more than 1 of them are in one day"
        ):
            choose_threshold([1, 0, 0], [0.9, 0.9, 0.1], "alerts<=1/day", times=[BEGIN] * 3)

    @pytest.mark.parametrize(
        ("rule", "times", "complaint"),
        [
            ("alerts<=5/day", None, "needs the times of the rows"),
            ("f1", [BEGIN] * 3, "does not use times"),
            ("alerts<=5/day", [BEGIN] * 2, "there are 3 rows and 2 times"),
            ("alerts<=5/day", [1, 2, 3], "The times are numbers"),
            ("alerts<=0.5/day", [BEGIN] * 3, "at least one alert in a period"),
            ("a: alerts<=5/day, b: alerts<=9/week, c", [BEGIN] * 3, "count alerts by day and by week"),
        ],
    )
    def test_what_has_no_days_is_refused(self, rule, times, complaint):
        with pytest.raises(ValueError, match=complaint):
            choose_threshold([1, 0, 0], [0.9, 0.5, 0.1], rule, times=times)


class TestZones:
    def test_the_first_zone_is_chosen_as_if_it_were_alone(self, rows, chosen):
        y, scores, _ = rows
        assert chosen.zones.thresholds[0] == choose_threshold(y, scores, "precision>=0.9").threshold

    def test_the_budget_of_a_zone_counts_its_own_rows(self, rows, chosen):
        _, scores, times = rows
        assert busiest(times, chosen.zones.of(scores) == "review") == 4

    def test_the_threshold_of_the_choice_is_that_of_the_lowest_alert(self, rows, chosen):
        _, scores, _ = rows
        assert chosen.threshold == chosen.zones.lowest
        assert ((scores >= chosen.threshold) == (chosen.zones.of(scores) != "pass")).all()

    def test_the_figures_of_all_zones_add_up(self, rows, chosen):
        y, scores, _ = rows
        assert chosen.zone_figures == chosen.zones.figures(y, scores)
        assert sum(one.n_rows for one in chosen.zone_figures) == y.size
        assert sum(one.recall for one in chosen.zone_figures) == pytest.approx(1)

    def test_a_recall_is_that_of_the_zone_and_those_above_it(self, rows):
        y, scores, _ = rows
        choice = choose_threshold(y, scores, "block: precision>=0.9, review: recall>=0.9, pass")
        alone = choose_threshold(y, scores, "recall>=0.9")
        assert choice.recall >= 0.9
        assert choice.threshold == alone.threshold

    @pytest.mark.parametrize(("rule", "n_rare"), [("recall>=0.08", 2), ("recall>=0.28", 7), ("recall>=0.3", 8)])
    def test_a_recall_is_met_exactly_below_a_zone_of_one_row(self, rule, n_rare):
        y = (np.arange(100) == 0) | (np.arange(100) % 2 == 1) & (np.arange(100) < 48)  # 0.28 * 25 is a little above 7
        choice = choose_threshold(y, -np.arange(100.0), f"block: alerts<=1, review: {rule}, pass")
        assert [one.n_rare for one in choice.zone_figures] == [1, n_rare - 1, 25 - n_rare]

    def test_a_recall_that_the_zone_above_has_exactly_leaves_nothing_to_find(self):
        y, scores = np.arange(100) < 25, -np.arange(100.0)
        with pytest.raises(UnreachableRuleError, match="'review' would be empty: the zones above it already meet"):
            choose_threshold(y, scores, "block: alerts<=1, review: recall>=0.04, pass")

    def test_the_precision_of_a_zone_is_the_share_of_its_rows_and_unknown_without_rows(self):
        limits = ZoneLimits(("block", "review", "pass"), (0.9, 0.3))
        figures = limits.figures(np.array([True, True, False, True, False]), [0.95, 0.9, 0.9, 0.1, 0.2])
        assert [one.precision for one in figures] == [2 / 3, None, 1 / 2]
        assert [one.recall for one in figures] == [2 / 3, 0, 1 / 3]

    def test_a_score_at_a_threshold_is_in_the_zone_above(self):
        limits = ZoneLimits(("a", "b", "c", "d"), (0.9, 0.5, 0.3))
        assert limits.of([0.9, 0.5, 0.3, 0.29]).tolist() == ["a", "b", "c", "d"]
        assert limits.lowest == 0.3

    def test_zones_have_several_thresholds_and_so_no_value(self, rows):
        y, scores, _ = rows
        with pytest.raises(ValueError, match="have several thresholds"):
            parse_rule("block: precision>=0.9, pass").value(sweep_of(y, scores).alerts)

    @pytest.mark.parametrize("first", ["precision>=0.9 with 95%", "precision>=0.9"])
    def test_zones_are_a_guarantee_if_the_first_one_is(self, first):
        zones = parse_rule(f"block: {first}, review: recall>=0.8, pass")
        assert zones.is_guarantee == ("with" in first)

    def test_alerts_per_rows_are_of_all_rows(self, rows):
        y, scores, _ = rows
        choice = choose_threshold(y, scores, "block: precision>=0.9, review: alerts<=10/1000, pass")
        assert choice.zone_figures[1].n_rows == 80

    def test_limits_are_read_again_from_the_facts_of_a_card(self, chosen):
        assert ZoneLimits.from_facts(chosen.as_facts()["zones"]) == chosen.zones

    def test_a_zone_that_cannot_be_met_is_named(self, rows):
        y, scores, _ = rows
        with pytest.raises(UnreachableRuleError, match=r"Zone 'review': No threshold has a precision of 0\.99"):
            choose_threshold(y, scores, "block: precision>=0.9, review: precision>=0.99, pass")

    def test_a_zone_that_would_be_empty_is_refused(self, rows):
        y, scores, _ = rows
        with pytest.raises(UnreachableRuleError, match="The zone 'review' would be empty"):
            choose_threshold(y, scores, "block: recall>=0.9, review: recall>=0.5, pass")

    @pytest.mark.parametrize(
        ("text", "complaint"),
        [
            ("block: f1, pass", "The zone 'block' cannot have the rule f1"),
            ("a: precision>=0.9, a", "The zone 'a' exists twice"),
            ("a: precision>=0.9, b: precision>=0.5 with 95%, c", "Only the first zone can have a guarantee"),
        ],
    )
    def test_zones_that_mean_nothing_are_refused(self, text, complaint):
        with pytest.raises(ValueError, match=complaint):
            parse_rule(text)

    @pytest.mark.parametrize("text", ["a: precision>=0.9", "precision>=0.9, pass", "a: recall>=0.5, b: f1", ","])
    def test_what_does_not_name_zones_is_refused_with_an_example(self, text):
        with pytest.raises(UnknownRuleError, match=r"does not name zones.*block: precision>=0\.95"):
            parse_rule(text)

    @pytest.mark.parametrize(
        ("names", "thresholds"), [("abc", (0.3, 0.9)), ("abc", (0.5, 0.5)), ("a", ()), ("ab", (0.9, 0.5))]
    )
    def test_thresholds_of_zones_fall(self, names, thresholds):
        with pytest.raises(ValueError, match="from the highest down"):
            ZoneLimits(tuple(names), thresholds)

    def test_two_zones_have_one_threshold(self):
        assert ZoneLimits(("a", "b"), (0.5,)).of([0.5, 0.4]).tolist() == ["a", "b"]


def test_the_best_rows_of_a_day_are_as_many_as_it_has():
    periods = np.array([0, 0, 0, 1])
    assert best_rows(np.array([0.9, 0.9, 0.9, 0.1]), 2, periods=periods).tolist() == [True, True, False, True]
