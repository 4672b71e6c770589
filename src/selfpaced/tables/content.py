"""What differs between the rows of two tables on a cluster: a sum of hashes of the rows.

The sum does not depend on the order of the rows or on their partitions, and neither does a model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.pools.blocks import Block
from selfpaced.pools.keys import LARGEST_KEY, Keys, mix, row_keys
from selfpaced.pools.rows import Rows
from selfpaced.tables.memory import is_frame

ROWS_AT_ONCE = 2**16
MISSING = np.uint64(0x7FF8000000000000)  # one of the bit patterns of NaN, for all of them


@dataclass(frozen=True)
class ContentSum:
    """The sum of 64-bit hashes of rows: of all values that a fit may use, with their types, and of id and class."""

    def __call__(self, block: Block) -> int:
        sums = []
        for start in range(0, block.tags.ids.size, ROWS_AT_ONCE):
            some = np.arange(start, min(start + ROWS_AT_ONCE, block.tags.ids.size))
            sums.append(int(_hashes(block.take(some), block.tags.classes[some]).sum(dtype=np.uint64)))
        return self.merge(sums)

    @staticmethod
    def merge(sums: Sequence[int]) -> int:
        return sum(sums) & LARGEST_KEY


def _hashes(rows: Rows, classes: NDArray[np.uint8]) -> Keys:
    hashes = row_keys(np.asarray(rows.ids), 0, 0)
    for number, values in enumerate(_columns(rows, classes)):
        salt = mix(*values.dtype.str.encode())
        hashes = row_keys(hashes ^ _bits(values), number, salt)
    return hashes


def _columns(rows: Rows, classes: NDArray[np.uint8]) -> Iterator[NDArray[Any]]:
    yield classes
    for name in sorted(rows.metadata):
        yield np.asarray(rows.metadata[name])
    features = rows.features
    for position in range(features.shape[1]):
        yield _values(features.iloc[:, position]) if is_frame(features) else features[:, position]


def _values(column: Any) -> NDArray[Any]:
    """Of a categorical column the numbers of the categories, which are in the schema."""
    return np.asarray(column.cat.codes if column.dtype == "category" else column)


def _bits(values: NDArray[Any]) -> Keys:
    if values.dtype.kind == "f":
        exact = values.astype(np.float64)
        return np.where(np.isnan(exact), MISSING, exact.view(np.uint64))
    if values.dtype.kind not in "iub":
        raise TypeError(f"Values of type {values.dtype} cannot be compared with those of another table.")
    return values.astype(np.int64 if values.dtype.kind == "i" else np.uint64).view(np.uint64)
