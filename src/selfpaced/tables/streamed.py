"""A table in files that is read from start to end, batch by batch."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import TableError
from selfpaced.pools.keys import Ids, row_keys
from selfpaced.pools.reserved_rounds import TABLE_SAMPLE_ROUND
from selfpaced.pools.rows import Rows
from selfpaced.scoring import Scorer
from selfpaced.tables.files import File, LoadedFile, import_arrow
from selfpaced.tables.labels import MOST_LABELS, Labels
from selfpaced.tables.schema import Described, Schema

# Names of what is kept beside the features of a row; no column of a table may be called so.
ID, WEIGHT = "__selfpaced_id__", "__selfpaced_weight__"


@dataclass(frozen=True)
class Roles:
    """Which column is what, besides the features.

    Attributes
    ----------
    filter : an Arrow expression that rows must satisfy, or None.
    filter_columns : the columns it looks at.
    keep : columns that are carried along to the scores.
    """

    target: str | None = None
    weight: str | None = None
    id: str | None = None
    filter: Any = None
    filter_columns: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()


@dataclass(frozen=True)
class ArrayTable:
    """An array with labels, such as a memory map: read where it lies."""

    features: NDArray[Any]
    labels: Any

    def facts(self) -> dict[str, Any]:
        """What tells this array from another. A file that it is a map of is told by its name and time."""
        path = getattr(self.features, "filename", None)
        content = _told(Path(path)) if path else joblib.hash(np.ascontiguousarray(self.features))
        labels = joblib.hash(np.asarray(self.labels))
        return {"shape": self.features.shape, "features": content, "labels": labels}


@dataclass
class StreamedTable:
    """Files with rows, and how to read them.

    Attributes
    ----------
    positive : the label that is told from all others, if the target has more than two.
    memory_for_tags : bytes; if the running sums, 4 a row, take more, they go to a temporary file.
    chosen : which of the rows that pass the filter belong to the table; None if all do.
    n_rows : rows that belong to the table; None until they have been counted.
    """

    files: Sequence[File | LoadedFile]
    schema: Schema
    roles: Roles
    positive: Any = None
    batch_rows: int = 2**16
    memory_for_tags: int = 2**31
    chosen: NDArray[np.bool_] | None = None
    n_rows: int | None = field(default=None, init=False)

    def part(self, chosen: NDArray[np.bool_]) -> StreamedTable:
        """A table of some of the rows: those where `chosen` is true."""
        rows = chosen.copy() if self.chosen is None else self.chosen.copy()
        if self.chosen is not None:
            rows[self.chosen] = chosen
        table = replace(self, chosen=rows)
        table.n_rows = int(rows.sum())
        return table

    def loaded(self) -> StreamedTable:
        """The same table in memory: what is read more than once is decoded only once."""
        pa = import_arrow()
        roles = self.roles
        extra = [name for name in (roles.target, roles.weight, roles.id, *roles.keep) if name is not None]
        columns = list(dict.fromkeys([*self.schema.sources, *extra]))
        batches = [batch for _, batch in self._read(columns)]
        fields = [pa.field(name, self.files[0].schema.field(name).type) for name in columns]
        rows = pa.Table.from_batches(batches, None if batches else pa.schema(fields))
        return replace(
            self, files=[LoadedFile(self.files[0].path, rows)], roles=replace(roles, filter=None), chosen=None
        )

    def labels(self) -> Labels:
        """Read the target alone: the classes, and the number of each row's class."""
        assert self.roles.target is not None
        collected = _Collected()
        for file, batch in self._read([self.roles.target]):
            collected.add(batch.column(self.roles.target), file)
        self.n_rows = collected.n_rows
        return collected.labels(self.roles.target, self.positive)

    def column(self, name: str) -> Any:
        """A column whole, as an Arrow array."""
        pa = import_arrow()
        return pa.chunked_array([batch.column(name) for _, batch in self._read([name])]).combine_chunks()

    def sample(self, n_rows: int, seed: int = 0) -> Any:
        """A pandas frame of the features of some rows, drawn at random but kept in order."""
        assert self.n_rows is not None
        keys = row_keys(np.arange(self.n_rows, dtype=np.uint64), seed, TABLE_SAMPLE_ROUND)
        some = np.zeros(self.n_rows, dtype=bool)
        some[np.argsort(keys)[:n_rows]] = True
        return self.part(some).features()

    def features(self) -> Any:
        """The features of all rows as a pandas frame."""
        pa = import_arrow()
        return pa.Table.from_batches([batch._converted() for batch in self.batches()]).to_pandas()

    def facts(self) -> dict[str, Any]:
        """What tells this table from another, for whoever goes on with a fit."""
        files = [_told(file.path) for file in self.files]
        roles = {name: str(value) for name, value in vars(self.roles).items() if name != "filter"}
        return {
            "files": files,
            "features": repr(self.schema.columns),
            **roles,
            # In words, an expression leaves out what is long about it.
            "filter": sha256(pickle.dumps(self.roles.filter)).hexdigest(),
            "chosen": None if self.chosen is None else sha256(self.chosen.tobytes()).hexdigest(),
            "positive": self.positive,
        }

    def batches(self) -> Iterator[StreamedBatch]:
        """All rows in order, with ids and weights."""
        start = 0
        extra = [name for name in (self.roles.id, self.roles.weight, *self.roles.keep) if name is not None]
        for file, batch in self._read([*self.schema.sources, *extra]):
            yield StreamedBatch(start, start + batch.num_rows, self, batch, str(file.path))
            start += batch.num_rows
        if self.n_rows is not None and start != self.n_rows:
            raise TableError(f"The table had {self.n_rows} rows at first, and has {start} now: its files have changed.")

    def ids_of(self, positions: NDArray[np.intp]) -> Ids:
        if self.roles.id is None:
            return positions.astype(np.uint64)
        parts, start = [], 0
        for file, batch in self._read([self.roles.id]):
            here = positions[np.searchsorted(positions, start) : np.searchsorted(positions, start + batch.num_rows)]
            parts.append(_ids(batch.column(self.roles.id), self.roles.id, file)[here - start])
            start += batch.num_rows
        return np.concatenate(parts)

    def joined(self, kept: Sequence[Any]) -> Any:
        pa = import_arrow()
        return pa.Table.from_batches(kept)

    def picked(self, kept: Any, positions: NDArray[np.intp]) -> Any:
        pa = import_arrow()
        picked = kept.take(pa.array(positions)).combine_chunks()
        return picked.to_batches()[0] if picked.num_rows else kept.slice(0, 0).to_batches()[0]

    def rows(self, kept: Any) -> Rows:
        """Rows sorted by id, features as a pandas frame. An id that comes twice is refused."""
        pa = import_arrow()
        table = pa.Table.from_batches([kept]) if isinstance(kept, pa.RecordBatch) else kept
        ids = table.column(ID).to_numpy()
        order = np.argsort(ids, kind="stable")
        table, ids = table.take(pa.array(order)), ids[order]
        twice = np.flatnonzero(ids[1:] == ids[:-1])
        if twice.size:
            raise TableError(f"The id {ids[twice[0]]} in column {self.roles.id!r} comes more than once.")
        weights = {"sample_weight": table.column(WEIGHT).to_numpy()} if WEIGHT in table.column_names else {}
        return Rows(ids, table.select(self.schema.names).to_pandas(), weights)

    def _read(self, columns: Sequence[str]) -> Iterator[tuple[Described, Any]]:
        """Some columns of the rows that belong to the table."""
        wanted = list(dict.fromkeys(columns))
        read = list(dict.fromkeys([*wanted, *self.roles.filter_columns]))
        start = 0
        for file in self.files:
            for batch in file.batches(read, self.batch_rows):
                for part in [batch] if self.roles.filter is None else self._filtered(file, batch, wanted):
                    chosen = self._chosen_of(part, start)
                    start += part.num_rows
                    if chosen.num_rows:
                        yield file, chosen

    def _filtered(self, file: Described, batch: Any, wanted: Sequence[str]) -> list[Any]:
        pa = import_arrow()
        try:
            rows = pa.Table.from_batches([batch]).filter(self.roles.filter)
        except pa.ArrowException as error:
            raise TableError(f"The filter does not suit the columns of {file.path}: {error}") from error
        batches: list[Any] = rows.select(wanted).combine_chunks().to_batches()
        return batches

    def _chosen_of(self, batch: Any, start: int) -> Any:
        if self.chosen is None:
            return batch
        return batch.filter(import_arrow().array(self.chosen[start : start + batch.num_rows]))


