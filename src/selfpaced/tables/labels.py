"""Labels of any kind as small whole numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.pools.keys import Ids

ROWS_AT_ONCE = 2**18
MOST_LABELS = 250  # on files and clusters a class number is a byte, and some bytes have other uses


@dataclass(frozen=True)
class ClassCounts:
    """The classes in sorted order, and how many rows each has."""

    classes: NDArray[Any]
    counts: NDArray[np.int64]

    @property
    def names(self) -> list[Any]:
        """The classes as plain Python values, as a person would write them."""
        names: list[Any] = self.classes.tolist()
        return names

    @property
    def rarest(self) -> int:
        """The number of the smallest class; of equally small ones the last, with two the usual positive one."""
        return self.counts.size - 1 - int(self.counts[::-1].argmin())


@dataclass(frozen=True)
class Labels(ClassCounts):
    """The same with the number of each row's class."""

    codes: NDArray[np.unsignedinteger]

    def ids(self, class_number: int) -> Ids:
        """The positions of the rows of a class: four bytes a row while they suffice."""
        return np.flatnonzero(self.codes == class_number).astype(np.min_scalar_type(self.codes.size))


def encode_labels(y: NDArray[Any], classes: NDArray[Any] | None = None) -> Labels:
    """Number the classes of `y` in sorted order. Chunks keep the memory at a byte or two per row.

    >>> labels = encode_labels(np.array(["ok", "fraud", "ok"]))
    >>> labels.classes.tolist(), labels.counts.tolist(), labels.codes.tolist()
    (['fraud', 'ok'], [1, 2], [1, 0, 1])
    """
    if classes is None:
        classes = np.unique(y)
    codes = np.empty(y.size, dtype=np.min_scalar_type(classes.size))
    counts = np.zeros(classes.size, dtype=np.int64)
    for start in range(0, y.size, ROWS_AT_ONCE):
        some = slice(start, start + ROWS_AT_ONCE)
        numbers = np.searchsorted(classes, y[some])
        codes[some] = numbers
        counts += np.bincount(numbers, minlength=classes.size)[: classes.size]
    return Labels(classes, counts, codes)
