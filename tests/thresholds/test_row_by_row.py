"""Decisions row by row, as text, and the best rows of each period."""

import numpy as np
import pandas as pd
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


def test_columns_are_those_that_are_given_or_those_of_the_rows():
    rows, decision = pd.DataFrame({"amount": [1.0, 2.0], "look": [3.0, 4.0]}), parse_decision("p*amount>look")
    for given, amounts in ((None, [1, 2]), ({}, [1, 2]), ({"amount": [5, 6]}, [5, 6])):
        found = decision.read(rows, given, 2, "columns=")
        assert {name: values.tolist() for name, values in found.items()} == {"amount": amounts, "look": [3, 4]}
    with pytest.raises(ValueError, match="reads 'look', which is in neither X nor columns="):
        decision.read(rows[["amount"]], {"amount": [5, 6]}, 2, "columns=")
    with pytest.raises(ValueError, match=r"'amount' has the shape \(1,\), but there are 2 rows. Give columns="):
        decision.read(rows, {"amount": [5]}, 2, "columns=")


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
        "(p*amount>5",
        "p*amount)>5",
        "p*(amount>5)",
        "p*amount>5)",
        "p*amount 3>5",
        "3amount*p>5",
        "p*+amount>5",
        "p*()>5",
        "p(amount)>5",
        "p>=5",
        "p>5>",
        "p*1__0>5",
        "p*amount>``",
    ],
)
def test_what_is_no_rule_is_refused_with_an_example(text):
    with pytest.raises(ValueError, match=r"is not a rule for decisions.*'p\*amount>5'"):
        parse_decision(text)


def test_missing_amounts_are_refused():
    with pytest.raises(ValueError, match="in 1 of 3 rows is not known"):
        parse_decision("p*amount>5").alerts(P, {"amount": np.array([1.0, np.nan, 1.0])})


def test_a_missed_row_may_cost_nothing_and_so_may_an_alert():
    assert parse_decision("p*amount>0").alerts(P, {"amount": np.array([0.0, 2.0, 0.0])}).tolist() == [
        False,
        True,
        False,
    ]


# In the last one, as in Python, the product comes first.
@pytest.mark.parametrize(
    "text",
    ["p*amount/0>5", "p*amount>5/0", "p*amount/(amount-2)>5", "p*amount*1e308*100>5", "p*1e200*1e200/1e200>amount"],
)
def test_infinite_costs_are_refused(text):
    with pytest.raises(ValueError, match=r"rows is infinite\. The rule divides by 0, or its numbers are too large"):
        parse_decision(text).alerts(P, AMOUNT)


@pytest.mark.parametrize("text", ["p*1e400>1", f"p*amount>{10**400}"])
def test_a_number_that_is_too_large_is_refused(text):
    with pytest.raises(ValueError, match="is too large"):
        parse_decision(text)


@pytest.mark.parametrize("text", ["p*amount>5", "p*(0-amount)>5", "p*100>amount", "-p*amount>-5"])
def test_negative_costs_are_refused(text):
    amounts = {"amount": np.array([500.0, -2.0, 10.0])}
    decision = parse_decision(text)
    with pytest.raises(ValueError, match=r"is negative\. Costs must be at least 0"):
        decision.alerts(P, amounts)
    with pytest.raises(ValueError, match=r"is negative\. Costs must be at least 0"):
        decision.cost(np.ones(3, dtype=bool), np.zeros(3, dtype=bool), amounts)


def test_names_are_those_of_the_columns_letter_by_letter():
    """The micro sign and the Greek letter mu look alike. Python takes both for one name."""
    micro, mu = "\u00b5", "\u03bc"
    assert parse_decision(f"p*{micro}>{mu}").columns == (micro, mu)
    assert parse_decision("p*P*`<`>pp").columns == ("P", "<", "pp")


def test_a_rule_may_be_long_and_deep():
    long, deep = "p*amount" + "*1" * 5000, "(" * 5000 + "p*amount" + ")" * 5000
    for text in (long, deep):
        assert parse_decision(f"{text}>5").alerts(P, AMOUNT).tolist() == [True, False, False]


@pytest.mark.parametrize(
    "side",
    [
        "amount-3-2",
        "amount/2/2",
        "2+amount*3",
        "(2+amount)*3",
        "-amount*-2",
        "amount--2",
        "2*(amount-(1-amount)/2)",
        "1_000.5+.5e1",
        "--amount",
        "10-(-amount+2)*-3",
    ],
)
def test_operators_bind_as_in_python(side):
    amounts = {"amount": np.array([3.5])}
    gain = parse_decision(f"p*1e6>{side}+1e5").gains(np.ones(1), amounts)[0]
    assert gain == 1e6 - (eval(side, {"amount": 3.5}) + 1e5)


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
