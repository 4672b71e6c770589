"""The split of a table into training rows and held-out rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced._jobs.entities import Repeating, repeating_entities
from selfpaced._jobs.group_splits import giant_group, groups_of, held_out_groups, refuse_one_sided
from selfpaced._jobs.later_dates import later_dates, moving_on
from selfpaced._jobs.opening import Source
from selfpaced._jobs.request import TrainRequest
from selfpaced._jobs.splits import held_out_at_random, held_out_by_time, known_before
from selfpaced.exceptions import TableError
from selfpaced.tables import StreamedTable, open_like


@dataclass(frozen=True)
class Split:
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


def split_for(request: TrainRequest, source: Source) -> Split:
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
    return Split(to_train.loaded() if source.in_memory else to_train, to_test, not_used, repeating, warned)


def rows_to_train_on(request: TrainRequest, source: Source) -> NDArray[np.bool_]:
    """Which rows a request trains on."""
    if request.valid is not None:
        return np.ones(source.n_rows, dtype=bool)
    return _sides(request, source)[0]


def _sides(request: TrainRequest, source: Source) -> tuple[NDArray[np.bool_], NDArray[np.bool_], dict[str, int]]:
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


def _by_time(request: TrainRequest, source: Source) -> tuple[NDArray[np.bool_], NDArray[np.bool_], dict[str, int]]:
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


def _with_file(request: TrainRequest, source: Source) -> Split:
    if _same_file(request.valid, request.source):
        raise TableError(f"--valid {request.valid} is the file that is trained on. Name a file with other rows.")
    if request.delay is not None:
        raise TableError("--delay is for rows that --time-column holds out. Omit it with --valid.")
    roles = replace(source.table.roles, time=None, keep=())
    test = open_like(request.valid, source.table.schema, roles)
    warned = tuple(map(moving_on, later_dates(source.table, test)))
    if request.group is None:
        return Split(source.table, test, {}, [], warned)
    seen = np.unique(np.concatenate([hashes for hashes, _ in groups_of(source.table, request.group)]))
    is_new = np.concatenate([~np.isin(hashes, seen) for hashes, _ in groups_of(test, request.group)])
    if not is_new.any():
        raise TableError(
            f"All groups of {request.valid} are in the training rows too, so no row is left to judge by. Name a file "
            "with other groups."
        )
    not_used = {f"of groups in {request.valid} that are trained on": int((~is_new).sum())}
    return Split(source.table, test.part(is_new), not_used, [], warned)


def _same_file(one: Any, other: Any) -> bool:
    """Whether two paths name one file. Patterns and lists of files are not compared."""
    both = (one, other)
    return all(isinstance(path, str | PathLike) for path in both) and len({Path(path).resolve() for path in both}) == 1