@dataclass(frozen=True)
class StreamedBatch:
    """Some consecutive rows of a streamed table."""

    start: int
    stop: int
    table: StreamedTable
    batch: Any
    where: str

    @property
    def ids(self) -> Ids:
        column = self.table.roles.id
        if column is None:
            return np.arange(self.start, self.stop, dtype=np.uint64)
        return _ids(self.batch.column(column), column, self.where)

    def check(self) -> None:
        """Refuse infinity, as `fit` does, with the name of the file and the column."""
        import pyarrow.compute as pc

        pa = import_arrow()
        for name in self.table.schema.sources:
            column = self.batch.column(name)
            if pa.types.is_floating(column.type) and pc.any(pc.is_inf(column)).as_py():
                raise TableError(
                    f"Column {name!r} of {self.where} contains infinity. Replace it by a finite number, or by a gap if "
                    "the base model takes missing values."
                )

    def features_for(self, scorers: Sequence[Scorer]) -> Any:
        """A pandas frame, or plain numbers for models that read nothing else."""
        converted = self._converted()
        if all(scorer.reads_float32 for scorer in scorers) and not self.table.schema.has_categories:
            return _float32(converted)
        return converted.to_pandas()

    def kept(self) -> dict[str, Any]:
        """The columns that are carried along."""
        return {name: self.batch.column(name) for name in self.table.roles.keep}

    def take(self, positions: NDArray[np.intp]) -> Any:
        pa = import_arrow()
        where = pa.array(positions)
        some = StreamedBatch(self.start, self.stop, self.table, self.batch.take(where), self.where)._converted()
        columns = {ID: pa.array(self.ids[positions])}
        if self.table.roles.weight is not None:
            columns[WEIGHT] = _weights(self.batch.column(self.table.roles.weight).take(where), self)
        arrays, names = [*some.columns, *columns.values()], [*some.schema.names, *columns]
        return pa.RecordBatch.from_arrays(arrays, names=names)

    def _converted(self) -> Any:
        return self.table.schema.converted(self.batch, self.where)


