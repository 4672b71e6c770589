"""Decisions row by row, as text, and the best rows of each period."""

import numpy as np
import pytest

from selfpaced.thresholds import best_rows, parse_decision

P = np.array([0.02, 0.9, 0.5])
AMOUNT = {"amount": np.array([500.0, 2.0, 10.0])}


@pytest.mark.parametrize(
    "text", ["p*amount>5", " p * amount > 5 ", "5 < amount*p", "p*`amount`>5", "p*(amount-0)>10/2"]
)
def test_an_alert_is_a_row_that_is_expected_to_lose_more_than_the_alert_costs(text):
    decision = parse_decision(text)
    assert decision.alerts(P, AMOUNT).tolist() == [True, False, False]
    assert decision.columns == ("amount",)


def test_a_column_may_have_any_name():
    decision = parse_decision("p * `amount due` > `cost of a look`")
    columns = {"amount due": AMOUNT["amount"], "cost of a look": np.array([20.0, 1.0, 1.0])}
    assert decision.columns == ("amount due", "cost of a look")
    assert decision.alerts(P, columns).tolist() == [False, True, True]


def test_p_is_the_probability_unless_it_stands_in_backticks():
    assert parse_decision("p*`p`>1").alerts(P, {"p": np.array([100.0, 1.0, 1.0])}).tolist() == [True, False, False]


def test_the_cost_is_that_of_all_alerts_and_of_missed_rare_rows():
    decision = parse_decision("p*amount>5")
    assert decision.cost(np.array([True, True, False]), np.array([True, False, True]), AMOUNT) == 5 + 2 + 5


@pytest.mark.parametrize(
    "text",
    [
        "",
        "p",
        "amount>5",
        "p*amount",
        "p>q>1",
        "p*amount>p",
        "__import__('os')>p",
        "p*amount.real>5",
        "p**2>1",
        "p>'a'",
    ],
)
def test_what_is_no_rule_is_refused_with_an_example(text):
    with pytest.raises(ValueError, match=r"is not a rule for decisions.*'p\*amount>5'"):
        parse_decision(text)


def test_missing_amounts_are_refused():
    with pytest.raises(ValueError, match="has no value in 1 of 3 rows"):
        parse_decision("p*amount>5").alerts(P, {"amount": np.array([1.0, np.nan, 1.0])})


def test_the_best_rows_of_each_period_are_taken_and_no_more():
    days = np.array([1, 2, 1, 2, 1, 2])
    chosen = best_rows(np.array([0.1, 0.2, 0.9, 0.8, 0.5, 0.8]), 2, periods=days)
    assert chosen.tolist() == [False, False, True, True, True, True]


def test_of_equal_rows_the_first_are_taken():
    assert best_rows(np.ones(4), 2).tolist() == [True, True, False, False]


def test_of_each_group_the_best_row_of_a_period_is_taken():
    cards, days = np.array(["a", "a", "b", "a"]), np.array([1, 1, 1, 2])
    chosen = best_rows(np.array([0.8, 0.9, 0.1, 0.3]), 3, periods=days, groups=cards)
    assert chosen.tolist() == [False, True, True, True]


def test_rows_that_may_not_be_taken_do_not_stand_in_the_way_of_others():
    among = np.array([False, True, True])
    assert best_rows(np.array([0.9, 0.8, 0.7]), 1, among=among, groups=np.array([1, 1, 2])).tolist() == [
        False,
        True,
        False,
    ]
    assert not best_rows(np.ones(3), 1, among=np.zeros(3, dtype=bool), groups=np.arange(3)).any()
