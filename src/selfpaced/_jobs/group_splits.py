"""Splits that hold out whole groups of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import TableError
from selfpaced.pools.keys import LARGEST_KEY, row_keys
from selfpaced.pools.reserved_rounds import HOLDOUT_ROUND
from selfpaced.tables import Labels, StreamedTable
from selfpaced.tables.groups import column_groups

# The share of a class's rows in one group from which a warning is given.
GIANT = 0.5


def held_out_groups(table: StreamedTable, column: str, share: float, seed: int) -> NDArray[np.bool_]:
    """Hold out whole groups by the hashes of their names: a share of those with rows of smaller classes, and of others.

    Only the hashes of groups with rows of the smaller classes are kept, to have enough of these on both sides.
    """
    labels = table.labels()
    largest = int(labels.counts.argmax())
    of_smaller = [(hashes[codes != largest], codes[codes != largest]) for hashes, codes in groups_of(table, column)]
    groups, codes = (np.concatenate(parts) for parts in zip(*of_smaller, strict=True))
    chosen, others = _share_of_groups(groups, codes, share, seed)
    limit = np.uint64(share * LARGEST_KEY)
    parts = []
    for hashes, _ in groups_of(table, column):
        by_hash = row_keys(hashes, seed, HOLDOUT_ROUND) <= limit
        parts.append(np.isin(hashes, chosen) | (by_hash & ~np.isin(hashes, others)))
    held_out = np.concatenate(parts)
    refuse_one_sided(~held_out, held_out, labels)
    return held_out


def groups_of(table: StreamedTable, column: str) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.unsignedinteger]]]:
    """The hashes of groups and the class numbers, batch by batch."""
    codes, start = table.labels().codes, 0
    for file, batch in table.reader.read([column]):
        hashes = column_groups(batch.column(column), f"The group column {column!r} of {file.path}")
        yield hashes, codes[start : start + hashes.size]
        start += hashes.size


def _share_of_groups(
    groups: NDArray[np.uint64], codes: NDArray[np.unsignedinteger], share: float, seed: int
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Groups to hold out, and the others, given a group and a class of some rows: about the share of the rows.

    Of every class, as far as its groups allow, there is a group on both sides.
    """
    names, of_rows, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    order = np.argsort(row_keys(names, seed, HOLDOUT_ROUND))
    # Groups of the rarest class come first, so that its share is met best.
    rank = np.full(names.size, np.iinfo(np.int64).max)
    np.minimum.at(rank, of_rows, np.bincount(codes)[codes])
    chosen = np.zeros(names.size, dtype=bool)
    for size in np.unique(rank):
        own = order[rank[order] == size]
        chosen[own] = _within(sizes[own].tolist(), share)
    return names[chosen], names[~chosen]


def _within(sizes: Sequence[int], share: float) -> list[bool]:
    """Which groups make up a share of all rows, in their order. A group that is too large for the rest is skipped.

    >>> _within([90, 4, 3, 2, 1], 0.05)
    [False, True, False, True, False]
    """
    wanted, total, chosen = share * sum(sizes), 0.0, []
    for size in sizes:
        chosen.append(total + size / 2 <= wanted)
        total += size if chosen[-1] else 0
    if len(sizes) > 1 and not any(chosen):
        chosen[sizes.index(min(sizes))] = True
    if len(sizes) > 1 and all(chosen):
        chosen[sizes.index(max(sizes))] = False
    return chosen


def giant_group(table: StreamedTable, column: str) -> str | None:
    """A warning about a group with most rows of a smaller class: it is on one side, whatever share was asked for."""
    labels = table.labels()
    for number in np.flatnonzero(np.arange(labels.counts.size) != labels.counts.argmax()).tolist():
        own = np.concatenate([hashes[codes == number] for hashes, codes in groups_of(table, column)])
        largest = int(np.unique(own, return_counts=True)[1].max()) / own.size
        if largest > GIANT:
            return (
                f"One group of {column!r} has {largest:.0%} of the rows of the class {labels.names[number]!r}. The "
                "whole group is on one side of the split, so the other side has few rows of this class."
            )
    return None


def refuse_one_sided(train: NDArray[np.bool_], held_out: NDArray[np.bool_], labels: Labels) -> None:
    """Refuse a split that leaves a class on one side only."""
    for side, rows in (("trained on", train), ("held out", held_out)):
        counts = np.bincount(labels.codes[rows], minlength=labels.counts.size)
        if not counts.all():
            name = labels.names[int(counts.argmin())]
            raise TableError(
                f"No row of the class {name!r} would be {side}: its {labels.counts[int(counts.argmin())]:,} rows are "
                "in too few groups or too close in time to be on both sides of the split. Choose another --holdout, a "
                "shorter --delay, smaller groups, or another --seed."
            )
