"""Columns that look like groups of rows, such as cards, and whose values are on both sides of a split."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from selfpaced._jobs.opening import Source
from selfpaced.tables.groups import column_groups

# A warning names a column whose values were in the training rows for at least this share of the held-out rows.
MOSTLY_SEEN = 0.5


@dataclass(frozen=True)
class Repeating:
    """A column that looks like groups of rows, and the share of held-out rows whose value was in the training rows."""

    name: str
    share: float


def repeating_entities(source: Source, train: NDArray[np.bool_], held_out: NDArray[np.bool_]) -> list[Repeating]:
    """Columns such as a card or a customer whose values are on both sides of a split."""
    found = []
    for name in source.entities:
        column = source.table.column(name)
        known = np.asarray(column.is_valid())
        hashes = np.zeros(len(column), dtype=np.uint64)
        hashes[known] = column_groups(column.drop_null(), f"Column {name!r}")
        share = float((np.isin(hashes[held_out], np.unique(hashes[train & known])) & known[held_out]).mean())
        if share >= MOSTLY_SEEN:
            found.append(Repeating(name, share))
    return found
