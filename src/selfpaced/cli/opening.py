"""Opening the table of a command: which columns are features, and whether the rows fit into memory."""

import math
import os
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced import tables
from selfpaced.cli.columns import Caution, OrderLook, dropped_columns, entities, like_entities
from selfpaced.cli.request import HistoryRequest, TrainRequest, data_of
from selfpaced.exceptions import TableError, did_you_mean, pa
from selfpaced.history import History, described_batches, refuse_taken
from selfpaced.model import named_among
from selfpaced.persistence import DataRecord
from selfpaced.storage import Place, RemoteFile, explaining, located, patiently, shown
from selfpaced.tables.files import Reader, StreamedTable
from selfpaced.tables.sources import frozen_schema, is_database, open_reader

FEW_CASES = 20


@dataclass(frozen=True)
class HistoryTrial:
    """How good a model is with some features of a history, or without."""

    name: str
    aucprc: float
    standard_error: float  # of the difference from the best one before
    entities: tuple[str, ...] = ()


@dataclass(frozen=True)
class TableFacts:
    """What is known about the rows of a training, besides the rows."""

    labels: tables.ClassCounts  # the labels of all rows
    schema: tables.Schema
    n_train: int
    pos_label: Any = None  # the label to find as the data has it, if the user has named one
    in_memory: bool = True  # whether the rows have been loaded; otherwise they are read from the files once a round
    dropped: dict[str, str] = field(default_factory=dict)  # columns that cannot be features, with the reasons
    n_unlabelled: int = 0  # the number of rows without a label that were dropped
    # The number of rows that are neither trained on nor held out, by the reason.
    not_used: dict[str, int] = field(default_factory=dict)
    cautions: Sequence[Caution] = ()  # why the figures may be too good: about the split and the columns
    history: History | None = None  # of the features that are made of earlier rows
    data: DataRecord | None = None  # the record of all rows, if it was asked for
    history_trials: Sequence[HistoryTrial] = ()  # whether such features help, if that was tried

    @property
    def counts(self) -> dict[Any, int]:
        return dict(zip(self.labels.names, self.labels.counts.tolist(), strict=True))

    @property
    def n_rows(self) -> int:
        return sum(self.counts.values())

    @property
    def few_cases(self) -> bool:
        """Whether there are too few rare rows for reliable figures."""
        return min(self.counts.values()) < FEW_CASES


@dataclass(frozen=True)
class OpenedSource:
    """An opened table, and what is known about it before it is split."""

    table: StreamedTable
    facts: TableFacts
    entities: Sequence[str] = ()  # columns that are called like groups of rows, such as cards, if no group was named
    like_entities: Sequence[str] = ()  # features that may be such groups, by their values
    sample: Mapping[int, str] = field(default_factory=dict)  # the hashes of some rows for the record, by their numbers


def open_source(
    request: TrainRequest,
    progress: tables.Progress | None = None,
    also: Sequence[str] = (),
    first_test: Callable[[tables.Moments], Any] | None = None,
    for_record: bool = False,
) -> OpenedSource:
    """Open the rows of a request, drop the columns that cannot be features, and load the rest if it is small.

    `also` are further columns that will be read; they may be features too. `first_test` finds in the times of all rows
    when the rows that a model is judged by begin; by default those that the request holds out.
    `for_record` asks for the record of the rows, which is one more pass over files that are not loaded.
    """
    reader, fields, exclude = _reader(request, progress, also)
    assert reader.n_rows is not None
    n_all, n_columns = reader.n_rows, len(reader.column_names) + len(reader.left_out)
    in_memory = not request.out_of_core and fits_in_memory(n_all, n_columns)
    if in_memory:
        pa.default_memory_pool().release_unused()  # what the conversion of text files took
        reader = reader.loaded(list(fields))
    record, sample = _record(request, reader, list(fields)) if for_record else (None, {})
    history = None
    if request.history is not None:
        others = _candidates(replace(request, columns=None), list(fields), exclude)
        reader, history = _with_history(request, reader, others, first_test)
        fields |= dict.fromkeys(history.feature_names, pa.float32())
        exclude = [*exclude, *HistoryRequest(history.entities).columns]
    if request.drop_unlabelled:
        labelled = labelled_rows(reader, request.target)
        reader, places = reader.part(labelled), np.cumsum(labelled) - 1
        sample = {int(places[number]): hash for number, hash in sample.items() if labelled[number]}
    labels, profiles, times = _seen(reader, request.target, _candidates(request, list(fields), exclude))
    described = list(profiles.values())
    dropped = {} if request.columns is not None else dropped_columns(described)
    features = [name for name in profiles if name not in dropped]
    if not features:
        reasons = ", ".join(f"{name!r} ({reason})" for name, reason in dropped.items())
        raise TableError(f"No column of {request.source} is left as a feature. Dropped were {reasons}")
    schema = frozen_schema(reader, fields, features, profiles)
    roles, labels = _one_label(request.roles, labels)
    named = entities(described) if roles.group_column is None else []
    if in_memory:  # without the columns that will not be read
        along = (*roles.columns, *named, *also, *request.history_columns)
        reader = reader.loaded(list(dict.fromkeys([*schema.sources, *along])))
    # A fit does not read the columns to keep.
    table = StreamedTable(reader, schema, replace(roles, keep=()), known_labels=labels)
    n_rows = int(labels.codes.size)
    known = (labels, schema, n_rows, roles.pos_label, in_memory, dropped, n_all - n_rows)
    facts = TableFacts(*known, cautions=times, history=history, data=record)
    may_be = like_entities(described, n_rows) if in_memory and roles.group_column is None else []
    alike = [name for name in may_be if name in features and name not in named]
    return OpenedSource(table, facts, named, alike, sample)


