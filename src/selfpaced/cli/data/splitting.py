"""Training and test rows of a command."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.backtesting import span_in
from selfpaced.cli.data.cautions import Repeating, later_dates, moving_on, repeating_entities
from selfpaced.cli.data.opening import OpenedSource
from selfpaced.cli.data.request import TrainRequest
from selfpaced.exceptions import TableError
from selfpaced.pools import HOLDOUT_ROUND, LARGEST_KEY, row_keys
from selfpaced.tables import Labels, column_groups, moments_in
from selfpaced.tables.files import StreamedTable
from selfpaced.tables.sources import open_like


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


@dataclass(frozen=True)
class TrainingSplit:
    """The rows to train on and the rows to judge by.

    Attributes
    ----------
    not_used : dict[str, int]
        The number of rows on neither side, by the reason.
    repeating : list[Repeating]
        Columns that look like groups of rows, and whose values are on both sides.
    warnings : tuple[str, ...]
        Warnings about the split.
    """

    train: StreamedTable
    test: StreamedTable
    not_used: dict[str, int]
    repeating: list[Repeating]
    warnings: tuple[str, ...] = ()


def split_for(request: TrainRequest, source: OpenedSource) -> TrainingSplit:
    """Hold out rows: those of another file, the last rows, whole groups, or random rows."""
    if request.valid is not None:
        return _with_file(request, source)
    train, held_out, not_used = _sides(request, source)
    table = source.table
    repeating = [] if request.group is not None else repeating_entities(source, train, held_out)
    giant = None if request.group is None else giant_group(table, request.group)
    parts = table.part(train), table.part(held_out)
    later = [] if request.time_column is None else later_dates(*parts)
    warned = (*(() if giant is None else (giant,)), *map(moving_on, later))
    to_train, to_test = parts
    # A fit reads its rows once a round. To choose them once is faster than to choose them each time.
    return TrainingSplit(to_train.loaded() if source.in_memory else to_train, to_test, not_used, repeating, warned)


def rows_to_train_on(request: TrainRequest, source: OpenedSource) -> NDArray[np.bool_]:
    """Which rows a request trains on."""
    if request.valid is not None:
        return np.ones(source.n_rows, dtype=bool)
    return _sides(request, source)[0]


def _sides(request: TrainRequest, source: OpenedSource) -> tuple[NDArray[np.bool_], NDArray[np.bool_], dict[str, int]]:
    """The rows to train on, the rows held out, and how many are neither."""
    if not 0 < request.holdout < 1:
        raise TableError(f"--holdout must be between 0 and 1; got {request.holdout}.")
    if request.time_column is not None:
        return _by_time(request, source)
    if request.group is not None:
        held_out = held_out_groups(source.table, request.group, request.holdout, request.seed)
    else:
        held_out = held_out_at_random(source.labels, request.holdout, request.seed)
    return ~held_out, held_out, {}


def _by_time(
    request: TrainRequest, source: OpenedSource
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], dict[str, int]]:
    """Hold out the last rows. Train on earlier rows whose labels are known by then. Count the rows on neither side.

    With groups, the last rows of some groups are held out, and the earlier rows of the other groups are trained on.
    """
    assert request.time_column is not None
    table, labels, not_used = source.table, source.labels, {}
    held_out = held_out_by_time(table, request.time_column, request.holdout, labels)
    train = ~held_out
    if request.delay is not None:
        known = known_before(table, request.time_column, held_out, request.delay)
        not_used[f"labels not known {request.delay} before the held-out rows"] = int((train & ~known).sum())
        train &= known
    if request.group is not None:
        other_side = held_out_groups(table, request.group, request.holdout, request.seed)
        either = train | held_out
        train, held_out = train & ~other_side, held_out & other_side
        not_used["of groups on the other side of the split"] = int((either & ~train & ~held_out).sum())
    refuse_one_sided(train, held_out, labels)
    return train, held_out, not_used


def _with_file(request: TrainRequest, source: OpenedSource) -> TrainingSplit:
    if _same_file(request.valid, request.source):
        raise TableError(f"--valid {request.valid} is the file that is trained on. Name a file with other rows.")
    if request.delay is not None:
        raise TableError("--delay is for rows that --time-column holds out. Omit it with --valid.")
    roles = replace(source.table.roles, time_column=None, keep=())
    test = open_like(request.valid, source.table.schema, roles)
    warned = tuple(map(moving_on, later_dates(source.table, test)))
    if request.group is None:
        return TrainingSplit(source.table, test, {}, [], warned)
    seen = np.unique(np.concatenate([hashes for hashes, _ in groups_of(source.table, request.group)]))
    is_new = np.concatenate([~np.isin(hashes, seen) for hashes, _ in groups_of(test, request.group)])
    if not is_new.any():
        raise TableError(
            f"All groups of {request.valid} are in the training rows too, so no row is left to judge by. Name a file "
            "with other groups."
        )
    not_used = {f"of groups in {request.valid} that are trained on": int((~is_new).sum())}
    return TrainingSplit(source.table, test.part(is_new), not_used, [], warned)


def _same_file(one: Any, other: Any) -> bool:
    """Whether two paths name one file. Patterns and lists of files are not compared."""
    both = (one, other)
    return all(isinstance(path, str | PathLike) for path in both) and len({Path(path).resolve() for path in both}) == 1
