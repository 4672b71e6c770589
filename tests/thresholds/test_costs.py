"""Costs in all their forms, and those that make no sense."""

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix

from selfpaced.metrics import alerts_at_threshold
from selfpaced.thresholds import Costs, amounts_of, cost_text


def test_a_matrix_is_in_the_order_of_scikit_learns_confusion_matrix():
    rng = np.random.default_rng(0)
    y, scores = rng.integers(0, 2, 100), rng.random(100)
    matrix = np.array([[1, 5], [100, 3]])
    total = Costs.of(matrix).total(alerts_at_threshold(y, scores, 0.6))
    assert total == np.sum(matrix * confusion_matrix(y, scores >= 0.6))


def test_the_gain_of_an_alert_is_the_difference_of_the_expected_costs():
    chances = np.array([0.25, 0.5])
    expected = [1 * (1 - p) + 100 * p - (5 * (1 - p) + 3 * p) for p in chances]
    assert Costs.of([[1, 5], [100, 3]]).gains(chances).tolist() == expected


@pytest.mark.parametrize(
    ("costs", "text"),
    [
        (Costs.of((5, 100)), "5:100"),
        (Costs.of(5, by_amount=True), "5"),
        (Costs.of([[0, 5], [100, -20]]), "[[0, 5], [100, -20]]"),
        (Costs.of([[1, 5], [100, 0]]), "[[1, 5], [100, 0]]"),
        (Costs.of([[0, 5], [0, 2]], by_amount=True), "[[0, 5], [amount, 2]]"),
    ],
)
def test_costs_are_written_as_they_are_given(costs, text):
    assert str(costs) == text


def test_decimals_are_written_below_100():
    assert [cost_text(cost) for cost in (99.5, 100.4, -99.25, -100.5, 99)] == ["99.50", "100", "-99.25", "-101", "99"]


def test_where_a_miss_costs_its_amount_an_alert_may_cost_as_much_for_a_case_as_for_another_row():
    costs = Costs.of([[0, 5], [0, 5]], by_amount=True)
    assert (costs.false_alarm, costs.hit, costs.missed) == (5, 5, None)


def test_a_pair_is_a_matrix_in_which_what_is_right_costs_nothing():
    assert Costs.of((5, 100)) == Costs.of([[0, 5], [100, 0]])


def test_with_amounts_the_cost_of_a_false_alarm_is_enough():
    assert Costs.of(5, by_amount=True) == Costs.of((5, 0), by_amount=True) == Costs(5, None)


@pytest.mark.parametrize("costs", [(5, 100), [[0, 5], [100, 0]], [[0, 5], [100, 5]]])
def test_a_missed_case_does_not_cost_its_amount_and_something_fixed(costs):
    with pytest.raises(
        ValueError, match=r"A missed case has two costs, 100 and its amount.* omit the 100 \(cost=5\), or write 0"
    ):
        Costs.of(costs, by_amount=True)


def test_what_is_found_may_bring_a_gain():
    assert Costs.of([[0, 5], [100, -20]]).hit == -20


@pytest.mark.parametrize(
    "costs", [5, (5,), (1, 2, 3), [[1, 2, 3], [4, 5, 6]], (-1, 5), (1, -5), (np.nan, 5), (1, np.inf), "cheap", None, {}]
)
def test_costs_of_another_form_are_refused(costs):
    with pytest.raises(
        ValueError, match="costs must be two numbers >= 0, the costs of a false alarm and of a missed case"
    ):
        Costs.of(costs)


def test_a_false_alarm_cheaper_than_none_is_refused():
    with pytest.raises(ValueError, match=r"A false alarm costs 1, less than a common row without an alert \(2\)"):
        Costs.of([[2, 1], [100, 0]])


def test_a_found_case_dearer_than_a_missed_one_is_refused():
    with pytest.raises(ValueError, match=r"A found case costs 200, more than a missed case \(100\)"):
        Costs.of([[0, 5], [100, 200]])


def test_what_is_right_may_cost_as_much_as_what_is_wrong():
    assert Costs.of([[2, 2], [100, 100]]) == Costs(false_alarm=2, missed=100, hit=100, left_alone=2)
    assert Costs.of((0, 0)) == Costs(0, 0)


@pytest.mark.parametrize(
    ("amounts", "complaint"),
    [
        ([1, 2], "amounts must have a number for each row: there are 3; got 2"),
        ([1, 2, -3], "1 of 2 are not, such as -3"),
        ([1, np.nan, 3], "1 of 2 are not, such as nan"),
        ([1, np.inf, 3], "1 of 2 are not, such as inf"),
        (["a", "b", "c"], "amounts must be numbers"),
    ],
)
def test_amounts_that_are_none_are_refused(amounts, complaint):
    with pytest.raises(ValueError, match=complaint):
        amounts_of(amounts, np.array([False, True, True]))


def test_amounts_of_ordinary_rows_are_not_looked_at():
    assert amounts_of([np.nan, -1, 0, 3], np.array([False, False, True, True])).tolist() == [0, 3]
