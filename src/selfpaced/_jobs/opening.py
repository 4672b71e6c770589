"""A file as a table that can be trained on, with the columns that were dropped. The file is read once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced._jobs.columns import Dropped, dropped_columns, entities
from selfpaced._jobs.data import data_of
from selfpaced.exceptions import TableError
from selfpaced.suggesting import did_you_mean
from selfpaced.tables import Labels, Roles, StreamedTable
from selfpaced.tables.conversion import Progress
from selfpaced.tables.label_look import LabelLook
from selfpaced.tables.look import ColumnLook, ColumnProfile, look_through
from selfpaced.tables.opening_rows import frozen_schema, open_reader, plan_of
from selfpaced.tables.options import check_options
from selfpaced.tables.reader import Reader
from selfpaced.tables.row_sources import row_source_of
from selfpaced.tables.schema import plain, unified_fields

# The share of this machine's memory that the rows of a table may take.
SHARE_OF_MEMORY = 0.25
BYTES_PER_VALUE = 8


@dataclass(frozen=True)
class Wanted:
    """Which rows and columns of a file are needed.

    Attributes
    ----------
    path : Any
        The file, or another source that `open_table` opens.
    roles : Roles
        The columns that are not features. `positive` is the label to find, as the user typed it.
    exclude : Sequence[str]
        Further columns that are not features.
    out_of_core : bool | None, default=None
        Whether to read the files once a round; by default that depends on the free memory.
    also : Sequence[str]
        Further columns that will be read. They may be features.
    columns : Sequence[str] | None, default=None
        The features; by default all columns that are not dropped.
    drop_unlabelled : bool, default=False
        Whether rows without a label are dropped; otherwise they are refused.
    """

    path: Any
    roles: Roles
    exclude: Sequence[str] = ()
    out_of_core: bool | None = None
    also: Sequence[str] = ()
    columns: Sequence[str] | None = None
    drop_unlabelled: bool = False

    def excluded(self, names: Sequence[str]) -> list[str]:
        """The columns that are excluded. On the command line, commas may separate several names."""
        return [part for name in self.exclude for part in ([name] if name in names else name.split(","))]

    def needed(self, names: Iterable[str]) -> list[str]:
        """The columns that will be read."""
        known = list(names)
        exclude = set(self.excluded(known)) - {*self.roles.columns, *self.also}
        return [name for name in known if name not in exclude]


@dataclass(frozen=True)
class Source:
    """An opened table.

    Attributes
    ----------
    in_memory : bool
        Whether its rows have been loaded; otherwise they are read from the files once a round.
    n_unlabelled : int, default=0
        The number of rows without a label that were dropped.
    entities : tuple[str, ...]
        Columns that look like groups of rows, such as cards, if no group was named.
    """

    table: StreamedTable
    dropped: list[Dropped]
    in_memory: bool
    entities: tuple[str, ...] = ()
    n_unlabelled: int = 0

    @property
    def labels(self) -> Labels:
        return self.table.labels()

    @property
    def n_rows(self) -> int:
        return int(self.labels.codes.size)


def open_source(wanted: Wanted, progress: Progress | None = None) -> Source:
    """Open a file, drop the columns that cannot be features, and load it if it is small."""
    reader = _reader(wanted, progress)
    names, roles = [*reader.column_names, *reader.left_out], wanted.roles
    exclude = wanted.excluded(names)
    assert roles.target is not None
    for name in (*roles.columns, *exclude, *wanted.also):
        if name not in names:
            raise TableError(
                f"There is no column {name!r} in {wanted.path}.{did_you_mean(name, names)} "
                f"Its columns are {', '.join(map(repr, names))}."
            )
    not_read = set(exclude) - {*roles.columns, *wanted.also}
    fields = {name: kind for name, kind in unified_fields(reader.files, exclude).items() if name not in not_read}
    assert reader.n_rows is not None
    n_all = reader.n_rows
    fits = fits_in_memory(reader.n_rows, len(names))
    in_memory = fits if wanted.out_of_core is None else not wanted.out_of_core
    if in_memory:
        reader = reader.loaded(list(fields))
    if wanted.drop_unlabelled:
        reader = reader.part(labelled_rows(reader, roles.target))
    candidates = _candidates(wanted, list(fields), exclude)
    labels, profiles = _seen(reader, roles, candidates)
    dropped = [] if wanted.columns is not None else dropped_columns(list(profiles.values()))
    features = [name for name in profiles if name not in {one.name for one in dropped}]
    if not features:
        raise TableError(
            f"No column of {wanted.path} is left as a feature. Dropped were "
            + ", ".join(f"{one.name!r} ({one.reason})" for one in dropped)
        )
    schema = frozen_schema(reader, fields, features, profiles)
    roles, labels = _one_label(roles, labels)
    repeating = () if roles.group is not None else tuple(entities(list(profiles.values())))
    table = StreamedTable(
        reader, schema, replace(roles, keep=(*roles.keep, *repeating, *wanted.also)), known_labels=labels
    )
    if in_memory:
        table = table.loaded()  # without the columns that will not be read
    # A fit does not read the columns to keep.
    n_unlabelled = n_all - int(labels.codes.size)
    return Source(replace(table, roles=replace(roles, keep=())), dropped, in_memory, repeating, n_unlabelled)


def _candidates(wanted: Wanted, names: Sequence[str], exclude: Sequence[str]) -> list[str]:
    """The columns that may be features."""
    if wanted.columns is None:
        return [name for name in names if name not in {*exclude, *wanted.roles.not_features}]
    missing = [name for name in wanted.columns if name not in names]
    if missing:
        raise TableError(f"{wanted.path} has no column {missing[0]!r}, which the model was trained with. Add it.")
    return list(wanted.columns)


def labelled_rows(reader: Reader, target: str) -> NDArray[np.bool_]:
    """Which rows have a label."""
    column = plain(reader.column(target))
    labels = np.asarray(column.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
    values = column.to_numpy(zero_copy_only=False)
    labels &= values == values if values.dtype.kind == "f" else True  # NaN is a missing label
    if not labels.any():
        raise TableError(f"No row of column {target!r} has a label.")
    return labels


def _reader(wanted: Wanted, progress: Progress | None) -> Reader:
    data = data_of(wanted.path)
    kind = row_source_of(data.source, data.reading)
    check_options(kind, data.reading)
    return open_reader(kind, data.source, replace(plan_of(data.reading), progress=progress, needed=wanted.needed))


def _seen(reader: Reader, roles: Roles, names: Sequence[str]) -> tuple[Labels, dict[str, ColumnProfile]]:
    """The labels, and the profiles of some columns, in one pass."""
    assert roles.target is not None
    labels = LabelLook(Roles(roles.target))
    columns = {name: ColumnLook(name) for name in names}
    look_through(reader, {roles.target: labels, **columns})
    return labels.labels(), {name: look.result() for name, look in columns.items()}


def _one_label(roles: Roles, labels: Labels) -> tuple[Roles, Labels]:
    """The roles with the label that the user typed, and the labels as that label and all others."""
    if roles.positive is None:
        return roles, labels
    for name in labels.names:
        if str(name) == roles.positive:
            return replace(roles, positive=name), labels.separated(name, roles.target)
    raise TableError(
        f"No row of column {roles.target!r} has the label {roles.positive!r}. Its labels are "
        f"{', '.join(map(repr, map(str, labels.names)))}."
    )


def fits_in_memory(n_rows: int, n_columns: int) -> bool:
    return n_rows * n_columns * BYTES_PER_VALUE <= SHARE_OF_MEMORY * _memory()


def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
