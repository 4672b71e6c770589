import threading
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfpaced.scoring import over_chunks


@given(st.integers(1, 200), st.integers(1, 50), st.integers(1, 3))
def test_the_chunks_cover_all_rows_once_and_in_order(n_rows, chunk_rows, n_threads):
    rows = over_chunks(lambda start, stop: list(range(start, stop)), n_rows, chunk_rows, n_threads)
    assert list(chain(*rows)) == list(range(n_rows))
    assert all(len(chunk) <= chunk_rows for chunk in rows)


def test_one_thread_works_where_it_was_called():
    assert set(over_chunks(lambda *_: threading.get_ident(), 100, 10, 1)) == {threading.get_ident()}


def test_several_threads_work_at_the_same_time():
    both_are_here = threading.Barrier(2, timeout=10)
    over_chunks(lambda *_: both_are_here.wait(), 2, 1, 2)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_error_in_a_chunk_comes_out_and_drops_the_chunks_not_begun(n_threads):
    begun = []

    def work(start, stop):
        begun.append(start)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        over_chunks(work, 1000, 1, n_threads)
    assert len(begun) < 1000
