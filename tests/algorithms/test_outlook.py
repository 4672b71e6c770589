"""Foresight: no bin is ever asked for more than was foreseen."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from selfpaced.algorithms import Outlook, allocate, with_uniform_share

counts = st.integers(0, 300)


@given(
    bins=st.lists(st.tuples(counts, counts, st.floats(0, 1)), min_size=1, max_size=12),
    n_draw=st.integers(1, 400),
    alpha=st.sampled_from([0.0, 1e-9, 0.05, 0.5, 3.0, 1e9, float("inf")]),
    share=st.sampled_from([0.0, 0.3, 0.9]),
)
@settings(max_examples=600, deadline=None)
def test_whatever_rows_come_the_quota_stays_within_what_was_foreseen(bins, n_draw, alpha, share):
    seen, more, place = (np.array(values) for values in zip(*bins, strict=True))
    edges = np.linspace(0, 1, len(bins) + 1)
    final = seen + more
    # The mean hardness of the rows in the end: anywhere between the edges of the bin.
    hardness = np.maximum(edges[:-1] + place * (edges[1:] - edges[:-1]), 2.0**-40)
    weight = 1 / (hardness + alpha)
    quota = allocate(with_uniform_share(weight, final, share) if share else weight, final, n_draw)
    most = Outlook(1, n_draw, alpha, share).most_drawn(edges, seen, int(final.sum()))
    assert np.all(quota <= most)


def test_with_one_bin_all_rows_come_from_it():
    assert Outlook(1, 50, 0.5).most_drawn([0, 1], [1000], 1000).tolist() == [50]


def test_before_any_row_is_seen_every_bin_may_be_asked_for_all():
    assert Outlook(1, 50, 0.5).most_drawn([0, 0.5, 1], [0, 0], 100).tolist() == [50, 50]


def test_at_infinite_alpha_bins_share_alike():
    most = Outlook(1, 90, np.inf).most_drawn([0, 0.3, 0.6, 1], [1000, 1000, 1000], 3000)
    assert most.tolist() == [31, 31, 31]
