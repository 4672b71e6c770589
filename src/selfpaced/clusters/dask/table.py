"""Tables of Dask data frames and of files that Dask workers read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from selfpaced.clusters.dask.engine import DaskEngine, OnDaskWorkers, naming_the_cluster
from selfpaced.clusters.partitions import (
    Along,
    PartitionedTable,
    PartitionFacts,
    array_facts,
    array_rows,
    first_tags,
    fits_elsewhere,
    frame_facts,
    frame_roles,
    frame_rows,
    in_order_of_ids,
)
from selfpaced.exceptions import TableError, import_arrow
from selfpaced.pools import GROUP, Tags
from selfpaced.storage import Place, RemoteFile, patiently
from selfpaced.tables import (
    ID,
    WEIGHT,
    InMemoryTable,
    Roles,
    Schema,
    TableOptions,
    group_hashes,
    is_dask,
    is_dask_array,
)
from selfpaced.tables.files import without_views
from selfpaced.tables.sources import find_files, lake_of

LABEL = "__selfpaced_label__"


def import_dask() -> Any:
    try:
        import dask
        import dask.dataframe
        import distributed  # noqa: F401  a cluster of one machine is one, too
    except ImportError as error:
        raise ImportError(f"Dask is not installed ({error}): pip install 'selfpaced[dask]'") from error
    return dask


def active_client(client: Any) -> Any:
    """The client given, or the one that is active; it must be open."""
    import_dask()
    from distributed import default_client

    if client is None:
        try:
            client = default_client()
        except ValueError as error:
            raise ValueError(
                "No Dask client is active. Make one, client = distributed.Client(...), and pass client=client."
            ) from error
    if client.status != "running":
        raise ValueError(f"The Dask client is {client.status}. Connect a new one: client = distributed.Client(...).")
    if client.asynchronous:
        raise ValueError("The Dask client is asynchronous, but fit waits for results. Use Client(asynchronous=False).")
    return client


def open_dask_frame(frame: Any, **options: Unpack[TableOptions]) -> PartitionedTable:
    """A Dask DataFrame. Its columns are read through one list of partitions: each projection could make its own."""
    roles, features = frame_roles(frame, options)
    client = active_client(options.get("client"))
    given = {LABEL: roles.target, WEIGHT: roles.weight_column, ID: roles.id_column, GROUP: roles.group_column}
    columns = {role: name for role, name in given.items() if name is not None}
    chosen = frame[list(dict.fromkeys([*features, *columns.values()]))]
    parts = _FrameParts(features, columns, options.get("timezone"))
    table = _open(client, chosen.to_delayed(), parts, roles, has_ids=roles.id_column is not None)
    return fitting_on(table, options.get("fit_on", "driver"), client)


def fitting_on(table: PartitionedTable, fit_on: str, client: Any) -> PartitionedTable:
    """The table with members that are trained in this process ("driver") or on workers ("executor")."""
    return replace(table, elsewhere=OnDaskWorkers(client)) if fits_elsewhere(fit_on) else table


# What may go along with a Dask array of features, by the names of the arguments.
ALONG_ARRAYS = ("y", "sample_weight", "ids", "groups")


def open_dask_arrays(X: Any, others: Mapping[str, Any], client: Any) -> PartitionedTable:
    """Dask arrays of features and of `ALONG_ARRAYS`, those but the labels None where not given, in the same chunks."""
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, rows and features; it has {X.ndim}.")
    X = X.rechunk({1: -1})
    arrays = [X, *(_in_chunks_of(X, name, others[name]) for name in ALONG_ARRAYS)]
    dask = import_dask()
    blocks = [[None] * X.numblocks[0] if one is None else one.to_delayed().ravel().tolist() for one in arrays]
    together = [dask.delayed(tuple)(list(block)) for block in zip(*blocks, strict=True)]
    roles = Roles(group_column=None if others["groups"] is None else "groups")
    return _open(client, together, _ArrayParts(), roles, has_ids=others["ids"] is not None)


def _in_chunks_of(X: Any, name: str, one: Any) -> Any:
    if one is None:
        return None
    if not is_dask_array(one) or one.ndim != 1:
        raise TypeError(f"With a Dask array of features, {name} must be a Dask array of one dimension; got {one!r}.")
    if np.isnan(sum(X.chunks[0])) or np.isnan(sum(one.chunks[0])):
        if one.numblocks[0] != X.numblocks[0]:
            raise ValueError(
                f"X has {X.numblocks[0]} chunks of rows, but {name} has {one.numblocks[0]}. Give both the same chunks."
            )
        return one  # lengths are compared where the rows are
    if one.shape[0] != X.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows, but {name} has {one.shape[0]}. Give one for each row.")
    return one.rechunk((X.chunks[0],))


class _FrameParts:
    """How the partitions of a frame are read."""

    def __init__(self, features: list[str], columns: dict[str, str], zone: str | None) -> None:
        self._features = features
        self._columns = columns
        self.zone = zone

    def facts(self, part: Any, path: str) -> PartitionFacts:
        return frame_facts(as_batch(part[self._features], path), self.labels(part), path)

    def rows(self, part: Any, schema: Schema, path: str) -> InMemoryTable:
        groups = self._column(part, GROUP)
        hashes = None if groups is None else group_hashes(groups, f"The groups of {path}")
        along = Along(self._column(part, WEIGHT), hashes)
        return frame_rows(as_batch(part[self._features], path), schema, along, path)

    def labels(self, part: Any) -> NDArray[Any]:
        return np.asarray(part[self._columns[LABEL]])

    def ids(self, part: Any) -> NDArray[Any] | None:
        return self._column(part, ID)

    def _column(self, part: Any, role: str) -> NDArray[Any] | None:
        return np.asarray(part[self._columns[role]]) if role in self._columns else None


def as_batch(frame: Any, path: str) -> Any:
    """A pandas frame as a record batch."""
    pa = import_arrow()
    try:
        batch = pa.RecordBatch.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, TypeError) as error:
        raise TableError(
            f"{path} has a column with values of several types, which models cannot read: {error}"
        ) from error
    return batch.cast(pa.schema(map(without_views, batch.schema)))


class _ArrayParts:
    """How chunks of arrays are read: features, and `ALONG_ARRAYS`."""

    zone = None

    def facts(self, part: Any, path: str) -> PartitionFacts:
        X, y, *others = part
        for name, one in zip(ALONG_ARRAYS, (y, *others), strict=True):
            if one is not None and len(one) != len(X):
                raise ValueError(
                    f"{path} of X has {len(X)} rows, but that of {name} has {len(one)}. Give one for each row."
                )
        return array_facts(X, y, path)

    def rows(self, part: Any, schema: Schema | None, path: str) -> InMemoryTable:
        groups = None if part[4] is None else group_hashes(np.asarray(part[4]), f"The groups of {path}")
        return array_rows(part[0], Along(part[2], groups), path)

    def labels(self, part: Any) -> NDArray[Any]:
        return np.asarray(part[1])

    def ids(self, part: Any) -> NDArray[Any] | None:
        return None if part[3] is None else np.asarray(part[3])


def _open(client: Any, delayed: Sequence[Any], parts: Any, roles: Roles, *, has_ids: bool) -> PartitionedTable:
    loaded = client.compute(list(delayed))
    paths = [f"partition {number}" for number in range(len(loaded))]
    with naming_the_cluster():
        told = client.gather(client.map(parts.facts, loaded, paths, pure=False))
    facts = PartitionFacts.merge(told)
    schema, labels = facts.frozen_schema(parts.zone), facts.class_counts(roles)
    starts = np.cumsum([0, *(one.n_rows for one in told)]).tolist()[:-1]
    classes = [labels.classes] * len(loaded)
    rows = client.map(parts.rows, loaded, [schema] * len(loaded), paths, pure=False)
    tags = client.map(_tags, [parts] * len(loaded), loaded, starts, classes, paths, pure=False)
    begin = partial(DaskEngine, client, rows, tags, in_order_of_ids)
    return PartitionedTable(begin, labels, schema, roles, has_ids)


def _tags(parts: Any, part: Any, start: int, classes: NDArray[Any], path: str) -> Tags:
    labels, ids = parts.labels(part), parts.ids(part)
    if ids is None:
        ids = np.arange(start, start + labels.size, dtype=np.uint64)
    return first_tags(ids, labels, classes, path)


def with_column(frame: Any, role: str, given: Any) -> tuple[Any, str | None]:
    """A frame that has what was given as a column, and the column's name: a name, a column of the frame, or another."""
    if given is None or isinstance(given, str):
        return frame, given
    dask = import_dask()
    if not (is_dask(given) and hasattr(given, "to_frame")):
        raise TypeError(
            f"With a Dask DataFrame, labels, weights and ids are Dask Series or names of columns; got a "
            f"{type(given).__name__}."
        )
    if given.name in frame.columns and dask.base.tokenize(frame[given.name]) == dask.base.tokenize(given):
        return frame, given.name
    return frame.assign(**{role: given}), role


