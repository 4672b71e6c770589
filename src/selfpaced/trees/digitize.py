"""The numbers of a column's values: which of its thresholds a value exceeds, or which category it is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

CELLS_PER_THRESHOLD, FEWEST_CELLS, MOST_CELLS = 2**5, 2**8, 2**12
# More thresholds than this in one cell are rare (a spike at zero, an outlier), and then a binary search does it.
MOST_IN_A_CELL = 4


class Digitizer:
    """Numbers values by the thresholds below them: 0 if there is none, and one above the last number for NaN.

    A binary search takes a wrong turn at every other step, and the processor waits. Instead a grid of equal cells is
    laid over the thresholds; a value's cell says how many thresholds lie in cells before it, and the few in its own
    cell are compared one by one. Rounding in the arithmetic of cells does no harm: it is monotone and the same for
    values and thresholds, so that a threshold in an earlier cell is certainly below.

    >>> Digitizer(np.array([1.0, 2.0]))(np.array([0.5, 1.0, 1.5, 2.5, np.nan])).tolist()
    [0, 0, 1, 2, 3]
    """

    def __init__(self, thresholds: NDArray[np.float64]) -> None:
        """`thresholds` are sorted and all different."""
        self.n_numbers = thresholds.size + 2
        self.thresholds = thresholds
        # A split of missing values from all others has an infinite threshold, which lies outside of the grid.
        finite = thresholds[np.isfinite(thresholds)]
        self._first: float = finite[0] if finite.size else 0.0
        last = finite[-1] if finite.size else 0.0
        # A grid no finer than it needs to be, so that it stays in the cache.
        self._n_cells = int(np.clip(CELLS_PER_THRESHOLD * thresholds.size, FEWEST_CELLS, MOST_CELLS))
        with np.errstate(over="ignore", divide="ignore"):
            cells_per_unit = (self._n_cells - 3) / np.float64(last - self._first)
        # Neither zero nor infinite, so that no product is NaN.
        self._cells_per_unit = np.clip(cells_per_unit, np.finfo(np.float64).tiny, np.finfo(np.float64).max)
        cell = self._cell(thresholds)
        in_cell = np.bincount(cell, minlength=self._n_cells)
        self._before = np.cumsum(in_cell) - in_cell
        self._own = np.full((in_cell.max(), self._n_cells), np.inf)
        self._own[np.arange(thresholds.size) - self._before[cell], cell] = thresholds

    def __call__(self, column: NDArray[np.float64]) -> NDArray[np.intp]:
        if not np.isnan(column.min(initial=np.inf)):  # one NaN makes the minimum NaN
            return self._exceeded(column)
        missing = np.isnan(column)
        numbers = self._exceeded(np.where(missing, self._first, column))
        numbers[missing] = self.n_numbers - 1
        return numbers

    def _exceeded(self, column: NDArray[np.float64]) -> NDArray[np.intp]:
        if len(self._own) > MOST_IN_A_CELL:
            return np.asarray(np.searchsorted(self.thresholds, column), dtype=np.intp)
        cell = self._cell(column)
        numbers: NDArray[np.intp] = self._before.take(cell)
        for thresholds in self._own:
            numbers += column > thresholds.take(cell)
        return numbers

    def _cell(self, values: NDArray[np.float64]) -> NDArray[np.intp]:
        with np.errstate(over="ignore"):  # far beyond the outermost thresholds infinity is as good as any number
            position = values - self._first
            position *= self._cells_per_unit
        position += 1
        np.maximum(position, 0, out=position)
        np.minimum(position, self._n_cells - 1, out=position)
        cells: NDArray[np.intp] = position.astype(np.intp)
        return cells


class CategoryNumbers:
    """Numbers categories by their codes, from 0. All codes that no split knows share the last number, with NaN.

    Codes are cut off to whole numbers, as gradient boosters do: 1.9 is 1, and -0.5 is 0.

    >>> CategoryNumbers(2)(np.array([0.0, 1.9, 2.0, -0.5, -1.0, np.inf, np.nan])).tolist()
    [0, 1, 2, 0, 2, 2, 2]
    """

    def __init__(self, n_known: int) -> None:
        self.n_numbers = n_known + 1

    def __call__(self, column: NDArray[np.float64]) -> NDArray[np.intp]:
        n_known = self.n_numbers - 1
        known = (column > -1) & (column < n_known)  # neither holds for NaN
        return np.asarray(np.where(known, column, n_known), dtype=np.intp)
