"""Which rows are trained on, and which are held out to judge by."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import TableError
from selfpaced.pools.keys import row_keys
from selfpaced.pools.reserved_rounds import HOLDOUT_ROUND
from selfpaced.tables import Labels, StreamedTable


def held_out_at_random(labels: Labels, share: float, seed: int) -> NDArray[np.bool_]:
    """The same share of every class, at least one row of each and never all."""
    keys = row_keys(np.arange(labels.codes.size, dtype=np.uint64), seed, HOLDOUT_ROUND)
    held_out = np.zeros(labels.codes.size, dtype=bool)
    for number, count in enumerate(labels.counts.tolist()):
        own = np.flatnonzero(labels.codes == number)
        n_held_out = min(max(round(share * count), 1), count - 1)
        held_out[own[np.argpartition(keys[own], n_held_out - 1)[:n_held_out]]] = True
    return held_out


def held_out_by_time(table: StreamedTable, column: str, share: float, labels: Labels) -> NDArray[np.bool_]:
    """The last rows by a column of times. Rows of one moment stay together."""
    times = table.column(column)
    moments = np.asarray(times)
    if moments.dtype.kind not in "iufM":
        raise TableError(
            f"The time column {column!r} is {times.type}. Times are dates such as 2024-01-31 23:59, or numbers."
        )
    n_missing = int((moments != moments).sum())  # NaN, and NaT, which null is by now
    if n_missing:
        raise TableError(
            f"The time column {column!r} has no time in {n_missing:,} of {moments.size:,} rows. Every row needs a time "
            "to be split by: drop these rows, or fill in their times."
        )
    position = math.ceil((1 - share) * (moments.size - 1))
    first = np.partition(moments, position)[position]
    held_out: NDArray[np.bool_] = moments >= first
    for number, name in enumerate(labels.names):
        n_held_out = int((labels.codes[held_out] == number).sum())
        if n_held_out == 0 or n_held_out == labels.counts[number]:
            where = "before" if n_held_out == 0 else "after"
            raise TableError(
                f"All rows of the class {name!r} are {where} {first}, where the last {share:.0%} of the rows begin. "
                "Choose another --holdout, or split at random."
            )
    return held_out
