"""The shortlist of a stream: no more rows than may be drawn, and all of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from selfpaced.algorithms import Outlook, allocate
from selfpaced.pools.keys import smallest_keys
from selfpaced.pools.streamed import SmallestKeys as Shortlist


class Numbers:
    """A table of which nothing but the keys is kept."""

    def joined(self, kept):
        return np.concatenate(kept)

    def picked(self, kept, positions):
        return kept[positions]

    def rows(self, kept, stands_for=None):
        return np.sort(kept)


def shortlisted(keys, hardness, n_bins, outlook, batch_rows):
    """What a pass over rows of some hardness keeps, and how large the list ever was."""
    shortlist = Shortlist(Numbers(), n_bins)
    edges = np.linspace(0, 1, n_bins + 1)
    bins = np.minimum((hardness * n_bins).astype(int), n_bins - 1)
    largest = 0
    for start in range(0, keys.size, batch_rows):
        some = slice(start, start + batch_rows)
        under = keys[some] <= shortlist.limits.take(bins[some])
        shortlist.add(keys[some][under], bins[some][under], keys[some][under])
        counts = np.bincount(bins[: start + batch_rows], minlength=n_bins)
        shortlist.narrow(lambda counts=counts: outlook.most_drawn(edges, counts, keys.size))
        largest = max(largest, shortlist._size)
    counts = np.bincount(bins, minlength=n_bins)
    sums = np.bincount(bins, weights=hardness, minlength=n_bins)
    mean = np.divide(sums, counts, out=np.full(n_bins, np.nan), where=counts > 0)
    quota = allocate(1 / (mean + outlook.alpha), counts, outlook.n_draw)
    drawn = shortlist.drawn(quota.tolist(), counts.tolist())
    return drawn, np.sort(keys[smallest_keys(keys, bins, quota.tolist())]), largest


@given(
    seed=st.integers(0, 10**6),
    n_rows=st.integers(1, 3000),
    n_bins=st.integers(1, 30),
    n_draw=st.integers(1, 200),
    alpha=st.sampled_from([1e-6, 0.1, 1.0, 30.0, np.inf]),
    batch_rows=st.integers(1, 1000),
    skew=st.sampled_from([0.2, 1.0, 8.0]),
)
@settings(max_examples=150, deadline=None)
def test_the_rows_drawn_are_always_on_the_shortlist(seed, n_rows, n_bins, n_draw, alpha, batch_rows, skew):
    rng = np.random.default_rng(seed)
    hardness = np.maximum(rng.random(n_rows) ** skew, 1e-9)
    keys = rng.integers(2**64, size=n_rows, dtype=np.uint64)
    drawn, expected, _ = shortlisted(keys, hardness, n_bins, Outlook(1, n_draw, alpha), batch_rows)
    np.testing.assert_array_equal(drawn, expected)


@pytest.mark.parametrize("alpha", [0.1, 1.0, 10.0])
def test_the_shortlist_stays_a_few_times_as_long_as_the_draw(alpha):
    rng = np.random.default_rng(0)
    hardness = np.maximum(rng.random(300_000) ** 8, 1e-9)
    keys = rng.integers(2**64, size=hardness.size, dtype=np.uint64)
    _, _, largest = shortlisted(keys, hardness, 20, Outlook(1, 1000, alpha), 2000)
    assert largest < 6 * 1000
