"""Keys: hashes of id, seed and round, by which rows are drawn."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.unsignedinteger]
Keys = NDArray[np.uint64]

GOLDEN_GAMMA = 0x9E3779B97F4A7C15
FIRST_MULTIPLIER = 0xBF58476D1CE4E5B9
SECOND_MULTIPLIER = 0x94D049BB133111EB
LARGEST_KEY = 2**64 - 1


class RowsInBins(Protocol):
    """Rows that may be drawn; `found` counts those of each bin."""

    def found(self, n_bins: int) -> NDArray[np.int64]: ...


Found = TypeVar("Found", bound=RowsInBins)


def mix(*numbers: int) -> int:
    """One 64-bit number from several, each of them scattered over all bits.

    >>> mix(0, 1) != mix(1, 0)
    True
    """
    state = 0
    for number in numbers:
        state = _scattered(state + number + GOLDEN_GAMMA)
    return state


def _scattered(state: int) -> int:
    state &= LARGEST_KEY
    state = ((state ^ (state >> 30)) * FIRST_MULTIPLIER) & LARGEST_KEY
    state = ((state ^ (state >> 27)) * SECOND_MULTIPLIER) & LARGEST_KEY
    return state ^ (state >> 31)


def row_key(number: int, seed: int, round_number: int) -> int:
    """The key of one row, as `row_keys` gives it.

    >>> row_key(7, 0, 1) == int(row_keys(np.array([7]), 0, 1)[0])
    True
    """
    return _scattered(number * GOLDEN_GAMMA + mix(seed, round_number) + GOLDEN_GAMMA)


def row_keys(ids: Ids, seed: int, round_number: int) -> Keys:
    """The key of every row, in place on one array: a pass over a billion rows hashes them all."""
    keys = ids.astype(np.uint64)
    keys *= np.uint64(GOLDEN_GAMMA)
    keys += np.uint64((mix(seed, round_number) + GOLDEN_GAMMA) & LARGEST_KEY)
    high = np.empty_like(keys)
    for shift, multiplier in ((30, FIRST_MULTIPLIER), (27, SECOND_MULTIPLIER)):
        np.right_shift(keys, np.uint64(shift), out=high)
        keys ^= high
        keys *= np.uint64(multiplier)
    np.right_shift(keys, np.uint64(31), out=high)
    keys ^= high
    return keys


def ids_under(limit: int, ids: Ids) -> Ids:
    """The ids whose keys are not above a limit: all copies of an id, or none."""
    return ids[row_keys(ids, 0, 0) <= np.uint64(limit)]


def bootstrap(ids: Ids, n_rows: int, seed: int, round_number: int) -> Ids:
    """`n_rows` of the ids, drawn with replacement: number r is the one that key r points at.

    >>> bootstrap(np.array([3, 5, 8]), n_rows=6, seed=0, round_number=1).tolist()
    [3, 3, 8, 3, 3, 5]
    """
    keys = row_keys(np.arange(n_rows, dtype=np.uint64), seed, round_number)
    # The remainder favours some ids by one part in 2**64 / ids.size.
    drawn: Ids = ids[keys % np.uint64(ids.size)]
    return drawn


def key_limits(quota: Sequence[float], counts: Sequence[float], slack: float = 1.0) -> Keys:
    """For each bin a key that, very likely, at least `quota` of its rows stay below, and not many more.

    Keys are uniform, so the number of rows below a limit is close to Poisson: four standard deviations above the quota
    are rarely missed.
    """
    limits = []
    for wanted, count in zip(quota, counts, strict=True):
        expected = wanted + slack * (4 * wanted**0.5 + 8)
        limits.append(LARGEST_KEY if expected >= count else int(expected / count * 2**64))
    return np.array([limit if wanted else 0 for limit, wanted in zip(limits, quota, strict=True)], dtype=np.uint64)


def enough_under_limits(find: Callable[[Keys], Found], quota: Sequence[int], counts: Sequence[int]) -> Found:
    """What is found under key limits that let at least `quota` rows of each bin pass, or all rows of the bin.

    Limits that let too few pass are widened by twice the slack; in the end they are the largest key.
    """
    slack = 1.0
    while True:
        rows = find(key_limits(quota, counts, slack))
        if np.all(rows.found(len(quota)) >= np.minimum(quota, counts)):
            return rows
        slack *= 2


def rows_behind(bins: NDArray[np.unsignedinteger], quota: Sequence[int], counts: Sequence[int]) -> NDArray[np.float64]:
    """How many rows each drawn row stands for, by its bin.

    >>> rows_behind(np.array([0, 0, 1]), quota=[2, 5], counts=[100, 1]).tolist()
    [50.0, 50.0, 1.0]
    """
    drawn = np.maximum(np.minimum(quota, counts), 1)
    behind: NDArray[np.float64] = (np.asarray(counts) / drawn)[bins]
    return behind


def smallest_keys(keys: Keys, bins: NDArray[np.unsignedinteger], quota: Sequence[int]) -> NDArray[np.intp]:
    """Where the `quota[b]` smallest keys of every bin b stand."""
    by_bin_and_key = np.lexsort((keys, bins))
    sorted_bins = bins[by_bin_and_key]
    rank_in_bin = np.arange(keys.size) - np.searchsorted(sorted_bins, sorted_bins, side="left")
    drawn: NDArray[np.intp] = by_bin_and_key[rank_in_bin < np.asarray(quota)[sorted_bins]]
    return drawn


# Round numbers of draws that belong to no round of a fit, so that they share no keys with one: a fit counts its rounds
# from 0, and cannot have 2**32 members. The numbers must stay, so that seeds draw the same rows.
HOLDOUT_ROUND = 2**32
TABLE_SAMPLE_ROUND = 2**33
CALIBRATION_SAMPLE_ROUND = 2**33 + 1
WORKING_SAMPLE_ROUND = 2**33 + 2
RECIPE_FOLDS_ROUND = 2**33 + 3
# The folds of member i are drawn in round FOLDS_ROUND + i: no number above is free.
FOLDS_ROUND = 2**34
