"""A file as a table that can be trained on, with what was left out of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from selfpaced.exceptions import TableError
from selfpaced.jobs.columns import Dropped, dropped_columns
from selfpaced.tables import Labels, StreamedTable, open_table
from selfpaced.tables.opening import open_bare
from selfpaced.tables.profile import profile

# Of the memory that is there, the share that the rows of a table may take.
SHARE_OF_MEMORY = 0.25
BYTES_PER_VALUE = 8


@dataclass(frozen=True)
class Source:
    """An opened table.

    Attributes
    ----------
    labels : of all its rows.
    in_memory : whether its rows have been loaded; otherwise they are read from the files once a round.
    """

    table: StreamedTable
    labels: Labels
    dropped: list[Dropped]
    in_memory: bool

    @property
    def n_rows(self) -> int:
        return int(self.labels.codes.size)


def open_source(
    path: Any,
    target: str,
    positive: str | None = None,
    exclude: Sequence[str] = (),
    keep: Sequence[str] = (),
    beside: Sequence[str] = (),
    out_of_core: bool | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Source:
    """Open a file, drop what is no feature, and load it if it is small.

    Parameters
    ----------
    positive : the label to be found, as a person writes it.
    keep : columns that are no features but go along with the rows, such as ids.
    beside : columns that go along with the rows whether or not they are features, such as amounts.
    out_of_core : whether to read the files once a round; by default that depends on the memory there is.
    """
    bare = open_bare(path, progress=progress)
    names = list(bare.files[0].schema.names)
    exclude = [part for name in exclude for part in ([name] if name in names else name.split(","))]
    for name in (target, *exclude, *keep, *beside):
        if name not in names:
            raise TableError(f"There is no column {name!r} in {path}. Its columns are {', '.join(map(repr, names))}.")
    candidates = [name for name in names if name not in {target, *exclude, *keep}]
    dropped = dropped_columns(profile(bare, candidates))
    left_out = [*exclude, *keep, *(column.name for column in dropped)]
    if len(dropped) == len(candidates):
        raise TableError(
            f"No column of {path} is left to learn from: "
            + "; ".join(f"{one.name!r} is {one.reason}" for one in dropped)
        )
    opened = open_table(path, target=target, exclude=left_out)
    assert isinstance(opened, StreamedTable)
    table = replace(opened, roles=replace(opened.roles, keep=tuple(dict.fromkeys([*keep, *beside]))))
    labels = table.labels()
    if positive is not None:
        table.positive = _meant(positive, labels.names, target)
        labels = table.labels()
    fits = fits_in_memory(labels.codes.size, len(names))
    loads = fits if out_of_core is None else not out_of_core
    return Source(table.loaded() if loads else table, labels, dropped, loads)


def _meant(positive: str, names: Sequence[Any], target: str) -> Any:
    """The label that is written so."""
    for name in names:
        if str(name) == positive:
            return name
    raise TableError(
        f"No row of column {target!r} is {positive!r}; its labels are {', '.join(map(repr, map(str, names)))}."
    )


def fits_in_memory(n_rows: int, n_columns: int) -> bool:
    return n_rows * n_columns * BYTES_PER_VALUE <= SHARE_OF_MEMORY * _memory()


def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
