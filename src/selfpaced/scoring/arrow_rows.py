"""Rows of an Arrow record batch, on their way to models that read its columns without a data frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class ArrowRows:
    """A record batch in the place of an array: consecutive rows of it are cut out by a slice, without a copy."""

    batch: Any
    itemsize: int = 8

    @property
    def shape(self) -> tuple[int, int]:
        return self.batch.num_rows, self.batch.num_columns

    def __len__(self) -> int:
        return int(self.batch.num_rows)

    def __getitem__(self, some: slice) -> ArrowRows:
        start, stop, _ = some.indices(len(self))
        return ArrowRows(self.batch.slice(start, stop - start))

    def to_pandas(self) -> Any:
        return self.batch.to_pandas()


def is_dictionary(column: Any) -> bool:
    """Whether a column holds categories."""
    return hasattr(column, "dictionary")


def holds_numbers(column: Any) -> bool:
    """Whether pandas reads a column as numbers. Of booleans with missing values it makes objects."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_boolean(kind):
        return bool(column.null_count == 0)
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def codes_of(column: Any) -> NDArray[np.integer]:
    """The place of each value among the categories of its column; -1 for missing values."""
    codes = column.indices.fill_null(-1) if column.indices.null_count else column.indices
    numbers: NDArray[np.integer] = codes.to_numpy()
    return numbers
