"""Allocation: whole numbers of rows to draw from each bin."""

import numpy as np
from numpy.typing import ArrayLike, NDArray


def allocate(weight: ArrayLike, room: ArrayLike, total: int) -> NDArray[np.int64]:
    """Share `total` rows among bins in proportion to `weight`, no bin above its `room`.

    A bin that is too small for its share gives all its rows, and the others share the rest in proportion. An empty bin
    gives none, whatever its weight. The shares are integers that add up to `total`, or to all rows if there are fewer.

    >>> allocate([3, 1, 1], room=[100, 100, 100], total=11).tolist()
    [7, 2, 2]
    >>> allocate([3, 1, 1], room=[2, 100, 0], total=11).tolist()
    [2, 9, 0]
    """
    room = np.asarray(room, dtype=np.int64)
    total = min(total, int(room.sum()))
    shares = proportional_shares(np.asarray(weight, dtype=np.float64), room, total)
    return _largest_remainder(shares, total)


def with_uniform_share(weight: ArrayLike, counts: ArrayLike, share: float) -> NDArray[np.float64]:
    """Weights by which the given share of the draw is uniform over all rows, and the rest follows `weight`.

    >>> with_uniform_share([3, 1], counts=[100, 900], share=0.5).tolist()
    [0.425, 0.575]
    """
    filled = np.asarray(counts) > 0
    mixed = np.zeros(filled.size)
    if filled.any():
        by_weight, by_rows = (_normalised(np.asarray(each, dtype=np.float64)[filled]) for each in (weight, counts))
        mixed[filled] = (1 - share) * by_weight + share * by_rows
    return mixed


def proportional_shares(weight: NDArray[np.float64], room: NDArray[np.int64], total: int) -> NDArray[np.float64]:
    """Real-valued shares: proportional to weight in every bin that is not full."""
    shares = room.astype(np.float64)
    open_bins = room > 0
    while open_bins.any():
        left = total - int(room[~open_bins].sum())
        offered = left * _normalised(weight[open_bins])
        shares[open_bins] = offered
        overfull = np.flatnonzero(open_bins)[offered > room[open_bins]]
        if overfull.size == 0:
            break
        shares[overfull] = room[overfull]
        open_bins[overfull] = False
    return shares


def _normalised(weight: NDArray[np.float64]) -> NDArray[np.float64]:
    # All weights are 0 if alpha is infinite. In the limit of 1 / (h + alpha) all bins have the same weight.
    if not weight.any():
        return np.full(weight.size, 1 / weight.size)
    shares: NDArray[np.float64] = weight / weight.sum()
    return shares


def _largest_remainder(shares: NDArray[np.float64], total: int) -> NDArray[np.int64]:
    """Round down, then add the missing rows to the largest remainders; equal ones in the order of the bins."""
    whole = np.floor(shares).astype(np.int64)
    missing = total - int(whole.sum())
    by_remainder = np.argsort(whole - shares, kind="stable")
    whole[by_remainder[:missing]] += 1
    return whole
