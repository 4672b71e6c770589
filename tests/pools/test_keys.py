import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfpaced.pools import LARGEST_KEY, bootstrap, mix, row_keys
from selfpaced.pools.keys import key_limits, smallest_keys


def splitmix64(state, n):
    """The published generator, number by number."""
    for _ in range(n):
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % 2**64
        yield z ^ (z >> 31)


def test_mix_gives_the_published_first_output_of_seed_zero():
    assert mix(0) == 0xE220A8397B1DCDAF


def test_the_keys_of_rows_in_order_are_the_outputs_of_splitmix64():
    keys = row_keys(np.arange(1000, dtype=np.uint32), seed=3, round_number=5)
    assert keys.tolist() == list(splitmix64(mix(3, 5), 1000))


@given(st.lists(st.integers(0, 2**64 - 1), unique=True, max_size=50), st.integers(0, 2**64 - 1), st.integers(0, 1000))
def test_different_rows_have_different_keys(ids, seed, round_number):
    keys = row_keys(np.array(ids, dtype=np.uint64), seed, round_number)
    assert len(set(keys.tolist())) == len(ids)


@given(st.permutations(list(range(20))))
def test_the_key_of_a_row_does_not_depend_on_its_neighbours(order):
    ids = np.array(order, dtype=np.uint16)
    assert np.array_equal(row_keys(ids, 1, 2), row_keys(np.arange(20, dtype=np.uint64), 1, 2)[order])


def test_the_ids_are_left_as_they_are():
    ids = np.arange(10, dtype=np.uint64)
    row_keys(ids, 1, 2)
    assert np.array_equal(ids, np.arange(10))


@pytest.mark.parametrize("others", [(2, 1), (1, 3)])
def test_another_seed_or_round_gives_unrelated_keys(others):
    ids = np.arange(10_000, dtype=np.uint32)
    one, other = row_keys(ids, 1, 2) / 2.0**64, row_keys(ids, *others) / 2.0**64
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.05


def test_keys_are_spread_evenly():
    keys = row_keys(np.arange(100_000, dtype=np.uint32), 0, 0)
    tenths = np.bincount((keys / 2.0**64 * 10).astype(int), minlength=10)
    assert np.all(np.abs(tenths - 10_000) < 5 * np.sqrt(10_000))


def test_a_limit_lets_a_little_more_than_the_quota_pass():
    keys = row_keys(np.arange(1_000_000, dtype=np.uint32), 1, 1)
    passed = int((keys <= key_limits([1000], [1_000_000])[0]).sum())
    assert 1000 <= passed <= 1300


def test_a_small_bin_passes_whole():
    assert key_limits([5], [10]).tolist() == [LARGEST_KEY]


def test_a_bin_without_quota_passes_nothing():
    assert key_limits([0], [10**6]).tolist() == [0]


def test_enough_slack_lets_everything_pass():
    assert key_limits([10], [10**9], slack=1e9).tolist() == [LARGEST_KEY]


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 2**64 - 1)), min_size=1, max_size=60, unique_by=lambda r: r[1]
    ),
    st.lists(st.integers(0, 20), min_size=4, max_size=4),
)
def test_the_smallest_keys_of_each_bin_are_found(rows, quota):
    bins = np.array([bin_number for bin_number, _ in rows], dtype=np.uint8)
    keys = np.array([key for _, key in rows], dtype=np.uint64)
    found = set(smallest_keys(keys, bins, quota).tolist())
    for number in range(4):
        in_order = sorted(np.flatnonzero(bins == number).tolist(), key=lambda row: keys[row])
        assert found & set(in_order) == set(in_order[: quota[number]])


def test_a_bootstrap_draws_every_row_about_equally_often():
    ids = np.arange(10, 20, dtype=np.uint32)
    times = np.bincount(bootstrap(ids, 100_000, seed=0, round_number=0))[10:]
    assert times.size == 10
    assert np.abs(times - 10_000).max() < 4 * np.sqrt(10_000)


def test_a_bootstrap_of_another_seed_or_round_differs():
    ids = np.arange(1000)
    draws = [bootstrap(ids, 1000, seed, number).tolist() for seed, number in [(0, 0), (0, 1), (1, 0)]]
    assert draws[0] != draws[1] != draws[2] != draws[0]
    assert draws[0] == bootstrap(ids, 1000, 0, 0).tolist()