def _float32(batch: Any) -> NDArray[np.float32]:
    """All columns side by side. Large whole numbers take the way over float64, as they do in a frame."""
    numbers = np.empty((batch.num_rows, batch.num_columns), dtype=np.float32)
    for position, column in enumerate(batch.columns):
        values = column.to_numpy(zero_copy_only=False)
        numbers[:, position] = values if values.dtype.kind == "f" else values.astype(np.float64)
    return numbers


def _ids(column: Any, name: str, where: Any) -> Ids:
    pa = import_arrow()
    path = getattr(where, "path", where)
    if not pa.types.is_integer(column.type) or column.null_count:
        raise TableError(
            f"The id column {name!r} of {path} must hold whole numbers, one for each row; it is {column.type} with "
            f"{column.null_count} gaps."
        )
    wide = pa.uint64() if pa.types.is_unsigned_integer(column.type) else pa.int64()
    ids: Ids = column.cast(wide).to_numpy().astype(np.uint64)
    return ids


def _weights(column: Any, batch: StreamedBatch) -> Any:
    pa = import_arrow()
    name = batch.table.roles.weight
    if column.null_count:
        raise TableError(f"The weight column {name!r} of {batch.where} has gaps; every row needs a weight.")
    try:
        return column.cast(pa.float64())
    except pa.ArrowException as error:
        raise TableError(f"The weight column {name!r} of {batch.where} is {column.type}, not numbers.") from error


def _told(path: Path) -> tuple[str, int, int]:
    """A file by its name, size and time: that of a CSV file itself, not of what was made of it."""
    status = path.stat()
    return str(path), status.st_size, status.st_mtime_ns


class _Collected:
    """Labels on their way in: a byte a row while there are few of them."""

    def __init__(self) -> None:
        self.n_rows = 0
        self._known: Any = None
        self._numbers: list[NDArray[np.uint8]] = []

    def add(self, column: Any, file: Described) -> None:
        import pyarrow.compute as pc

        pa = import_arrow()
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if column.null_count or (pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py()):
            raise TableError(f"{file.path} has rows without a label. Drop them, or label them.")
        new = column.unique()
        if self._known is None:
            self._known = new
        elif self._known.type != new.type:
            column, new = self._alike(column, file), self._alike(new, file)
        fresh = new.filter(pc.invert(pc.is_in(new, value_set=self._known)))
        if len(fresh):
            self._known = pa.concat_arrays([self._known, fresh])
        if len(self._known) > MOST_LABELS:
            raise TableError(
                f"The target has more than {MOST_LABELS} different values; these look like numbers to predict, "
                "not like classes."
            )
        numbers = pc.index_in(column, value_set=self._known)
        self._numbers.append(numbers.to_numpy(zero_copy_only=False).astype(np.uint8))
        self.n_rows += len(column)

    def _alike(self, column: Any, file: Described) -> Any:
        pa = import_arrow()
        try:
            return column.cast(self._known.type)
        except pa.ArrowException as error:
            raise TableError(
                f"The labels of {file.path} are {column.type}, those of the files before it {self._known.type}: {error}"
            ) from error

    def labels(self, target: str, positive: Any) -> Labels:
        if self._known is None:
            raise TableError("The table has no rows; at least two classes with two rows each are needed.")
        found = self._known.to_numpy(zero_copy_only=False)
        if positive is not None:
            found = _told_from_others(found, target, positive)
        classes, number_of = np.unique(found, return_inverse=True)
        numbers = number_of.astype(np.uint8)
        codes = np.concatenate([numbers[part] for part in self._numbers])
        # Part by part: np.bincount makes eight bytes of every row.
        counts = sum(np.bincount(numbers[part], minlength=classes.size) for part in self._numbers)
        return Labels(classes, np.asarray(counts, dtype=np.int64), codes)


def _told_from_others(found: NDArray[Any], target: str, positive: Any) -> NDArray[Any]:
    """The labels, or whether they are the positive one where there are more than two."""
    is_positive: NDArray[Any] = found == positive
    if not np.any(is_positive):
        raise TableError(f"No row of column {target!r} is {positive!r}; the labels found are {sorted(found.tolist())}.")
    return found if found.size <= 2 else is_positive
