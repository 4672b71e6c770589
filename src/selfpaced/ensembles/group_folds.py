"""Parts of rows for cross-fitting: stratified by class, and with all rows of a group in one part."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from selfpaced.pools.keys import Keys, row_keys


def stratified_parts(keys: Keys, y: NDArray[np.integer], n_parts: int) -> NDArray[np.intp]:
    """A part for each row, by the order of the keys in its class: all parts have equally many rows of each class."""
    by_class_and_key = np.lexsort((keys, y))
    part_of = np.empty(y.size, dtype=np.intp)
    part_of[by_class_and_key] = np.arange(y.size) - np.searchsorted(np.sort(y), np.sort(y))
    return part_of % n_parts


def parts_of_groups(
    groups: NDArray[np.uint64], y: NDArray[np.integer], seed: int, round_number: int, n_parts: int
) -> NDArray[np.intp]:
    """A part for each row, the same for all rows of a group: all parts have equally many groups with rare rows.

    >>> groups = np.array([5, 5, 6, 6, 7, 8], dtype=np.uint64)
    >>> parts_of_groups(groups, np.array([0, 1, 0, 1, 0, 0]), seed=0, round_number=1, n_parts=2).tolist()
    [0, 0, 1, 1, 0, 1]
    """
    names, group_of = np.unique(groups, return_inverse=True)
    # A group belongs to the rarest of the classes of its rows.
    by_size = np.argsort(np.argsort(np.bincount(y)))
    rank = np.full(names.size, by_size.size)
    np.minimum.at(rank, group_of, by_size[y])
    parts: NDArray[np.intp] = stratified_parts(row_keys(names, seed, round_number), rank, n_parts)[group_of]
    return parts
