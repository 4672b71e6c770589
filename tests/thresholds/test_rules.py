"""Rules are what a person writes, and say no to nonsense."""

import numpy as np
import pytest

from selfpaced.exceptions import UnknownRuleError
from selfpaced.metrics import MEASURES, Alerts
from selfpaced.thresholds import AlertsPerPeriod, Costs, LowestCost, PrecisionGuaranteed, Zones, parse_rule
from selfpaced.thresholds.rules import AlertsAtMost, Best, PrecisionAtLeast, RecallAtLeast, rounded_down

WRITTEN = {
    "f1": Best("f1"),
    "mcc": Best("mcc"),
    "gmean": Best("sensitivity_specificity_gmean"),
    "precision_recall_gmean": Best("precision_recall_gmean"),
    "precision>=0.9": PrecisionAtLeast(0.9),
    "recall>=0.8": RecallAtLeast(0.8),
    "alerts<=50": AlertsAtMost(50),
    "alerts<=50/10000": AlertsAtMost(50, 10_000),
    "alerts<=200/day": AlertsPerPeriod(200, "day"),
    "precision>=0.9 with 95%": PrecisionGuaranteed(0.9, 0.95),
    "block: precision>=0.95, review: alerts<=50/day, pass": Zones(
        (("block", PrecisionAtLeast(0.95)), ("review", AlertsPerPeriod(50, "day"))), "pass"
    ),
    "cost": LowestCost(),
    "cost=5": LowestCost(Costs(5, None)),
    "cost=5:100": LowestCost(Costs(5, 100)),
}


@pytest.mark.parametrize("text", WRITTEN)
def test_a_text_is_read_as_the_rule_it_says(text):
    assert parse_rule(text) == WRITTEN[text]


@pytest.mark.parametrize("text", [*WRITTEN, "alerts<=1234567/10000000", "precision>=0.99999999", "cost=1:1234567.5"])
def test_a_rule_says_itself_as_a_text_that_is_read_as_the_same_rule(text):
    assert parse_rule(str(parse_rule(text))) == parse_rule(text)


def test_blanks_and_capitals_do_not_matter():
    assert parse_rule(" Precision >= .9 ") == PrecisionAtLeast(0.9)


def test_a_rule_stays_as_it_is():
    assert parse_rule(RecallAtLeast(0.5)) == RecallAtLeast(0.5)


def test_every_measure_is_a_rule():
    assert all(parse_rule(name) == Best(name) for name in MEASURES)


@pytest.mark.parametrize(
    "text", ["", "best", "precision>0.9", "precision>=", "alerts<=many", "cost=:5", "f1>=0.5", 3, None]
)
def test_what_is_no_rule_is_refused_with_a_list_of_the_rules(text):
    with pytest.raises(
        ValueError, match=r"is not a rule for a threshold.*f1.*precision>=0.9.*recall.*alerts.*cost=5:100"
    ):
        parse_rule(text)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("precision>0.95", "precision>=0.95"),
        ("recal >= 0.7", "recall>=0.7"),
        ("alert<50/1000", "alerts<=50/1000"),
        ("cost:5:100", "cost=5:100"),
        ("f-1", "f1"),
        ("g_mean", "gmean"),
    ],
)
def test_the_rule_that_was_meant_is_named_in_one_line(text, meant):
    with pytest.raises(UnknownRuleError) as raised:
        parse_rule(text)
    assert f"Did you mean {meant!r}? The rules are f1, " in str(raised.value)
    assert len(str(raised.value)) < 300
    assert parse_rule(meant)


def test_what_is_like_no_rule_is_not_guessed_at():
    with pytest.raises(UnknownRuleError) as raised:
        parse_rule("cheapest")
    assert "Did you mean" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("precision>=1.5", "A precision must be between 0 and 1, as in precision>=0.9; got 1.5"),
        ("precision>=-0.5", "A precision must be between 0 and 1"),
        ("recall>=90", "A recall must be between 0 and 1, as in recall>=0.9; got 90"),
        ("recall>=0", "A recall must be between 0 and 1"),
        ("alerts<=0", "A budget must be a number of alerts in a larger number of rows"),
        ("alerts<=1e999", "A budget must be a number of alerts in a larger number of rows"),
        ("alerts<=50/10", "A budget must be a number of alerts in a larger number of rows"),
        ("cost=-5:100", "costs must be two numbers >= 0"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(text, complaint):
    with pytest.raises(ValueError, match=complaint):
        parse_rule(text)


@pytest.mark.parametrize("text", ["precision>=1", "recall>=1", "alerts<=10/10"])
def test_all_is_not_too_much_to_ask_for(text):
    assert str(parse_rule(text)) == text


def test_a_measure_that_is_none_is_refused():
    with pytest.raises(ValueError, match="measure must be one of"):
        Best("accuracy")


@pytest.mark.parametrize(
    ("rule", "near", "far"),
    [
        ("precision>=0.9", Alerts(8, 2, 2, 88), Alerts(8, 8, 2, 82)),
        ("recall>=0.9", Alerts(8, 2, 2, 88), Alerts(5, 0, 5, 90)),
        ("alerts<=5/100", Alerts(5, 1, 5, 89), Alerts(5, 5, 5, 85)),
    ],
)
def test_a_condition_that_is_not_met_is_worth_less_than_nothing_and_the_less_the_farther(rule, near, far):
    assert parse_rule(rule).value(far) < parse_rule(rule).value(near) < 0


@pytest.mark.parametrize(
    ("rule", "value"),
    [("precision>=0.8", 8 / 16), ("recall>=0.5", 8 / 10), ("alerts<=10/100", 10 / 100), ("alerts<=10", 10 / 100)],
)
def test_a_condition_that_is_met_exactly_is_met(rule, value):
    assert parse_rule(rule).value(Alerts(8, 2, 8, 82)) == pytest.approx(value)


def test_the_value_of_costs_is_their_negative_per_row():
    assert parse_rule("cost=5:100").value(Alerts(1, 2, 3, 4)) == pytest.approx(-(2 * 5 + 3 * 100) / 10)
    assert parse_rule("cost=5:100").value(Alerts(0, 1, 0, 0)) == -5
    assert parse_rule("alerts<=1").value(Alerts(0, 1, 0, 0)) == 1


@pytest.mark.parametrize(("rule", "place"), [("precision>=0.5", 1), ("recall>=0.5", 2)])
def test_of_equally_good_thresholds_the_highest_is_taken_but_the_lowest_by_recall(rule, place):
    """From the first threshold to the last: too few cases, two that are equally good, and two with more alerts."""
    precision_stays = Alerts(np.array([1, 2, 4, 4, 4]), np.array([1, 2, 4, 8, 9]), np.array([3, 2, 0, 0, 0]), 0)
    recall_stays = Alerts(np.array([1, 2, 2, 2, 2]), np.array([1, 1, 2, 8, 9]), np.array([3, 2, 2, 2, 2]), 0)
    alerts = precision_stays if rule.startswith("recall") else recall_stays
    assert parse_rule(rule).best(alerts) == place


def test_a_figure_that_is_told_is_the_true_one_in_three_digits_and_never_more():
    for value in np.linspace(0.1, 0.999, 300):
        assert value - 0.00101 < float(rounded_down(value)) <= value


def test_a_rule_by_costs_that_does_not_know_them_asks_for_them():
    with pytest.raises(ValueError, match="needs the cost of a missed case, such as cost=5:100"):
        LowestCost().value(Alerts(1, 1, 1, 1))