def _record(request: TrainRequest, reader: Reader, names: Sequence[str]) -> tuple[DataRecord, Mapping[int, str]]:
    """The record of all rows of the source, with those that are held out or have no label, and some of the rows."""
    data, digest = data_of(request.source), tables.digest_of(reader, names)
    ends: tuple[str | None, str | None] = (None, None)
    if request.time_column is not None:
        moments = tables.moments_in(reader.column(request.time_column), request.time_column, request.time_unit)
        ends = str(moments.min()), str(moments.max())
    connection = data.reading.get("connection")
    sources = (*(() if connection is None else (shown(str(connection)),)), str(data))
    known = (sources, digest.n_rows, digest.rows, digest.columns, request.time_column)
    return DataRecord(*known, *ends), digest.sample


def _with_history(
    request: TrainRequest,
    reader: Reader,
    names: Sequence[str],
    first_test: Callable[[tables.Moments], Any] | None,
) -> tuple[Reader, History]:
    """The rows with the features of their history, and the description of these features.

    Entities that were not named are looked for among some columns. The base rate is that of the rows whose labels are
    known when the rows to judge by begin.
    """
    asked = request.history
    assert asked is not None
    assert request.time_column is not None
    labelled = labelled_rows(reader, request.target)
    found, profiles, _ = _seen(reader.part(labelled), request.target, names if asked.entities is None else ())
    chosen = asked.entities or entities(list(profiles.values()))
    if not chosen:
        raise TableError(
            "--history auto found no column that several rows belong to, such as a card or a customer. Name such "
            "columns: --history customer,terminal."
        )
    history = History(
        request.time_column,
        chosen,
        amount_column=request.amount,
        windows=asked.windows,
        delay=asked.delay,
        decimals=2 if request.amount is None else _decimals(reader.column(request.amount), request.amount),
        time_unit=request.time_unit,
    )
    if history.delay is None:
        return reader_with_history(history, reader), history
    roles, labels = _one_label(request.roles, found)
    rare = labels.score_label(roles.pos_label)
    moments = tables.moments_in(reader.column(history.time_column), history.time_column, history.time_unit)
    first = (first_test or partial(first_held_out, share=request.holdout))(moments)
    is_rare = np.full(labelled.size, np.nan)
    is_rare[labelled] = labels.codes == labels.names.index(named_among(labels.names, rare))
    known = moments + tables.span_in(history.delay, moments, "--delay") <= first
    history = history.with_base_rate(is_rare[known])
    return reader_with_history(history, reader, (request.target, rare)), history


def reader_with_history(
    history: History, reader: Reader, labels: tuple[str | None, Any] = (None, None), past: Reader | None = None
) -> Reader:
    """A reader of the same rows with the features of their history: in memory, or in a temporary file if they are many.

    `labels` are the column of labels and the label of rare rows. Rows of the past are looked at, too.
    """
    refuse_taken(history, reader.column_names)
    batches = described_batches(history, reader, past, labels)
    first = next(batches)
    if reader.loaded_from is not None:
        return reader.holding(pa.Table.from_batches([first, *batches]))
    return open_reader(pa.RecordBatchReader.from_batches(first.schema, chain([first], batches)), {}, list)


def first_held_out(moments: tables.Moments, share: float) -> Any:
    """When the last rows begin, which are so large a share of all."""
    position = math.ceil((1 - share) * (moments.size - 1))
    return np.partition(moments, position)[position]


