"""Dates that move on with time: the model will be used on values that are later than all that it was trained on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.tables import StreamedTable
from selfpaced.tables.schema import Column

# A warning names a date if more held-out rows than `MOST_LATER` are later than this share of the training rows. Not
# later than all of them: a few late dates hide nothing then.
NEARLY_ALL = 0.99
MOST_LATER = 0.2


@dataclass(frozen=True)
class LaterDate:
    """A feature made of dates, and the share of held-out rows whose date is later than nearly all in training."""

    name: str
    share: float


def later_dates(train: StreamedTable, test: StreamedTable) -> list[LaterDate]:
    """The dates among the features that many held-out rows have later than nearly all training rows."""
    found = []
    for column in train.schema.columns:
        if column.type == "seconds":
            known = _seconds(column, train)
            known = known[~np.isnan(known)]
            late = np.quantile(known, NEARLY_ALL) if known.size else np.inf
            share = float((_seconds(column, test) > late).mean())
            if share > MOST_LATER:
                found.append(LaterDate(column.source, share))
    return found


def _seconds(column: Column, table: StreamedTable) -> NDArray[np.float64]:
    values: Any = table.column(column.source)
    chunks = getattr(values, "chunks", [values])
    parts = [column.converted(chunk, "the table").to_numpy(zero_copy_only=False) for chunk in chunks]
    return np.concatenate(parts) if parts else np.empty(0)


def moving_on(one: LaterDate) -> str:
    """A warning about a date among the features that moves on with time.

    >>> moving_on(LaterDate("reported", 0.974))[:77]
    "column 'reported' is a date that moves on: 97% of the held-out rows are later"
    """
    return (
        f"column {one.name!r} is a date that moves on: {one.share:.0%} of the held-out rows are later than "
        f"{NEARLY_ALL:.0%} of the training rows, and new rows will be too. Scores of such rows are not reliable. "
        f"Exclude it: --exclude {one.name!r}. If the time between two dates matters, add it as a column."
    )
