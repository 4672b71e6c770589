"""Figures by group equal an independent computation, and every column of groups has one clear answer."""

import numpy as np
import pandas as pd
import pytest

from selfpaced.exceptions import TableError
from selfpaced.report import report_of_scores
from selfpaced.report.groups import FEWEST_ROWS, Difference, difference_text, group_facts
from selfpaced.thresholds import Interval

RNG = np.random.default_rng(0)
Y = RNG.random(2000) < 0.2
SCORES = np.clip(0.3 * Y + RNG.random(2000) * 0.7, 0, 1)


def wilson(part, whole):
    """The ends at which a test of the share is just not significant, solved as a quadratic equation."""
    z2 = 1.6448536269514722**2
    share = part / whole
    return np.sort(np.roots([1 + z2 / whole, -(2 * share + z2 / whole), share**2]))


def test_figures_equal_those_that_pandas_computes():
    regions = RNG.choice(["north", "south", "west"], 2000)
    rows = pd.DataFrame({"region": regions, "rare": Y, "alert": SCORES >= 0.5, "score": SCORES})
    for one in group_facts(regions, "region", Y, SCORES, 0.5).groups:
        own = rows[rows["region"] == one.name]
        assert (one.n_rows, one.n_cases, one.n_alerts) == (len(own), own["rare"].sum(), own["alert"].sum())
        assert one.precision.value == pytest.approx(own[own["alert"]]["rare"].mean())
        assert one.recall.value == pytest.approx(own[own["rare"]]["alert"].mean())
        assert one.false_alarm_rate.value == pytest.approx(own[~own["rare"]]["alert"].mean())
        assert one.mean_score == pytest.approx(own["score"].mean())
        assert one.rare_share.value == pytest.approx(own["rare"].mean())
        expected = wilson(one.found, one.n_cases)
        assert (one.recall.low, one.recall.high) == pytest.approx(tuple(expected))


def test_small_groups_are_put_together_and_missing_values_are_a_group():
    groups = np.array(["large"] * 1900 + ["one"] + ["two"] * 2 + [None] * 97, dtype=object)
    found = group_facts(groups, "g", Y, SCORES, 0.5)
    assert [one.name for one in found.groups] == ["large", "(others: 2 groups)", "(missing)"]
    assert [one.n_rows for one in found.groups] == [1900, 3, 97]
    assert found.n_small == 2


def test_a_group_of_one_row_is_not_compared():
    groups = np.array(["a"] * 1000 + ["b"] * 999 + ["alone"])
    found = group_facts(groups, "g", Y, SCORES, 0.5)
    assert found.groups[-1].n_rows == 1
    assert all("alone" not in (one.highest, one.lowest) for one in found.differences)


def test_a_difference_of_small_rates_is_written_with_two_digits():
    one = Difference("false_alarm_rate", "a", "b", 0.00027, Interval(-0.0002, 0.000811))
    assert "0.027 points apart (90% interval -0.020 to +0.081: it contains 0" in difference_text(one)


def test_a_column_of_ten_thousand_values_is_refused():
    many = np.array([f"id {number}" for number in range(10_000)])
    with pytest.raises(TableError, match=f"10,000 different values, and none of them has {FEWEST_ROWS} rows"):
        group_facts(many, "id", np.arange(10_000) % 7 == 0, np.linspace(0, 1, 10_000), 0.5)


def test_numbers_are_cut_into_ranges_of_about_as_many_rows():
    ages = RNG.integers(18, 90, 2000).astype(float)
    ages[:100] = np.nan
    found = group_facts(ages, "age", Y, SCORES, 0.5).groups
    assert len(found) == 6
    assert found[-1].name == "(missing)"
    assert all(330 <= one.n_rows <= 430 for one in found[:-1])
    assert sum(one.n_rows for one in found) == 2000


def test_the_page_escapes_names_of_groups():
    groups = np.where(Y, "<b>x</b>", "y&z")
    page = report_of_scores(Y, SCORES, groups=groups, groups_name="<i>g</i>").to_html()
    assert "&lt;b&gt;x&lt;/b&gt;" in page
    assert "<b>x</b>" not in page
    assert "<i>g</i>" not in page


def test_one_group_for_each_row_is_needed():
    with pytest.raises(ValueError, match="a value for each row"):
        report_of_scores(Y, SCORES, groups=["a"])
