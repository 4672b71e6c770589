"""Features of files that are larger than memory.

The events of an entity are divided by its hash over temporary files, each of which fits into memory. So the order of
the rows does not matter, and nothing is sorted outside of memory. The features of each part replace its events on disk,
and are put back into the order of the source, batch by batch. The events of one customer are never divided, so they
must fit into memory.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import TableError, did_you_mean, pa
from selfpaced.history.description import Entity, History, check_labels, refuse_taken
from selfpaced.history.events import NO_ENTITY, Events, read_events
from selfpaced.history.facts import Floats
from selfpaced.history.kernel import describe
from selfpaced.storage import AnyPath, Place, TemporaryFolder
from selfpaced.tables import plain, unified_fields
from selfpaced.tables.files import Reader
from selfpaced.tables.sources import open_reader, refuse_own_source, write_batches

ROWS_AT_ONCE = 2**18  # of the source, and of the output
ROWS_IN_A_PART = 2**19


def write_features(
    history: History,
    source: Any,
    output: AnyPath,
    labels: tuple[str | None, Any],
    past: Any,
    cache: str | PathLike[str] | None,
) -> Place:
    """Write the rows of a source with their features. `labels` are the target column and the label of rare rows."""
    reader, past_reader = _opened(source), None if past is None else _opened(past)
    readers = [reader] if past_reader is None else [past_reader, reader]
    refuse_own_source(output, [file.path for each in readers for file in each.files])
    refuse_taken(history, reader.column_names)
    check_labels(history, labels[0] is not None, labels[0])
    if labels[0] is not None and not any(labels[0] in each.column_names for each in readers):
        names = readers[0].column_names
        raise TableError(
            f"The table has no column {labels[0]!r} of labels. Its columns are {names}.{did_you_mean(labels[0], names)}"
        )
    return cast(Place, write_batches(described_batches(history, reader, past_reader, labels, cache), output))


def _opened(source: Any) -> Reader:
    reader = source if isinstance(source, Reader) else open_reader(source, {}, list)
    return replace(reader, batch_rows=ROWS_AT_ONCE)


def described_batches(
    history: History,
    reader: Reader,
    past: Reader | None,
    labels: tuple[str | None, Any],
    cache: str | PathLike[str] | None = None,
) -> Iterator[Any]:
    """Record batches of all columns of a reader and the features, in the order of its rows."""
    folder = TemporaryFolder(cache)
    n_rows = sum(file.n_rows for one in (reader, past) if one is not None for file in one.files)
    n_parts = -(-n_rows // ROWS_IN_A_PART) or 1
    entities = [
        _Parts(history, entity, others, folder.path / str(number), n_parts)
        for number, (entity, others) in enumerate(history.distinct)
    ]
    zones: set[bool | None] = {None}
    for one, is_past in ((past, True), (reader, False)):
        for events in () if one is None else _events(history, one, labels):
            zones.add(events.has_zone)
            if len(zones) > 2:
                raise TableError(
                    "Some rows have times with a time zone, and others without one. Give all a zone, or none."
                )
            for parts in entities:
                parts.add(events, is_past)
    for parts in entities:
        parts.describe()
    schema = pa.schema(list(unified_fields(reader.files).items()))
    made = pa.schema([*schema, *((name, pa.float32()) for name in history.feature_names)])
    yield pa.RecordBatch.from_pylist([], made)  # for an output without rows
    for number, (_, batch) in enumerate(reader.read(schema.names)):
        features = [values for parts in entities for values in parts.features(number, batch.num_rows)]
        arrays = [*batch.cast(schema, safe=False).columns, *map(pa.array, features)]
        yield pa.RecordBatch.from_arrays(arrays, schema=made)


def _events(history: History, reader: Reader, labels: tuple[str | None, Any]) -> Iterator[Events]:
    """The events of each batch of a reader. Labels are unknown if it has no column of them."""
    target, pos_label = labels
    columns = [name for name in reader.column_names if name in history.columns or name == target]
    for _, batch in reader.read(columns):
        y = plain(batch.column(target)).to_numpy(zero_copy_only=False) if target in columns else None
        yield read_events(history, pa.Table.from_batches([batch]), y, pos_label)


class _Parts:
    """The events of one entity, divided over files by the hash of the entity, and later their features."""

    def __init__(self, history: History, entity: Entity, others: Sequence[Entity], folder: Path, n_parts: int) -> None:
        folder.mkdir()
        self._history = replace(history, entities=(entity,), distinct={entity: others})
        self._paths = [folder / str(number) for number in range(n_parts)]
        for path in self._paths:
            path.touch()
        fields = [("row", np.int32), ("time", np.int64), ("units", np.int64), ("label", np.int8)]
        self._record = np.dtype([*fields, ("keys", np.uint64, len(self._history.keys))])
        self._n_past = np.zeros(n_parts, dtype=np.int64)
        self._counts: list[NDArray[np.int64]] = []  # for each batch, its rows in each part
        self._offsets = np.zeros(n_parts, dtype=np.int64)  # bytes of features that have been read

    def add(self, events: Events, is_past: bool) -> None:
        """Append the events of a batch to the files. Those without the entity have no features, and are left out."""
        own = events.keys[self._history.entities[0]]
        rows = np.flatnonzero(own != NO_ENTITY)
        part_of = (own[rows] % np.uint64(len(self._paths))).astype(np.int64)
        order = np.argsort(part_of, kind="stable")
        rows = rows[order]
        records = np.zeros(rows.size, dtype=self._record)
        records["row"], records["time"] = rows, events.times[rows]
        records["keys"] = np.stack([events.keys[key][rows] for key in self._history.keys], axis=1)
        if events.units is not None:
            records["units"] = events.units[rows]
        if events.labels is not None:
            records["label"] = events.labels[rows]
        counts = np.bincount(part_of, minlength=len(self._paths))
        for path, some in zip(self._paths, np.split(records, np.cumsum(counts)[:-1]), strict=True):
            with path.open("ab") as file:
                some.tofile(file)
        if is_past:
            self._n_past += counts
        else:
            self._counts.append(counts)

    def describe(self) -> None:
        """Replace the events of each file by their features: for each batch a block of positions, then of values."""
        for number, path in enumerate(self._paths):
            records = np.fromfile(path, dtype=self._record)
            events = Events(
                np.ascontiguousarray(records["time"]),
                {key: np.ascontiguousarray(records["keys"][:, at]) for at, key in enumerate(self._history.keys)},
                None if self._history.amount_column is None else np.ascontiguousarray(records["units"]),
                None if self._history.delay is None else np.ascontiguousarray(records["label"]),
            )
            rows = records["row"][self._n_past[number] :].copy()
            del records
            features = list(describe(self._history, events, rows.size).values())
            start = 0
            with path.open("wb") as file:
                for counts in self._counts:
                    some = slice(start, start + counts[number])
                    rows[some].tofile(file)
                    np.stack([values[some] for values in features]).tofile(file)
                    start = some.stop

    def features(self, batch: int, n_rows: int) -> Floats:
        """The features of the rows of a batch, one line for each. Batches are asked for in their order."""
        n_features = len(self._history.feature_names)
        found = np.full((n_features, n_rows), np.nan, dtype=np.float32)
        for number, count in enumerate(self._counts[batch].tolist()):
            offset = int(self._offsets[number])
            rows = np.fromfile(self._paths[number], dtype=np.int32, count=count, offset=offset)
            values = np.fromfile(
                self._paths[number], dtype=np.float32, count=n_features * count, offset=offset + rows.nbytes
            )
            found[:, rows] = values.reshape(n_features, count)
            self._offsets[number] += rows.nbytes + values.nbytes
        return found
