"""Tables of Dask data frames, Dask arrays, and Parquet files that Dask workers read."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from selfpaced.clusters import partitions
from selfpaced.clusters.dask.engine import DaskEngine, naming_the_cluster, on_dask_workers
from selfpaced.clusters.partitions import LABEL, PartitionedTable, PartitionFacts, PartitionRows
from selfpaced.exceptions import TableError, need, pa, pq
from selfpaced.pools import GROUP
from selfpaced.storage import Place, RemoteFile, patiently
from selfpaced.tables import ID, WEIGHT, Roles, TableOptions, is_dask, is_dask_array
from selfpaced.tables.files import without_views
from selfpaced.tables.sources import find_files, lake_of

# How a worker reads a partition, with the name of the partition in errors.
Read = Callable[[Any, str], PartitionRows]


def import_dask() -> Any:
    for module in ("distributed", "dask.dataframe"):
        need(module, "dask", "A Dask cluster")
    return need("dask", "dask", "A Dask cluster")


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
    roles, features = partitions.frame_roles(frame, options)
    client = active_client(options.get("client"))
    given = {LABEL: roles.target, WEIGHT: roles.weight_column, ID: roles.id_column, GROUP: roles.group_column}
    columns = {role: name for role, name in given.items() if name is not None}
    chosen = frame[list(dict.fromkeys([*features, *columns.values()]))]
    read = partial(_read_frame, features, columns)
    table = _open(client, chosen.to_delayed(), read, roles, has_ids=ID in columns, zone=options.get("timezone"))
    return fitting_on(table, options.get("fit_on", "driver"), client)


def fitting_on(table: PartitionedTable, fit_on: str, client: Any) -> PartitionedTable:
    """The same table with members that are trained by the driver ("driver") or by workers ("executor")."""
    if fit_on not in ("driver", "executor"):
        raise ValueError(f'fit_on must be "driver" or "executor"; got {fit_on!r}.')
    return replace(table, elsewhere=on_dask_workers(client)) if fit_on == "executor" else table


def _read_frame(features: list[str], columns: Mapping[str, str], frame: Any, path: str) -> PartitionRows:
    held = {role: np.asarray(frame[name]) for role, name in columns.items()}
    others = (held.get(role) for role in (ID, WEIGHT, GROUP))
    return PartitionRows(path, lambda: _as_batch(frame[features], path), held[LABEL], *others)


def _as_batch(frame: Any, path: str) -> Any:
    try:
        batch = pa.RecordBatch.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, TypeError) as error:
        raise TableError(
            f"{path} has a column with values of several types, which models cannot read: {error}"
        ) from error
    return batch.cast(pa.schema(map(without_views, batch.schema)))


# The arrays that may be given with a Dask array of features, by the names of the arguments.
ARRAYS = ("y", "ids", "sample_weight", "groups")


def open_dask_arrays(X: Any, others: Mapping[str, Any], client: Any) -> PartitionedTable:
    """Dask arrays of features, labels, and of the other `ARRAYS` that are not None, in the same chunks."""
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, rows and features; it has {X.ndim}.")
    X = X.rechunk({1: -1})
    arrays = [X, *(_in_chunks_of(X, name, others[name]) for name in ARRAYS)]
    dask = import_dask()
    blocks = [[None] * X.numblocks[0] if one is None else one.to_delayed().ravel().tolist() for one in arrays]
    together = [dask.delayed(tuple)(list(block)) for block in zip(*blocks, strict=True)]
    roles = Roles(group_column=None if others["groups"] is None else "groups")
    return _open(client, together, _read_arrays, roles, has_ids=others["ids"] is not None)


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


def _read_arrays(part: Sequence[Any], path: str) -> PartitionRows:
    X, *others = (None if one is None else np.asarray(one) for one in part)
    assert X is not None
    for name, one in zip(ARRAYS, others, strict=True):
        if one is not None and len(one) != len(X):
            raise ValueError(
                f"{path} of X has {len(X)} rows, but that of {name} has {len(one)}. Give one for each row."
            )
    labels, ids, weights, groups = others
    assert labels is not None
    return PartitionRows(path, lambda: X, labels, ids, weights, groups)


def _open(
    client: Any, delayed: Sequence[Any], read: Read, roles: Roles, *, has_ids: bool, zone: str | None = None
) -> PartitionedTable:
    paths = [f"partition {number}" for number in range(len(delayed))]
    parts = client.map(read, client.compute(list(delayed)), paths, pure=False)
    with naming_the_cluster():
        told = client.gather(client.map(PartitionRows.facts, parts, pure=False))
    facts = PartitionFacts.merge(told)
    schema, labels = facts.frozen_schema(zone), facts.class_counts(roles)
    starts = np.cumsum([0, *(one.n_rows for one in told)]).tolist()[:-1]
    rows = client.map(PartitionRows.table, parts, schema=schema, pure=False)
    tags = client.map(PartitionRows.tags, parts, starts, classes=labels.classes, pure=False)
    return PartitionedTable(partial(DaskEngine, client, rows, tags), labels, schema, roles, has_ids)


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


PARQUET = (".parquet", ".pq")
BYTES_OF_A_PIECE = 2**27  # uncompressed; a file with smaller row groups is cut into several pieces


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

            raise TableError(
                f"{self.place} is not there for the worker on {gethostname()}. {partitions.ON_A_CLUSTER}"
            ) from error
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
    return pq.ParquetFile(place.open() if isinstance(place, RemoteFile) else Path(place))


def frame_of_pieces(pieces: Sequence[Piece]) -> Any:
    """A Dask DataFrame with a partition for every piece. Rows keep their order."""
    import dask.dataframe as dd

    if not pieces:
        raise TableError("The files have no rows.")
    with _opened(pieces[0].place) as file:
        empty = file.schema_arrow.empty_table().to_pandas().assign(**pieces[0].added)
    # What a partition holds is looked at where it lies: whole numbers with missing values are floats, for instance.
    return dd.from_map(Piece.read, list(pieces), meta=empty.iloc[:0], enforce_metadata=False)
