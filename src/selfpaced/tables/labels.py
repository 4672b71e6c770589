"""Labels of any kind as small whole numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from selfpaced.exceptions import TableError
from selfpaced.pools.keys import Ids

ROWS_AT_ONCE = 2**18
FEW_CLASSES = 20
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
        """The number of the smallest class. If several are equally small, the last: with 0 and 1 that is 1."""
        return self.counts.size - 1 - int(self.counts[::-1].argmin())

    def score_label(self, positive: Any) -> Any:
        """The label whose probability is the score: the one to separate from all others, or else the rarest."""
        return self.names[self.rarest] if positive is None else positive


@dataclass(frozen=True)
class Labels(ClassCounts):
    """The same with the number of each row's class."""

    codes: NDArray[np.unsignedinteger]

    def ids(self, class_number: int) -> Ids:
        """The positions of the rows of a class, with four bytes for each row if that is enough."""
        return np.flatnonzero(self.codes == class_number).astype(np.min_scalar_type(self.codes.size))

    def part(self, chosen: NDArray[np.bool_]) -> Labels:
        """The labels of some of the rows. Classes that have no row among them are left out."""
        codes = self.codes[chosen]
        counts = np.bincount(codes, minlength=self.classes.size)
        present = counts > 0
        numbers = (np.cumsum(present) - 1).astype(self.codes.dtype)
        return Labels(self.classes[present], counts[present].astype(np.int64), numbers[codes])

    def separated(self, positive: Any, target: str | None) -> Labels:
        """The positive label against all others, if there are more than two labels."""
        is_positive = self.classes == positive
        if not np.any(is_positive):
            raise TableError(f"No row of column {target!r} has the label {positive!r}. Its labels are {self.names}.")
        if self.classes.size <= 2:
            return self
        n_positive = int(self.counts[is_positive].sum())
        counts = np.array([int(self.counts.sum()) - n_positive, n_positive])
        return Labels(np.array([False, True]), counts, is_positive.astype(np.uint8)[self.codes])


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


def read_labels(y: Any, X: Any) -> Labels:
    """The labels that a user gave for the rows of X, as class numbers. Missing and unsortable ones are refused."""
    if y is None:
        raise ValueError("This classifier requires y to be passed, but the target y is None.")
    y = column_or_1d(y, warn=True)
    check_consistent_length(X, y)
    refuse_missing_labels(y)
    try:
        labels = encode_labels(y)
    except TypeError as error:
        kinds = sorted({type(label).__name__ for label in y.tolist()})
        raise ValueError(f"The labels in y have types that cannot be sorted together: {kinds}.") from error
    # It is enough to check the few classes. scikit-learn would sort all rows once more.
    check_classification_targets(labels.classes if labels.classes.size <= FEW_CLASSES else y)
    return labels


def refuse_missing_labels(y: NDArray[Any]) -> None:
    if y.dtype.kind in "fO":
        assert_all_finite(y, input_name="y")
    if y.dtype == object and any(label is None for label in y):
        raise ValueError("Input y contains None: every row needs a label. Drop the rows without one, or label them.")