# Amounts are rounded to so many decimals at most.
MOST_DECIMALS = 6


def _decimals(column: Any, name: str) -> int:
    """How many decimals amounts are written with, so that rounding loses nothing.

    >>> _decimals(pa.array([12.5, None, 3.25]), "amount")
    2
    """
    if not tables.are_numbers(column.type):
        raise TableError(f"The column of amounts {name!r} is {column.type}. Name a column of numbers.")
    amounts = column.drop_null().cast("float64", safe=False).to_numpy(zero_copy_only=False)
    amounts = amounts[np.isfinite(amounts)]
    for decimals in range(MOST_DECIMALS):
        units = amounts * 10.0**decimals
        if np.allclose(units, np.rint(units), rtol=1e-12, atol=1e-6):
            return decimals
    return MOST_DECIMALS


def excluded(given: Sequence[str], names: Sequence[str]) -> list[str]:
    """The columns to exclude. On the command line, commas may separate several names."""
    return [part for name in given for part in ([name] if name in names else name.split(","))]


def _reader(
    request: TrainRequest, progress: tables.Progress | None, also: Sequence[str]
) -> tuple[Reader, dict[str, object], list[str]]:
    """A reader of the rows, the columns that will be read with their types, and those that are excluded."""
    data, own = data_of(request.source), {*request.roles.columns, *also, *request.history_columns}

    def needed(names: Iterable[str]) -> list[str]:
        known = list(names)
        exclude = excluded(request.exclude, known)
        return [name for name in known if name in own or name not in exclude]

    reader = open_reader(data.source, {**data.reading, "progress": progress}, needed)
    names = [*reader.column_names, *reader.left_out]
    exclude = excluded(request.exclude, names)
    for name in (*request.roles.columns, *exclude, *also, *request.history_columns):
        if name not in names:
            raise TableError(
                f"There is no column {name!r} in {request.source}.{did_you_mean(name, names)} "
                f"Its columns are {', '.join(map(repr, names))}."
            )
    fields = tables.unified_fields(reader.files, exclude).items()
    return reader, {name: kind for name, kind in fields if name in own or name not in exclude}, exclude


def _candidates(request: TrainRequest, names: Sequence[str], exclude: Sequence[str]) -> list[str]:
    if request.columns is None:
        return [name for name in names if name not in {*exclude, *request.roles.not_features}]
    missing = [name for name in request.columns if name not in names]
    if missing:
        raise TableError(f"{request.source} has no column {missing[0]!r}, which the model was trained with. Add it.")
    return list(request.columns)


def labelled_rows(reader: Reader, target: str) -> NDArray[np.bool_]:
    column = tables.plain(reader.column(target))
    labels = np.asarray(column.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
    values = column.to_numpy(zero_copy_only=False)
    labels &= values == values if values.dtype.kind == "f" else True  # NaN is a missing label
    if not labels.any():
        raise TableError(f"No row of column {target!r} has a label.")
    return labels


def _seen(
    reader: Reader, target: str, names: Sequence[str]
) -> tuple[tables.Labels, dict[str, tables.ColumnProfile], list[Caution]]:
    """The labels, the profiles of some columns, and those of them that are like a time, in one pass."""
    labels = tables.LabelLook(tables.Roles(target))
    looks = {name: OrderLook(name) for name in names}
    tables.look_through(reader, {target: labels, **looks})
    profiles = {name: look.result() for name, look in looks.items()}
    times = (look.caution(profiles[name]) for name, look in looks.items())
    return labels.labels(), profiles, [one for one in times if one is not None]


def _one_label(roles: tables.Roles, labels: tables.Labels) -> tuple[tables.Roles, tables.Labels]:
    """The roles with the label that the user typed, and the labels as that label and all others."""
    if roles.pos_label is None:
        return roles, labels
    for name in labels.names:
        if str(name) == roles.pos_label:
            others = tuple(other for other in labels.names if other != name)
            return replace(roles, pos_label=name, other_labels=others), labels.separated(name, roles.target)
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


def scores_output(options: Namespace) -> Place | tables.DatabaseTable:
    """The file, or the table of a database, that scores are written to."""
    if not is_database(options.output):
        if options.table is not None or options.if_exists != "fail":
            raise TableError(f"--table and --if-exists are for a database, but {options.output} is a file. Omit them.")
        return check_output(options.output, [".parquet", ".csv"])
    if options.table is None:
        raise TableError(f"{shown(options.output)} is a database. Name the table for the scores: --table scores")
    return tables.DatabaseTable(options.output, options.table, options.if_exists)


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
