"""Alerts for a limited capacity: the best rows of each period, and at most one of each group."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def best_rows(
    values: NDArray[np.floating],
    n_rows: int,
    *,
    among: NDArray[np.bool_] | None = None,
    periods: NDArray[Any] | None = None,
    groups: NDArray[Any] | None = None,
) -> NDArray[np.bool_]:
    """The rows with the highest values: `n_rows` of each period, with at most one of each group.

    Parameters
    ----------
    values : NDArray[np.floating]
        The values that rank rows, such as scores. Among equal values the first rows are taken.
    n_rows : int
        The number of rows of each period.
    among : NDArray[np.bool_] | None, default=None
        Which rows may be taken; by default all.
    periods : NDArray[Any] | None, default=None
        The period of each row, such as its day; by default all rows are in one period.
    groups : NDArray[Any] | None, default=None
        The group of each row, such as its card; by default every row is its own group.

    >>> best_rows(np.array([0.9, 0.8, 0.7, 0.1]), 2, groups=np.array(["a", "a", "b", "c"])).tolist()
    [True, False, True, False]
    """
    candidates = np.arange(values.size) if among is None else np.flatnonzero(among)
    period_of = np.zeros(candidates.size, dtype=np.intp) if periods is None else _numbers(periods[candidates])
    order = np.lexsort((-values[candidates], period_of))
    candidates, period_of = candidates[order], period_of[order]
    if groups is not None and candidates.size:
        pairs = np.stack([period_of, _numbers(groups[candidates])], axis=1)
        firsts = np.sort(np.unique(pairs, axis=0, return_index=True)[1])
        candidates, period_of = candidates[firsts], period_of[firsts]
    rank = np.arange(candidates.size) - np.searchsorted(period_of, period_of)
    chosen = np.zeros(values.size, dtype=bool)
    chosen[candidates[rank < n_rows]] = True
    return chosen


def _numbers(values: NDArray[Any]) -> NDArray[np.intp]:
    return np.asarray(np.unique(values, return_inverse=True)[1])
