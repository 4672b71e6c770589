"""Rows on their way from a pool to a member."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Rows:
    """Some rows: their ids, their features in the user's own kind of table, and what else goes with each of them.

    Attributes
    ----------
    metadata : per-row arguments of the base model's `fit`, such as sample_weight.
    """

    ids: NDArray[np.integer]
    features: Any
    metadata: dict[str, Any]

    def __len__(self) -> int:
        return int(self.ids.size)

    def with_ids(self, ids: NDArray[np.integer]) -> Rows:
        return replace(self, ids=ids)


class RowSource(Protocol):
    """What a pool in memory asks of the table that holds its rows."""

    bytes_per_row: float

    def span(self, start: int, stop: int) -> Any:
        """The features of consecutive rows, without a copy where the table can."""

    def take(self, positions: NDArray[np.integer]) -> Any:
        """The features of the rows at some positions."""

    def rows(self, positions: NDArray[np.integer]) -> Rows:
        """The same with their ids and metadata."""
