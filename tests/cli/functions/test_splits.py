"""Rows that are held out: a share of each class at random, or the last rows by time."""

import datetime
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from selfpaced.cli.request import times_in
from selfpaced.cli.splitting import held_out_at_random, held_out_by_time
from selfpaced.exceptions import TableError
from selfpaced.pools import HOLDOUT_ROUND, row_keys
from selfpaced.tables import Labels
from selfpaced.tables.sources import open_table


def labels_of(*counts):
    classes = np.arange(len(counts))
    return Labels(classes, np.array(counts), np.repeat(classes, counts))


def held_out_of_each(labels, held_out):
    return np.bincount(labels.codes[held_out], minlength=len(labels.names)).tolist()


@pytest.mark.parametrize(("share", "expected"), [(0.2, [200, 20, 2]), (0.5, [500, 50, 5]), (0.25, [250, 25, 2])])
def test_the_same_share_of_every_class_is_held_out(share, expected):
    labels = labels_of(1000, 100, 10)
    assert held_out_of_each(labels, held_out_at_random(labels, share, seed=0)) == expected


def test_at_least_one_row_of_each_class_is_held_out_and_one_is_left():
    labels = labels_of(1000, 3)
    assert held_out_of_each(labels, held_out_at_random(labels, 0.01, seed=0)) == [10, 1]
    assert held_out_of_each(labels, held_out_at_random(labels, 0.99, seed=0)) == [990, 2]


def test_each_row_has_the_same_chance_to_be_held_out():
    labels = labels_of(40, 10)
    times = sum(held_out_at_random(labels, 0.3, seed).astype(int) for seed in range(400))
    assert (np.abs(times / 400 - 0.3) < 0.1).all()  # more than four standard errors


def test_one_seed_holds_out_the_same_rows():
    labels = labels_of(100, 20)
    first, again, other = (held_out_at_random(labels, 0.2, seed) for seed in (1, 1, 2))
    assert first.tolist() == again.tolist() != other.tolist()


def test_a_larger_share_holds_out_the_rows_of_a_smaller_one_and_more():
    labels = labels_of(1000, 200)
    held_out = [held_out_at_random(labels, share, seed=0) for share in np.linspace(0.01, 0.99, 50)]
    assert all(larger[smaller].all() for smaller, larger in pairwise(held_out))


def test_the_rows_with_the_smallest_keys_of_their_class_are_held_out():
    labels = labels_of(300, 100)
    keys = row_keys(np.arange(400, dtype=np.uint64), 5, HOLDOUT_ROUND)
    smallest = [*np.argsort(keys[:300])[:120], *(300 + np.argsort(keys[300:])[:40])]
    assert np.flatnonzero(held_out_at_random(labels, 0.4, seed=5)).tolist() == sorted(smallest)


def timed(tmp_path, times, y):
    pd.DataFrame({"when": times, "label": y}).to_parquet(tmp_path / "rows.parquet")
    table = open_table(tmp_path / "rows.parquet", target="label")
    return table, table.labels()


@pytest.mark.parametrize("share", [0.2, 0.25, 0.5])
def test_the_last_rows_by_time_are_held_out_whatever_their_order(tmp_path, share):
    order = np.random.default_rng(0).permutation(100)
    table, labels = timed(tmp_path, order, order % 2)
    held_out = held_out_by_time(times_in(table, "when"), share, labels)
    assert sorted(order[held_out].tolist()) == list(range(100 - round(100 * share), 100))


def test_of_the_smallest_share_the_last_row_is_held_out(tmp_path):
    """It is of one class only, so the split is refused."""
    table, labels = timed(tmp_path, np.arange(100), np.arange(100) % 2)
    with pytest.raises(TableError, match="All rows of the class 0 are before 99"):
        held_out_by_time(times_in(table, "when"), 0.001, labels)


def test_rows_of_one_moment_stay_together(tmp_path):
    days = np.repeat(np.arange(10), 10)
    table, labels = timed(tmp_path, days, np.arange(100) % 2)
    held_out = held_out_by_time(times_in(table, "when"), 0.25, labels)
    assert np.unique(days[held_out]).tolist() == [7, 8, 9]
    assert held_out.sum() == 30


def test_dates_are_times(tmp_path):
    days = [datetime.datetime(2024, 1, 1) + datetime.timedelta(days=n) for n in range(10)]
    table, labels = timed(tmp_path, days, [0, 1] * 5)
    assert held_out_by_time(times_in(table, "when"), 0.2, labels).tolist() == [False] * 8 + [True] * 2


@pytest.mark.parametrize(
    ("rare", "where"), [(slice(0, 10), "before"), (slice(90, 100), "after")], ids=["only early", "only late"]
)
def test_a_class_that_is_all_on_one_side_is_refused(tmp_path, rare, where):
    y = np.zeros(100, dtype=int)
    y[rare] = 1
    table, labels = timed(tmp_path, np.arange(100), y)
    with pytest.raises(
        TableError, match=f"All rows of the class 1 are {where} 80, where the last 20% of the rows begin"
    ):
        held_out_by_time(times_in(table, "when"), 0.2, labels)


def test_a_time_that_is_missing_or_a_text_is_refused(tmp_path):
    table, labels = timed(tmp_path, [1.0, None, 3.0, 4.0], [0, 1, 0, 1])
    with pytest.raises(TableError, match="has no time in 1 of 4 rows"):
        held_out_by_time(times_in(table, "when"), 0.5, labels)
    table, labels = timed(tmp_path, list("abcd"), [0, 1, 0, 1])
    with pytest.raises(TableError, match="Write times as dates such as"):
        held_out_by_time(times_in(table, "when"), 0.5, labels)
