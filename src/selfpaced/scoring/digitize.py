"""Which of a column's thresholds a value exceeds, exactly and without branches."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

CELLS = 2**12
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
        self._thresholds = thresholds
        self._first = thresholds[0]
        with np.errstate(over="ignore", divide="ignore"):
            cells_per_unit = (CELLS - 3) / (thresholds[-1] - thresholds[0])
        # Neither zero nor infinite, so that no product is NaN.
        self._cells_per_unit = np.clip(cells_per_unit, np.finfo(np.float64).tiny, np.finfo(np.float64).max)
        cell = self._cell(thresholds)
        in_cell = np.bincount(cell, minlength=CELLS)
        self._before = np.cumsum(in_cell) - in_cell
        self._own = np.full((in_cell.max(), CELLS), np.inf)
        self._own[np.arange(thresholds.size) - self._before[cell], cell] = thresholds

    def __call__(self, column: NDArray[np.float64]) -> NDArray[np.intp]:
        if not np.isnan(column.min()):  # one NaN makes the minimum NaN
            return self._exceeded(column)
        missing = np.isnan(column)
        numbers = self._exceeded(np.where(missing, self._first, column))
        numbers[missing] = self.n_numbers - 1
        return numbers

    def _exceeded(self, column: NDArray[np.float64]) -> NDArray[np.intp]:
        if len(self._own) > MOST_IN_A_CELL:
            return np.asarray(np.searchsorted(self._thresholds, column), dtype=np.intp)
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
        np.minimum(position, CELLS - 1, out=position)
        cells: NDArray[np.intp] = position.astype(np.intp)
        return cells
