"""BalanceCascade by hand: what stays in the pool, and in which order things happen."""

import numpy as np
import pytest

from selfpaced.algorithms import balance_cascade, under_bagging
from selfpaced.algorithms.alternatives import rows_left


class Diary:
    """A pool of ten rows that writes down what it is asked."""

    def __init__(self):
        self.n_rows = 10
        self.entries = []

    def draw(self, quota, round_number):
        self.entries.append(("draw", list(quota), round_number))
        return f"rows of round {round_number}"

    def score(self, model):
        self.entries.append(("score", model))

    def keep_hardest(self, n_rows, round_number):
        self.entries.append(("keep", n_rows, round_number))


def fit(samples):
    return f"model of {samples[0]}"


def test_every_member_but_the_last_scores_and_lets_rows_go():
    pool = Diary()
    steps = list(balance_cascade([pool], 2, fit, n_models=3))
    assert pool.entries == [
        ("draw", [2], 1),
        ("score", "model of rows of round 1"),
        ("keep", 4, 1),  # 10 * (2 / 10) ** (1 / 2) = 4.47
        ("draw", [2], 2),
        ("score", "model of rows of round 2"),
        ("keep", 2, 2),
        ("draw", [2], 3),
    ]
    assert [step.number for step in steps] == [1, 2, 3]


def test_a_single_member_is_a_random_sample():
    pool = Diary()
    assert len(list(balance_cascade([pool], 2, fit, n_models=1))) == 1
    assert pool.entries == [("draw", [2], 1)]


@pytest.mark.parametrize("n_models", [2, 3, 10])
def test_the_last_member_finds_exactly_what_it_draws(n_models):
    assert rows_left(170_000, 300, n_models - 1, n_models) == 300


def test_a_pool_with_no_more_rows_than_are_drawn_keeps_them_all():
    assert [rows_left(5, 8, i, 4) for i in range(4)] == [5, 5, 5, 5]


def test_each_round_keeps_the_same_share():
    left = np.array([rows_left(10**9, 10**3, i, 7) for i in range(7)])
    np.testing.assert_allclose(left[1:] / left[:-1], 0.1)


def test_under_bagging_only_draws():
    pool = Diary()
    steps = list(under_bagging([pool], 2, fit, n_models=3))
    assert pool.entries == [("draw", [2], 1), ("draw", [2], 2), ("draw", [2], 3)]
    assert [step.model for step in steps] == [f"model of rows of round {i}" for i in (1, 2, 3)]
