"""A feature is possible leakage if it nearly decides the target alone."""

import numpy as np
import pandas as pd
import pytest

from selfpaced.cli.columns import find_leaks


def flagged(n_rare, n_common, precision, recall=1.0):
    """A column of 0 and 1 that is 1 for a share of the rare rows, and for as many common rows as the precision asks."""
    n_found = round(recall * n_rare)
    n_alarms = round(n_found * (1 - precision) / precision)
    is_rare = np.arange(n_rare + n_common) < n_rare
    column = np.zeros(is_rare.size)
    column[:n_found] = 1
    column[n_rare : n_rare + n_alarms] = 1
    return pd.DataFrame({"flag": column}), is_rare


def bands(n_bands):
    """Rows along a line, 1,000 in each band; the rows of every second band are rare."""
    number = np.arange(1000 * n_bands)
    return pd.DataFrame({"place": number.astype(float)}), number // 1000 % 2 == 1


def test_a_column_with_an_aucprc_of_86_percent_is_reported_and_one_with_84_is_not():
    """All rare rows are flagged, so the AUCPRC is the precision of the flag."""
    (leak,) = find_leaks(*flagged(10_000, 30_000, precision=0.86), seed=0)
    assert leak.name == "flag"
    assert leak.figure == pytest.approx(0.86, abs=0.005)
    assert find_leaks(*flagged(10_000, 30_000, precision=0.84), seed=0) == []


def test_only_the_columns_that_decide_are_reported():
    frame, is_rare = flagged(300, 3000, precision=1.0)
    frame = frame.assign(noise=np.random.default_rng(0).normal(size=3300), constant=1.0)
    assert [leak.name for leak in find_leaks(frame, is_rare, seed=0)] == ["flag"]


def test_a_category_is_tried_as_a_number():
    frame, is_rare = flagged(300, 3000, precision=1.0)
    words = pd.Categorical(np.where(frame["flag"] == 1, "web", "till"))
    assert [leak.name for leak in find_leaks(pd.DataFrame({"channel": words}), is_rare, seed=0)] == ["channel"]


def test_a_column_is_judged_on_other_rows_than_it_was_learned_from():
    """Eight leaves learn the labels of some dozen rows from any number; that says nothing of other rows."""
    is_rare = np.arange(40) < 20
    noise = np.random.default_rng(0).normal(size=(40, 30))
    assert find_leaks(pd.DataFrame(noise), is_rare, seed=0) == []


def test_ten_rare_rows_in_each_half_are_enough_to_judge_and_nine_are_not():
    assert find_leaks(*flagged(20, 2000, precision=1.0), seed=0) != []
    assert find_leaks(*flagged(19, 2000, precision=1.0), seed=0) == []


def test_both_halves_have_as_many_rare_rows_whatever_the_seed():
    assert all(find_leaks(*flagged(20, 2000, precision=1.0), seed=seed) for seed in range(10))


def test_where_most_rows_are_to_be_found_nothing_is_reported():
    assert find_leaks(*flagged(500, 500, precision=1.0), seed=0) != []
    assert find_leaks(*flagged(502, 498, precision=1.0), seed=0) == []


def test_a_dozen_bands_decide_but_a_finer_pattern_does_not():
    """A finer pattern would be noise in a table of few rows."""
    assert find_leaks(*bands(12), seed=0) != []
    assert find_leaks(*bands(14), seed=0) == []


def test_a_date_that_leaks_is_named_once_by_its_column_with_its_clearest_feature():
    frame, is_rare = flagged(300, 3000, precision=1.0)
    worse, _ = flagged(300, 3000, precision=0.9)
    dates = pd.DataFrame({"closed": worse["flag"], "closed.hour": frame["flag"], "flag": worse["flag"]})
    found = find_leaks(dates, is_rare, 0, {"closed": "closed", "closed.hour": "closed", "flag": "flag"})
    assert [leak.name for leak in found] == ["closed", "flag"]
    assert found[0].figure == 1 > found[1].figure