def over_frame(work: Any, frame: Any, names: Sequence[str], width: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """A lazy array of what `work` makes of each partition. Nobody knows how long these are until they are there."""
    dask = import_dask()
    from dask import array as da

    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise TableError(f"X has no column {missing[0]!r}, which the model was trained with.")
    sent = dask.delayed(work, traverse=False)
    blocks = [
        da.from_delayed(dask.delayed(_called)(sent, part), shape=(np.nan, *width), dtype=dtype)
        for part in frame[list(names)].to_delayed()
    ]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def over_array(work: Any, array: Any, width: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """The same for an array."""
    dropped = {"chunks": (array.chunks[0], width)} if width else {"drop_axis": 1}
    return array.rechunk({1: -1}).map_blocks(
        work, dtype=dtype, meta=np.empty((0,) * (1 + len(width)), dtype), **dropped
    )


def _called(work: Any, part: Any) -> Any:
    return work(part)


PARQUET = (".parquet", ".pq")
BYTES_OF_A_PIECE = 2**27  # uncompressed; a file with smaller row groups is cut into several pieces
ON_A_CLUSTER = "The files must be where every machine of the cluster finds them by the same path or URL."


@dataclass(frozen=True)
class Piece:
    """Some row groups of a Parquet file, and the columns that the names of its folders add."""

    place: Place
    groups: tuple[int, ...]
    added: Mapping[str, Any]

    def read(self, columns: Sequence[str] | None = None) -> Any:
        """A pandas frame of some columns, or of all. A file that is not here is named with the machine."""
        try:
            frame = patiently(lambda: self._rows(columns))
        except FileNotFoundError as error:
            from socket import gethostname

            raise TableError(f"{self.place} is not there for the worker on {gethostname()}. {ON_A_CLUSTER}") from error
        frame = frame.assign(**self.added)
        missing = [] if columns is None else [name for name in columns if name not in frame.columns]
        if missing:
            raise TableError(f"{self.place} has no column {missing[0]!r}; its columns are {list(frame.columns)}.")
        return frame if columns is None else frame[list(columns)]

    def _rows(self, columns: Sequence[str] | None) -> Any:
        in_file = None if columns is None else [name for name in columns if name not in self.added]
        with _opened(self.place) as file:
            return file.read_row_groups(list(self.groups), columns=in_file, use_threads=False).to_pandas()


def parquet_pieces(source: Any) -> list[Piece]:
    """The pieces of all files that a path, URL, folder or pattern means, in the order of the rows."""
    lake = lake_of(source)
    if lake is not None:
        raise TableError(
            f"{source} is the folder of a {lake}, and its files also hold rows that have been deleted or replaced. A "
            "cluster reads plain Parquet files. Train without a cluster, or write the live rows to Parquet files."
        )
    found = find_files(source)
    for place, _ in found:
        if place.suffix.lower() not in PARQUET:
            raise TableError(f"{place} is not a Parquet file. A cluster reads Parquet files: convert it first.")
    return [piece for place, added in found for piece in _pieces(place, added)]


def _pieces(place: Place, added: Mapping[str, Any]) -> Iterator[Piece]:
    with patiently(lambda: _opened(place)) as file:
        groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
    piece, n_bytes = Piece(place, (), added), 0
    for number, group in enumerate(groups):
        if piece.groups and n_bytes + group.total_byte_size > BYTES_OF_A_PIECE:
            yield piece
            piece, n_bytes = replace(piece, groups=()), 0
        piece, n_bytes = replace(piece, groups=(*piece.groups, number)), n_bytes + group.total_byte_size
    if piece.groups:
        yield piece


def _opened(place: Place) -> Any:
    import pyarrow.parquet as pq

    return pq.ParquetFile(place.open() if isinstance(place, RemoteFile) else Path(place))


def frame_of_pieces(pieces: Sequence[Piece]) -> Any:
    """A Dask DataFrame with a partition for every piece. Rows keep their order."""
    import dask.dataframe as dd

    if not pieces:
        raise TableError("The files have no rows.")
    with _opened(pieces[0].place) as file:
        empty = file.schema_arrow.empty_table().to_pandas().assign(**pieces[0].added)
    # What a partition holds is looked at where it lies: whole numbers with missing values are floats, for instance.
    return dd.from_map(read_piece, list(pieces), meta=empty.iloc[:0], enforce_metadata=False)


def read_piece(piece: Piece, columns: Sequence[str] | None = None) -> Any:
    """What a worker does for a partition. Dask asks for the columns that are used."""
    return piece.read(columns)
