"""Opening the table of a command: which columns are features, and whether the rows fit into memory."""

from __future__ import annotations

import os
import re
from argparse import Namespace
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from selfpaced.cli.request import TrainRequest, data_of
from selfpaced.exceptions import TableError, did_you_mean, pa
from selfpaced.storage import Place, RemoteFile, explaining, located, patiently, shown
from selfpaced.tables import (
    MOST_CATEGORIES,
    ColumnLook,
    ColumnProfile,
    DatabaseTable,
    LabelLook,
    Labels,
    Progress,
    Roles,
    look_through,
    plain,
    unified_fields,
)
from selfpaced.tables.files import Reader, StreamedTable
from selfpaced.tables.sources import frozen_schema, is_database, open_reader

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


@dataclass(frozen=True)
class OpenedSource:
    """An opened table."""

    table: StreamedTable
    dropped: list[Dropped]
    in_memory: bool  # whether its rows have been loaded; otherwise they are read from the files once a round
    entities: tuple[str, ...] = ()  # columns that look like groups of rows, such as cards, if no group was named
    n_unlabelled: int = 0  # the number of rows without a label that were dropped

    @property
    def labels(self) -> Labels:
        return self.table.labels()

    @property
    def n_rows(self) -> int:
        return int(self.labels.codes.size)


def open_source(request: TrainRequest, progress: Progress | None = None, also: Sequence[str] = ()) -> OpenedSource:
    """Open the rows of a request, drop the columns that cannot be features, and load the rest if it is small.

    `also` are further columns that will be read; they may be features too.
    """
    reader, fields, exclude = _reader(request, progress, also)
    assert reader.n_rows is not None
    n_all, n_columns = reader.n_rows, len(reader.column_names) + len(reader.left_out)
    in_memory = fits_in_memory(n_all, n_columns) if request.out_of_core is None else not request.out_of_core
    if in_memory:
        pa.default_memory_pool().release_unused()  # what the conversion of text files took
        reader = reader.loaded(list(fields))
    if request.drop_unlabelled:
        reader = reader.part(labelled_rows(reader, request.target))
    roles = request.roles
    labels, profiles = _seen(reader, request.target, _candidates(request, list(fields), exclude))
    dropped = [] if request.columns is not None else dropped_columns(list(profiles.values()))
    features = [name for name in profiles if name not in {one.name for one in dropped}]
    if not features:
        raise TableError(
            f"No column of {request.source} is left as a feature. Dropped were "
            + ", ".join(f"{one.name!r} ({one.reason})" for one in dropped)
        )
    schema = frozen_schema(reader, fields, features, profiles)
    roles, labels = _one_label(roles, labels)
    repeating = () if roles.group_column is not None else tuple(entities(list(profiles.values())))
    if in_memory:  # without the columns that will not be read
        reader = reader.loaded(list(dict.fromkeys([*schema.sources, *roles.columns, *repeating, *also])))
    # A fit does not read the columns to keep.
    table = StreamedTable(reader, schema, replace(roles, keep=()), known_labels=labels)
    return OpenedSource(table, dropped, in_memory, repeating, n_all - int(labels.codes.size))


def _reader(
    request: TrainRequest, progress: Progress | None, also: Sequence[str]
) -> tuple[Reader, dict[str, object], list[str]]:
    """A reader of the rows, the columns that will be read with their types, and those that are excluded."""
    data, own = data_of(request.source), {*request.roles.columns, *also}

    def excluded(names: Sequence[str]) -> list[str]:
        """On the command line, commas may separate several names."""
        return [part for name in request.exclude for part in ([name] if name in names else name.split(","))]

    def needed(names: Iterable[str]) -> list[str]:
        known = list(names)
        exclude = excluded(known)
        return [name for name in known if name in own or name not in exclude]

    reader = open_reader(data.source, {**data.reading, "progress": progress}, needed)
    names = [*reader.column_names, *reader.left_out]
    exclude = excluded(names)
    for name in (*request.roles.columns, *exclude, *also):
        if name not in names:
            raise TableError(
                f"There is no column {name!r} in {request.source}.{did_you_mean(name, names)} "
                f"Its columns are {', '.join(map(repr, names))}."
            )
    fields = unified_fields(reader.files, exclude).items()
    return reader, {name: kind for name, kind in fields if name in own or name not in exclude}, exclude


def _candidates(request: TrainRequest, names: Sequence[str], exclude: Sequence[str]) -> list[str]:
    """The columns that may be features."""
    if request.columns is None:
        return [name for name in names if name not in {*exclude, *request.roles.not_features}]
    missing = [name for name in request.columns if name not in names]
    if missing:
        raise TableError(f"{request.source} has no column {missing[0]!r}, which the model was trained with. Add it.")
    return list(request.columns)


def labelled_rows(reader: Reader, target: str) -> NDArray[np.bool_]:
    """Which rows have a label."""
    column = plain(reader.column(target))
    labels = np.asarray(column.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
    values = column.to_numpy(zero_copy_only=False)
    labels &= values == values if values.dtype.kind == "f" else True  # NaN is a missing label
    if not labels.any():
        raise TableError(f"No row of column {target!r} has a label.")
    return labels


def _seen(reader: Reader, target: str, names: Sequence[str]) -> tuple[Labels, dict[str, ColumnProfile]]:
    """The labels, and the profiles of some columns, in one pass."""
    labels = LabelLook(Roles(target))
    columns = {name: ColumnLook(name) for name in names}
    look_through(reader, {target: labels, **columns})
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


# The share of the memory that the rows of a table may take.
SHARE_OF_MEMORY = 0.25
BYTES_PER_VALUE = 8
UNKNOWN_MEMORY = 4 * 2**30  # of a machine that does not say how much it has


def fits_in_memory(n_rows: int, n_columns: int) -> bool:
    return n_rows * n_columns * BYTES_PER_VALUE <= SHARE_OF_MEMORY * memory_bytes()


def memory_bytes() -> int:
    """The memory that this process may use: that of the machine, or less in a container."""
    return min([_machine_bytes(), *container_limits()])


def _machine_bytes() -> int:
    with suppress(ImportError):
        return int(import_module("psutil").virtual_memory().total)
    with suppress(AttributeError, ValueError, OSError):  # Windows has no sysconf
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return UNKNOWN_MEMORY


def container_limits(groups: Path = Path("/proc/self/cgroup"), mounted: Path = Path("/sys/fs/cgroup")) -> list[int]:
    """The limits in bytes of this process's control groups and of the groups that these are in, of versions 1 and 2.

    A line of `groups` is "0::/path" in version 2, and "4:memory:/path" in version 1. In a container the path may be
    that of the host, so the group at the top is read too.
    """
    limits = []
    with suppress(OSError):
        for line in groups.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers == "":
                top, name = mounted, "memory.max"
            elif "memory" in controllers.split(","):
                top, name = mounted / "memory", "memory.limit_in_bytes"
            else:
                continue
            own = top / path.lstrip("/")
            for folder in dict.fromkeys([own, *own.parents, top]):
                if folder.is_relative_to(top):
                    with suppress(OSError, ValueError):  # "max" is no limit
                        limits.append(int((folder / name).read_text()))
    return limits


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
