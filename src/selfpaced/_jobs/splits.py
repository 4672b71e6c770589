"""Splits that hold out random rows or the last rows."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from selfpaced.backtesting.durations import span_in
from selfpaced.exceptions import TableError
from selfpaced.pools.keys import row_keys
from selfpaced.pools.reserved_rounds import HOLDOUT_ROUND
from selfpaced.tables import Labels, StreamedTable
from selfpaced.tables.moments import moments_in


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
    moments = moments_in(table.column(column), column)
    position = math.ceil((1 - share) * (moments.size - 1))
    first = np.partition(moments, position)[position]
    held_out: NDArray[np.bool_] = moments >= first
    for number, name in enumerate(labels.names):
        n_held_out = int((labels.codes[held_out] == number).sum())
        if n_held_out == 0 or n_held_out == labels.counts[number]:
            where = "before" if n_held_out == 0 else "after"
            raise TableError(
                f"All rows of the class {name!r} are {where} {first}, where the last {share:.0%} of the rows begin. "
                "Choose another --holdout, or omit --time-column to split at random."
            )
    return held_out


def known_before(table: StreamedTable, column: str, held_out: NDArray[np.bool_], delay: str) -> NDArray[np.bool_]:
    """The rows whose labels are known when the first held-out row comes, if labels take as long as the delay."""
    moments = moments_in(table.column(column), column)
    first = moments[held_out].min()
    known: NDArray[np.bool_] = moments + span_in(delay, moments, "--delay") <= first
    if not known.any():
        raise TableError(
            f"With --delay {delay} no label is known when the held-out rows begin, at {first}. The first row is from "
            f"{moments.min()}. Choose a shorter --delay, or a smaller --holdout."
        )
    return known
