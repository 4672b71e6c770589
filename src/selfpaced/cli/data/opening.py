"""Opening the table of a command."""

from __future__ import annotations

import os
import re
from argparse import Namespace
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import TableError, did_you_mean
from selfpaced.predicting import ScoringOptions
from selfpaced.storage import Place, RemoteFile, explaining, located, patiently, shown
from selfpaced.tables import (
    MOST_CATEGORIES,
    ColumnLook,
    ColumnProfile,
    LabelLook,
    Labels,
    Progress,
    Roles,
    check_options,
    look_through,
    plain,
    unified_fields,
)
from selfpaced.tables.files import Reader, StreamedTable
from selfpaced.tables.sources import DatabaseTable, frozen_schema, is_database, open_reader, plan_of, row_source_of


@dataclass(frozen=True)
class Data(PathLike[str]):
    """A source with its options for reading.

    Attributes
    ----------
    source : Any
        Whatever `open_table` opens; a query, if the options have a connection.
    """

    source: Any
    reading: ScoringOptions = field(default_factory=ScoringOptions)

    def __fspath__(self) -> str:
        return str(self.source)

    def __str__(self) -> str:
        return shown(str(self.source))


def data_of(source: Any) -> Data:
    """A source with its options. A source that was given alone has no options."""
    return source if isinstance(source, Data) else Data(source)


# customerId is an id; paid and valid are not.
NAME_OF_AN_ID = re.compile(r"(?i:(^|[_\s.-])(id|ids|uuid|guid|key|index|rownum|row|unnamed: 0)$)|[a-z](Id|ID)$")
# Names of what several rows may belong to.
NAME_OF_AN_ENTITY = re.compile(
    r"(?i)(^|[_\s.-])(account|card|client|customer|cc|device|iban|member|merchant|patient|person|terminal|user)"
    r"[_\s.-]?(id|key|name|no|nr|num|number)?$"
)
NAME_OF_AN_ENTITY_IN_GERMAN = re.compile(
    r"(?i)(kunden|konto|karten|vertrags|patienten|geräte|geraete|händler|haendler|versicherten)[_\s.-]?(id|nr|nummer)$"
)
FEWEST_ENTITIES = 20
# Strings of which at least every second is new are names or free text.
MOSTLY_NEW = 0.5
FEWEST_ROWS_TO_JUDGE = 50
READABLE = re.compile(
    r"^(u?int\d+|float|double|halffloat|bool|null|decimal|date|timestamp|string|large_string|string_view)"
)


@dataclass(frozen=True)
class Dropped:
    """A column that is dropped from the features, and the reason."""

    name: str
    reason: str


def dropped_columns(profiles: Sequence[ColumnProfile]) -> list[Dropped]:
    """
    >>> profile = ColumnProfile("tx_id", "int64", 100, 0, 100, 1, 100, repeats=False, rises=True)
    >>> dropped_columns([profile])
    [Dropped(name='tx_id', reason='an identifier: every value differs')]
    """
    reasons = {profile.name: _reason(profile) for profile in profiles}
    return [Dropped(name, reason) for name, reason in reasons.items() if reason is not None]


def _reason(profile: ColumnProfile) -> str | None:
    if not READABLE.match(profile.type):
        return f"{profile.type}, which models cannot read"
    if profile.n_missing == profile.n_rows:
        return "all values are missing"
    if _is_constant(profile):
        return "the same value in every row"
    if profile.n_rows < FEWEST_ROWS_TO_JUDGE:
        return None
    return _reason_of_strings(profile) if "string" in profile.type else _reason_of_numbers(profile)


def _is_constant(profile: ColumnProfile) -> bool:
    if profile.n_missing:
        return False  # that a value is missing may be informative
    if profile.smallest is None:
        return profile.n_distinct == 1
    return bool(profile.smallest == profile.largest)


def _reason_of_strings(profile: ColumnProfile) -> str | None:
    n_filled = profile.n_rows - profile.n_missing
    if profile.n_distinct <= min(MOST_CATEGORIES, MOSTLY_NEW * n_filled):
        return None
    if profile.not_numbers:
        others = ", ".join(map(repr, profile.not_numbers))
        return f"most values are numbers, but not {others}. Write numbers as 1234.56, and leave missing values empty"
    if not profile.repeats:
        return "an identifier or free text: every value differs"
    if profile.n_distinct > MOST_CATEGORIES:
        return f"names, codes or free text: more than {MOST_CATEGORIES:,} different values"
    return f"names or free text: {profile.n_distinct:,} different values in {n_filled:,} rows"


