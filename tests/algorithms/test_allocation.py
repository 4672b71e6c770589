import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfpaced.algorithms import allocate, with_uniform_share

bins = st.lists(
    st.tuples(st.floats(0, 1e12) | st.floats(1e-17, 1e-15), st.integers(0, 10**9)),
    min_size=1,
    max_size=30,
)


@given(bins, st.integers(0, 10**10))
def test_the_quotas_add_up_to_the_asked_number_or_to_all_there_is(bins, total):
    weight, room = zip(*bins, strict=True)
    assert allocate(weight, room, total).sum() == min(total, sum(room))


@given(bins, st.integers(0, 10**10))
def test_no_bin_gives_more_than_it_has(bins, total):
    weight, room = zip(*bins, strict=True)
    quota = allocate(weight, room, total)
    assert np.all(quota >= 0)
    assert np.all(quota <= room)


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=20), st.integers(0, 10**6))
def test_with_room_for_all_every_bin_is_within_one_row_of_its_exact_share(weight, total):
    quota = allocate(weight, [10**9] * len(weight), total)
    exact = total * np.array(weight) / sum(weight)
    assert np.all(np.abs(quota - exact) < 1 + 1e-6)


@given(st.lists(st.tuples(st.floats(0.01, 100), st.integers(1, 50)), min_size=2, max_size=10), st.integers(1, 200))
def test_bins_that_are_not_full_share_in_proportion_to_their_weights(bins, total):
    weight, room = map(np.array, zip(*bins, strict=True))
    quota = allocate(weight, room, total)
    unfilled = quota < room - 1
    if unfilled.sum() >= 2:
        rows_per_weight = quota[unfilled] / weight[unfilled]
        slack = 1 / weight[unfilled]
        assert np.all(rows_per_weight - slack <= (rows_per_weight + slack).min() + 1e-6)


def test_a_bin_too_small_for_its_share_gives_the_rest_to_the_others():
    assert allocate([8, 1, 1], room=[2, 100, 100], total=12).tolist() == [2, 5, 5]


def test_filling_one_bin_can_fill_the_next():
    assert allocate([8, 4, 1], room=[2, 3, 100], total=20).tolist() == [2, 3, 15]


def test_the_largest_remainders_get_the_missing_rows():
    assert allocate([0.5, 0.3, 0.2], room=[10, 10, 10], total=4).tolist() == [2, 1, 1]


def test_equal_remainders_are_served_in_the_order_of_the_bins():
    assert allocate([1, 1, 1], room=[9, 9, 9], total=4).tolist() == [2, 1, 1]


@pytest.mark.parametrize("weight_of_the_empty_bin", [np.nan, 0.0, 1e300])
def test_an_empty_bin_takes_no_part_whatever_its_weight(weight_of_the_empty_bin):
    assert allocate([weight_of_the_empty_bin, 1, 1], room=[0, 10, 10], total=6).tolist() == [0, 3, 3]


def test_a_uniform_share_follows_the_number_of_rows_and_the_rest_the_weights():
    assert with_uniform_share([1, 1, 5], [10, 90, 0], 0.2).round(6).tolist() == [0.42, 0.58, 0]


def test_weights_that_all_vanish_count_as_equal():
    assert allocate([0, 0], room=[10, 10], total=6).tolist() == [3, 3]


def test_nothing_is_given_when_nothing_is_there():
    assert allocate([1, 1], room=[0, 0], total=5).tolist() == [0, 0]
