"""Which rows of a table are tested on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from contest.table import Data, Labels, Order

TEST_SHARE = 0.3
MOST_TEST_SHARE = 0.35
SMALL_TABLE = 20_000
SPLITS_OF_SMALL = 5
SPLITS_OF_LARGE = 3


def n_splits(n_rows: int) -> int:
    return SPLITS_OF_SMALL if n_rows < SMALL_TABLE else SPLITS_OF_LARGE


def held_out_rows(data: Data, split: int, order: Order) -> NDArray[np.bool_]:
    """A mask of the test rows: stratified at random, the last ones by time, or those of some groups.

    In the order of time there is only one way to split, so all splits are the same: only the methods' seed differs.
    """
    y, is_test = data.y, np.zeros(data.y.size, dtype=bool)
    if order == "groups":
        assert data.groups is not None
        return _of_some_groups(y, data.groups, split)
    if order == "time":
        is_test[round(y.size * (1 - TEST_SHARE)) :] = True
    else:
        _, rows = train_test_split(np.arange(y.size), test_size=TEST_SHARE, stratify=y, random_state=split)
        is_test[rows] = True
    return is_test


def _of_some_groups(y: Labels, groups: NDArray[np.int64], split: int) -> NDArray[np.bool_]:
    """Rows of groups drawn at random: about 30% of the rows of groups with rare rows, and about 30% of the others.

    A group that would make it more than 35% is passed over, so that one giant group does not make up the test.
    """
    rng, sizes = np.random.default_rng(split), np.bincount(groups)
    has_rare = np.bincount(groups, weights=y) > 0
    is_tested = np.zeros(sizes.size, dtype=bool)
    for some in (np.flatnonzero(has_rare), np.flatnonzero(~has_rare & (sizes > 0))):
        n_rows, n_tested = sizes[some].sum(), 0
        for group in rng.permutation(some):
            if n_tested < TEST_SHARE * n_rows and n_tested + sizes[group] <= MOST_TEST_SHARE * n_rows:
                is_tested[group] = True
                n_tested += sizes[group]
    return is_tested[groups]
