"""Ids that occur more than once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import TableError
from selfpaced.pools.keys import LARGEST_KEY

IDS_LOOKED_AT = 2**17


def keys_looked_at(n_rows: int) -> int:
    """The largest key that is checked: all keys of a small table, about 100,000 of a large one.

    The key of an id decides whether it is checked, so either all copies of an id are checked or none.
    """
    return LARGEST_KEY if n_rows <= IDS_LOOKED_AT else int(IDS_LOOKED_AT / n_rows * LARGEST_KEY)


def refuse_repeated(sorted_ids: NDArray[Any], where: str = "") -> None:
    twice = np.flatnonzero(sorted_ids[1:] == sorted_ids[:-1])
    if twice.size:
        raise TableError(f"The id {sorted_ids[twice[0]]}{where} occurs more than once. Every row needs its own id.")
