"""Which rows of a table are tested on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from contest.table import Labels, Order

TEST_SHARE = 0.3
SMALL_TABLE = 20_000
SPLITS_OF_SMALL = 5
SPLITS_OF_LARGE = 3


def n_splits(n_rows: int) -> int:
    return SPLITS_OF_SMALL if n_rows < SMALL_TABLE else SPLITS_OF_LARGE


def held_out_rows(y: Labels, split: int, order: Order) -> NDArray[np.bool_]:
    """A mask of the test rows: stratified at random, or the last ones by time.

    In the order of time there is only one way to split, so all splits are the same: only the methods' seed differs.
    """
    is_test = np.zeros(y.size, dtype=bool)
    if order == "time":
        is_test[round(y.size * (1 - TEST_SHARE)) :] = True
    else:
        _, rows = train_test_split(np.arange(y.size), test_size=TEST_SHARE, stratify=y, random_state=split)
        is_test[rows] = True
    return is_test
