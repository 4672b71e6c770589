"""Parquet files as the partitions of a Dask DataFrame, in the order in which a table of files has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from selfpaced.exceptions import TableError
from selfpaced.remote_files import Place, RemoteFile, patiently
from selfpaced.tables.lakes import lake_of
from selfpaced.tables.paths import find_files

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
