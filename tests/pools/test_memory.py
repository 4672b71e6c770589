"""What the memory pool does beyond the exam of all pools: it counts its work."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from selfpaced.algorithms import hardness_named
from selfpaced.pools import MemoryPool, keys
from selfpaced.pools.keys import key_limits
from selfpaced.tables import InMemoryTable

X = np.random.default_rng(0).normal(size=(3000, 3))
MODEL = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[:200], X[:200, 0] > 0)


class CountingTable(InMemoryTable):
    """Counts the rows that are read, and how."""

    def __init__(self, features):
        super().__init__(features)
        self.in_spans = self.taken = 0

    def span(self, start, stop):
        self.in_spans += stop - start
        return super().span(start, stop)

    def take(self, positions):
        self.taken += len(positions)
        return super().take(positions)


def pool_of(ids):
    table = CountingTable(X)
    return table, MemoryPool(table, np.asarray(ids, dtype=np.uint32), own_class=0, seed=0)


@pytest.mark.parametrize("hardness", ["absolute", "cross_entropy"])
def test_a_round_reads_each_row_once_whatever_the_hardness(hardness):
    table, pool = pool_of(np.arange(3000))
    pool.score(MODEL)
    pool.cut(hardness_named(hardness), 20)
    assert (table.in_spans, table.taken) == (3000, 0)


def test_rows_close_together_are_read_without_picking_them():
    table, pool = pool_of(np.delete(np.arange(3000), [5, 500, 2000]))
    pool.score(MODEL)
    pool.cut(hardness_named("absolute"), 20)
    assert (table.in_spans, table.taken) == (3000, 0)


def test_rows_far_apart_are_picked():
    table, pool = pool_of(np.arange(0, 3000, 10))
    pool.score(MODEL)
    pool.cut(hardness_named("absolute"), 20)
    assert (table.in_spans, table.taken) == (0, 300)


def test_a_draw_reads_the_drawn_rows_only():
    table, pool = pool_of(np.arange(3000))
    pool.draw([17], 0)
    assert (table.in_spans, table.taken) == (0, 17)


def test_scoring_waits_for_the_cut():
    table, pool = pool_of(np.arange(3000))
    pool.score(MODEL)
    assert table.in_spans == 0


def test_two_models_scored_before_a_cut_both_count():
    _, together = pool_of(np.arange(3000))
    together.score(MODEL)
    together.score(MODEL)
    _, once = pool_of(np.arange(3000))
    once.score(MODEL)
    hardness = hardness_named("absolute")
    np.testing.assert_allclose(together.cut(hardness, 5).mean_hardness, once.cut(hardness, 5).mean_hardness)


def test_a_limit_that_was_too_low_is_raised_until_the_quota_is_there(monkeypatch):
    asked = []

    def low_at_first(quota, counts, slack):
        asked.append(slack)
        return key_limits(quota, counts, slack) if slack > 2 else np.zeros(len(quota), dtype=np.uint64)

    _, pool = pool_of(np.arange(3000))
    expected = pool.draw([40], 1).ids.tolist()
    monkeypatch.setattr(keys, "key_limits", low_at_first)
    assert pool.draw([40], 1).ids.tolist() == expected
    assert asked == [1.0, 2.0, 4.0]
