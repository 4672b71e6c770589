"""Algorithm 1 on a dozen rows, worked by hand.

Rows 0 to 8 are the majority, rows 9 to 11 the minority, and two majority rows are drawn per minority row. The models
are tables of probabilities, so that every number can be followed on paper.
"""

import math
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pytest

from selfpaced.algorithms import hardness_named, pacing_named, self_paced
from selfpaced.algorithms.pacing import tangent
from selfpaced.pools import MemoryPool, row_keys
from selfpaced.tables import InMemoryTable

SEED = 7
N_DRAW = 6
MAJORITY = np.arange(9, dtype=np.uint32)
PROBABILITIES = [
    [0.0, 0.0, 0.1, 0.2, 0.3, 0.4, 0.6, 0.9, 1.0],  # f_0
    [0.0, 0.4, 0.1, 0.2, 0.1, 0.8, 0.0, 0.7, 1.0],  # f_1
    [0.5] * 9,  # f_2
]


@dataclass
class TableModel:
    """Knows the probability of every row; the only feature of a row is its number."""

    probability: list

    def predict_proba(self, X):
        positive = np.array([*self.probability, 1, 1, 1])[X[:, 0].astype(int)]
        return np.column_stack([1 - positive, positive])


@pytest.fixture
def pool():
    return MemoryPool(InMemoryTable(np.arange(12.0).reshape(-1, 1)), MAJORITY, own_class=0, seed=SEED)


def run(pool, pacing=tangent, hardness="absolute", n_bins=4):
    trained_on = []

    def fit(drawn):
        trained_on.append([rows.ids.tolist() for rows in drawn])
        return TableModel(PROBABILITIES[len(trained_on) - 1])

    return list(self_paced([pool], N_DRAW, fit, hardness_named(hardness), pacing, 2, n_bins)), trained_on


def drawn_by_hand(bins, quota, round_number):
    """The smallest keys of each bin."""
    keys = row_keys(MAJORITY, SEED, round_number)
    rows = [sorted(members, key=lambda row: keys[row])[:n] for members, n in zip(bins, quota, strict=True)]
    return sorted(chain(*rows))


def test_the_warm_up_trains_on_rows_drawn_at_random(pool):
    steps, trained_on = run(pool)
    assert trained_on[0] == [drawn_by_hand([list(range(9))], [6], 0)]
    assert (steps[0].number, steps[0].alpha) == (0, None)


def test_one_warm_up_and_n_members_are_yielded(pool):
    steps, _ = run(pool)
    assert [step.number for step in steps] == [0, 1, 2]
    assert [step.model.probability for step in steps] == PROBABILITIES


def test_round_one_cuts_by_the_warm_up(pool):
    (_, first, _), _ = run(pool)
    assert first.samples[0].bins.counts.tolist() == [4, 2, 1, 2]
    assert first.samples[0].bins.mean_hardness == pytest.approx([0.075, 0.35, 0.6, 0.95], abs=1e-7)


def test_round_one_draws_by_its_weights(pool):
    # alpha = tan(pi/4) = 1, so p = 1/1.075, 1/1.35, 1/1.6, 1/1.95, and their shares of six rows are 1.99, 1.58, 1.34
    # and 1.10: four whole rows, and one more for each of the two largest remainders.
    (_, first, _), trained_on = run(pool)
    assert first.alpha == pytest.approx(1)
    assert first.samples[0].quota.tolist() == [2, 2, 1, 1]
    assert trained_on[1] == [drawn_by_hand([[0, 1, 2, 3], [4, 5], [6], [7, 8]], [2, 2, 1, 1], 1)]


def test_round_two_cuts_by_the_mean_of_the_warm_up_and_the_first_member(pool):
    # The means are 0, .2, .1, .2, .2, .6, .3, .8, 1.
    (_, _, second), _ = run(pool)
    assert second.samples[0].bins.counts.tolist() == [5, 1, 1, 2]
    assert second.samples[0].bins.mean_hardness == pytest.approx([0.14, 0.3, 0.6, 0.9], abs=1e-7)


def test_the_last_round_draws_the_same_from_every_bin_that_can_give_it(pool):
    # 1.5 rows a bin: the bins of one row give theirs, and the others share the four that are left.
    (_, _, second), trained_on = run(pool)
    assert second.samples[0].quota.tolist() == [2, 1, 1, 2]
    assert trained_on[2] == [drawn_by_hand([[0, 1, 2, 3, 4], [6], [5], [7, 8]], [2, 1, 1, 2], 2)]


def test_at_alpha_zero_every_bin_contributes_the_same_hardness(pool):
    # h = .075, .35, .6, .95 give p = 13.3, 2.86, 1.67, 1.05 and shares of six of 4.23, .91, .53, .33: bin 0 has only
    # four rows, and the two that are left are shared 1.02 : .60 : .38.
    (_, first, _), _ = run(pool, pacing=pacing_named(lambda i, n: 0.0))
    assert first.samples[0].quota.tolist() == [4, 1, 1, 0]


def test_at_alpha_infinity_every_bin_contributes_the_same_number(pool):
    (_, first, _), _ = run(pool, pacing=pacing_named(lambda i, n: math.inf))
    assert first.samples[0].quota.tolist() == [2, 2, 1, 1]


def test_squared_error_moves_rows_to_lower_bins(pool):
    (_, first, _), _ = run(pool, hardness="squared")
    assert first.samples[0].bins.counts.tolist() == [6, 1, 0, 2]


def test_cross_entropy_is_cut_at_its_largest_value(pool):
    # -log(1 - p) of 0.9 is 2.3, and of 1 (kept away from it by 2^-23) 15.9: a quarter of that is 3.99.
    (_, first, _), _ = run(pool, hardness="cross_entropy")
    assert first.samples[0].bins.counts.tolist() == [8, 0, 0, 1]
    assert first.samples[0].bins.mean_hardness[3] == pytest.approx(23 * math.log(2), rel=1e-6)


def test_one_bin_is_random_under_bagging(pool):
    _, trained_on = run(pool, n_bins=1)
    assert trained_on == [[drawn_by_hand([list(range(9))], [6], i)] for i in (0, 1, 2)]


def test_each_pool_is_drawn_from_by_itself():
    table = InMemoryTable(np.arange(12.0).reshape(-1, 1))
    pools = [
        MemoryPool(table, np.arange(5, dtype=np.uint32), own_class=0, seed=SEED),
        MemoryPool(table, np.arange(5, 9, dtype=np.uint32), own_class=0, seed=SEED),
    ]
    fit = lambda drawn: TableModel(PROBABILITIES[0])  # noqa: E731
    steps = list(self_paced(pools, 3, fit, hardness_named("absolute"), tangent, 2, 4))
    assert [[len(sample.rows) for sample in step.samples] for step in steps] == [[3, 3]] * 3
    assert [sample.bins.counts.tolist() for sample in steps[1].samples] == [[4, 1, 0, 0], [0, 1, 1, 2]]
