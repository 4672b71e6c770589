"""Rows on their way from a pool to a member."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

# Under this name the metadata of rows hold the hashes of their groups. Base models do not get them.
GROUP = "__selfpaced_group__"


@dataclass(frozen=True)
class Rows:
    """Some rows: their ids, their features in the user's own kind of table, and what else goes with each of them.

    Attributes
    ----------
    metadata : per-row arguments of the base model's `fit`, such as sample_weight; and hashes of the rows' groups, if
        the rows have groups.
    stands_for : NDArray[np.float64] | None, default=None
        For rows that a pool has drawn, how many rows each stands for: the rows in its hardness bin, divided by those
        that were drawn from the bin.
    """

    ids: NDArray[np.integer]
    features: Any
    metadata: dict[str, Any]
    stands_for: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return int(self.ids.size)

    @property
    def groups(self) -> NDArray[np.uint64] | None:
        """The hash of each row's group; None if the rows have no groups."""
        return self.metadata.get(GROUP)

    @property
    def arguments(self) -> dict[str, Any]:
        """The per-row arguments of the base model's `fit`."""
        return {name: values for name, values in self.metadata.items() if name != GROUP}

    def with_ids(self, ids: NDArray[np.integer]) -> Rows:
        return replace(self, ids=ids)

    def standing_for(self, n_rows: NDArray[np.float64]) -> Rows:
        return replace(self, stands_for=n_rows)

    def weighted(self, factors: NDArray[np.float64]) -> Rows:
        """The same rows with their sample weights, 1 where there are none, multiplied by some factors."""
        weights = self.metadata.get("sample_weight", 1.0) * factors
        return replace(self, metadata={**self.metadata, "sample_weight": weights})


class RowsOnDemand(Protocol):
    """What a pool in memory asks of the table that holds its rows."""

    bytes_per_row: float

    def span(self, start: int, stop: int) -> Any:
        """The features of consecutive rows, without a copy where the table can."""

    def take(self, positions: NDArray[np.integer]) -> Any:
        """The features of the rows at some positions."""

    def rows(self, positions: NDArray[np.integer]) -> Rows:
        """The same with their ids and metadata."""
