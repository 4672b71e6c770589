"""Tables in memory: one interface for arrays, sparse matrices and data frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.pools.rows import GROUP, Rows
from selfpaced.tables.kinds import KINDS, POLARS, Positions, kind_of


class InMemoryTable:
    """Features with the metadata that goes with each row. The id of a row is its position."""

    def __init__(self, features: Any, metadata: Mapping[str, Any] | None = None) -> None:
        self._kind = kind_of(features)
        self._features = self._kind.open(features)
        self._metadata = dict(metadata or {})
        self.n_rows = int(features.shape[0])
        self.bytes_per_row = max(self._kind.bytes_per_row(features), 1.0)

    @property
    def groups(self) -> NDArray[np.uint64] | None:
        """The hash of each row's group; None if the rows have no groups."""
        return self._metadata.get(GROUP)

    def with_metadata(self, metadata: Mapping[str, Any]) -> InMemoryTable:
        """The same rows with other metadata."""
        table = copy(self)
        table._metadata = dict(metadata)
        return table

    def span(self, start: int, stop: int) -> Any:
        return self._kind.span(self._features, start, stop)

    def take(self, positions: Positions) -> Any:
        return self._kind.take(self._features, positions)

    def rows(self, positions: Positions) -> Rows:
        metadata = {name: np.asarray(values)[positions] for name, values in self._metadata.items()}
        return Rows(positions, self.take(positions), metadata)


def polars_as_arrow(features: Any) -> Any:
    """A polars frame as a pyarrow table, whose rows reach base models as pandas frames; anything else as it is."""
    return features.to_arrow() if kind_of(features) is POLARS else features


def is_frame(features: Any) -> bool:
    """Whether the features are a data frame, whose columns have names and types."""
    return kind_of(features) in KINDS.values()


def not_numbers(features: Any) -> list[Any]:
    """The names of the columns of a frame that do not hold numbers; empty for an array.

    >>> import pandas as pd
    >>> not_numbers(pd.DataFrame({"amount": [1.5], "shop": ["web"]}))
    ['shop']
    """
    if not is_frame(features):
        return []
    return [name for name, column in kind_of(features).columns(features) if not column.is_number]


def float_columns(frame: Any) -> Iterator[tuple[Any, NDArray[Any]]]:
    """Name and values of each column of floats in a frame."""
    return ((name, column.floats()) for name, column in kind_of(frame).columns(frame) if column.is_float)


def float_array(frame: Any) -> NDArray[np.float64]:
    """All columns of a frame as one array; missing values are NaN. All columns must hold numbers."""
    array = np.empty(frame.shape)
    for position, (name, column) in enumerate(kind_of(frame).columns(frame)):
        if not column.is_number:
            raise ValueError(
                f"Column {name!r} of X does not hold numbers. Encode it first, for instance with OneHotEncoder, or "
                "drop it."
            )
        array[:, position] = column.floats()
    return array


def stack(blocks: Sequence[Rows]) -> Rows:
    """Several blocks of rows below each other."""
    return Rows(
        np.concatenate([block.ids for block in blocks]),
        kind_of(blocks[0].features).stack([block.features for block in blocks]),
        {name: np.concatenate([block.metadata[name] for block in blocks]) for name in blocks[0].metadata},
    )
