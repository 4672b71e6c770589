from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from selfpaced.algorithms import hardness_named
from selfpaced.pools import row_keys
from selfpaced.pools.chunk import BinTotals, bin_dtype, cut, doubt, mean_doubt, take_candidates
from selfpaced.pools.keys import key_limits

doubts = arrays(np.float32, st.integers(1, 60), elements=st.floats(0, 1, width=32))
ABSOLUTE = hardness_named("absolute")


def cut_all(doubts, n_bins, hardness=ABSOLUTE, top=1.0):
    bins = np.empty(doubts.size, dtype=bin_dtype(n_bins))
    return bins, cut(doubts, hardness, top, bins, n_bins)


@given(doubts, st.integers(1, 300))
def test_a_row_lies_in_the_bin_that_the_paper_defines(doubts, n_bins):
    bins, _ = cut_all(doubts, n_bins)
    for hardness, number in zip(doubts.tolist(), bins.tolist(), strict=True):
        assert Fraction(number, n_bins) <= Fraction(hardness)
        assert Fraction(hardness) < Fraction(number + 1, n_bins) or (number == n_bins - 1 and hardness == 1)


@given(doubts, st.integers(1, 30), st.lists(st.integers(0, 60), max_size=5))
def test_the_totals_do_not_depend_on_chunks(doubts, n_bins, edges):
    _, whole = cut_all(doubts, n_bins)
    parts = [part for part in np.split(doubts, sorted(min(edge, doubts.size) for edge in edges)) if part.size]
    totals = [cut_all(part, n_bins)[1] for part in parts]
    assert BinTotals.summed(totals) == whole
    assert BinTotals.summed(totals[::-1]) == whole


@given(doubts)
def test_the_mean_hardness_is_exact_to_half_a_unit(doubts):
    _, totals = cut_all(doubts, 1)
    assert abs(totals.as_bins(1.0).mean_hardness[0] - doubts.astype(np.float64).mean()) <= 2**-32


def test_blocks_of_a_long_chunk_are_put_together():
    """A block has 2**20 rows."""
    doubts = np.random.default_rng(0).uniform(size=2**20 + 1001).astype(np.float32)
    bins, totals = cut_all(doubts, 7)
    parts = [cut_all(part, 7) for part in np.split(doubts, 3)]
    assert np.array_equal(bins, np.concatenate([part for part, _ in parts]))
    assert totals == BinTotals.summed([part for _, part in parts])


def test_an_unbounded_hardness_is_cut_up_to_its_top():
    bins, totals = cut_all(np.float32([0, 1, 2, 4]), 4, top=4.0)
    assert bins.tolist() == [0, 1, 2, 3]
    assert totals.as_bins(4.0).mean_hardness == pytest.approx([0, 1, 2, 4], abs=1e-8)


def test_totals_of_any_size_do_not_overflow():
    many = BinTotals((10**11,), (10**11 * 2**32,))
    assert BinTotals.summed([many, many]).as_bins(1.0).mean_hardness.tolist() == [1.0]


def test_an_empty_bin_has_no_mean_hardness():
    assert np.isnan(BinTotals((0, 1), (0, 5)).as_bins(1.0).mean_hardness[0])


def test_a_bin_of_hardness_zero_still_has_a_finite_weight():
    assert BinTotals((3,), (0,)).as_bins(1.0).mean_hardness[0] > 0


@pytest.mark.parametrize(("n_bins", "bytes_per_row"), [(1, 1), (256, 1), (257, 2), (65536, 2)])
def test_bins_are_numbered_in_as_few_bytes_as_suffice(n_bins, bytes_per_row):
    assert bin_dtype(n_bins).itemsize == bytes_per_row


def test_doubt_of_two_classes_is_the_probability_of_the_other_one():
    probabilities = np.array([[0.9, 0.1], [0.25, 0.75]])
    assert doubt(probabilities, own_class=0).tolist() == pytest.approx([0.1, 0.75])
    assert doubt(probabilities, own_class=1).tolist() == pytest.approx([0.9, 0.25])


def test_doubt_of_three_classes_is_what_the_own_class_does_not_get():
    assert doubt(np.array([[0.5, 0.3, 0.2]]), own_class=1).tolist() == pytest.approx([0.7])


def test_doubts_stay_between_zero_and_one():
    assert doubt(np.array([[-1e-9, 1 + 1e-6]]), own_class=0).tolist() == [1.0]


def test_a_model_that_predicts_nan_is_refused():
    with pytest.raises(ValueError, match="predicted NaN as a probability"):
        doubt(np.array([[0.5, 0.5], [np.nan, np.nan]]), own_class=0)


def test_the_running_mean_is_the_sum_over_the_number_of_models():
    assert mean_doubt(np.float32([1.5, 0]), 3).tolist() == [0.5, 0]


def test_candidates_are_the_rows_under_the_limit_of_their_bin():
    ids = np.arange(1000, dtype=np.uint32)
    bins = (ids % 2).astype(np.uint8)
    limits = key_limits([10, 0], [500, 500])
    found = take_candidates(ids, bins, limits, seed=1, round_number=2)
    keys = row_keys(ids, 1, 2)
    assert found.ids.tolist() == ids[(keys <= limits[0]) & (bins == 0)].tolist()
    assert np.array_equal(found.keys, keys[found.ids])
