"""Rows that pools and scorers read at once, in chunks that a test chooses."""

from contextlib import contextmanager

import pytest

from selfpaced.pools import memory
from selfpaced.scoring import scorer


@contextmanager
def chunks_of(scored, hashed):
    """So many rows at once are scored, and have their keys computed, in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scorer, "FEWEST_ROWS_AT_ONCE", scored)
        patch.setattr(scorer, "MOST_ROWS_AT_ONCE", scored)
        patch.setattr(memory, "ROWS_HASHED_AT_ONCE", hashed)
        yield