def _reason_of_numbers(profile: ColumnProfile) -> str | None:
    is_whole = "int" in profile.type
    if is_whole and not profile.repeats and not profile.n_missing:
        if NAME_OF_AN_ID.search(profile.name):
            return "an identifier: every value differs"
        if profile.rises:
            return "a row number: each value is larger than the one before"
    return None


def entities(profiles: Sequence[ColumnProfile]) -> list[str]:
    """Columns that look like what several rows belong to, such as a card or a customer.

    >>> entities([ColumnProfile("card_id", "int64", 100, 0, 30, 1, 30, repeats=True, rises=False)])
    ['card_id']
    """
    return [each.name for each in profiles if _looks_like_an_entity(each)]


def _looks_like_an_entity(profile: ColumnProfile) -> bool:
    patterns = (NAME_OF_AN_ID, NAME_OF_AN_ENTITY, NAME_OF_AN_ENTITY_IN_GERMAN)
    named = any(pattern.search(profile.name) for pattern in patterns)
    kind = "int" in profile.type or "string" in profile.type
    return bool(named and kind and profile.repeats and profile.n_distinct >= FEWEST_ENTITIES)


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
        The columns that are not features. `pos_label` is the label to find, as the user typed it.
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
class OpenedSource:
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


def open_source(wanted: Wanted, progress: Progress | None = None) -> OpenedSource:
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
    return OpenedSource(replace(table, roles=replace(roles, keep=())), dropped, in_memory, repeating, n_unlabelled)


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
    if roles.pos_label is None:
        return roles, labels
    for name in labels.names:
        if str(name) == roles.pos_label:
            return replace(roles, pos_label=name), labels.separated(name, roles.target)
    raise TableError(
        f"No row of column {roles.target!r} has the label {roles.pos_label!r}. Its labels are "
        f"{', '.join(map(repr, map(str, labels.names)))}."
    )


def fits_in_memory(n_rows: int, n_columns: int) -> bool:
    return n_rows * n_columns * BYTES_PER_VALUE <= SHARE_OF_MEMORY * _memory()


def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def data_in(options: Namespace) -> Data:
    """The rows to read. With a query, DATA is the database."""
    reading: ScoringOptions = {}
    if options.cache is not None:
        reading["cache"] = options.cache
    if options.snapshot is not None:
        reading["version"] = int(options.snapshot) if options.snapshot.lstrip("-").isdigit() else options.snapshot
    if options.query is None:
        return Data(options.data, reading)
    return Data(options.query, {**reading, "connection": options.data})


def what_is_done(options: Namespace, otherwise: str) -> str:
    """The text of the progress bar while rows are read."""
    if options.query is not None:
        return "reading the query"
    return otherwise if options.cache is None else f"reading into {options.cache}"


def scores_output(options: Namespace) -> Place | DatabaseTable:
    """The file, or the table of a database, that scores are written to."""
    if not is_database(options.output):
        if options.table is not None or options.if_exists != "fail":
            raise TableError(f"--table and --if-exists are for a database, but {options.output} is a file. Omit them.")
        return check_output(options.output, [".parquet", ".csv"])
    if options.table is None:
        raise TableError(f"{shown(options.output)} is a database. Name the table for the scores: --table scores")
    return DatabaseTable(options.output, options.table, options.if_exists)


def check_output(path: str, endings: Sequence[str]) -> Place:
    """Refuse a file that cannot be written, before an hour of work."""
    output = located(path)
    if output.suffix.lower() not in endings:
        raise TableError(f"{shown(path)} has a wrong ending. Name a file that ends in {' or '.join(endings)}.")
    if isinstance(output, RemoteFile):
        _check_bucket(output)
        return output
    folder = output.parent
    if not folder.is_dir():
        raise TableError(f"The folder {folder} for {output.name} does not exist. Make it first: mkdir -p {folder}")
    if output.is_dir() or not os.access(folder, os.W_OK):
        raise TableError(f"{path} cannot be written: {'it is a folder' if output.is_dir() else 'no permission'}.")
    return output


def _check_bucket(output: RemoteFile) -> None:
    """Refuse an output in a bucket that does not exist. Folders in a bucket need not exist."""
    from pyarrow import fs

    if output.filesystem.type_name not in ("s3", "gcs", "abfs"):
        return
    bucket = output.path.partition("/")[0]
    with explaining(output, "written"):
        found = patiently(lambda: output.filesystem.get_file_info(bucket))
    if found.type == fs.FileType.NotFound:
        raise TableError(f"{output} cannot be written: there is no bucket {bucket!r}. Make it first.")
