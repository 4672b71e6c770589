"""The sources whose rows are read batch by batch, each with the function that opens it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from selfpaced.tables.delta import delta_reader, is_delta
from selfpaced.tables.iceberg import iceberg_reader, is_iceberg
from selfpaced.tables.opening_files import file_reader
from selfpaced.tables.options import FilesOptions, LakeOptions, QueryOptions, StreamOptions
from selfpaced.tables.queries import is_query, query_reader
from selfpaced.tables.reader import Reader
from selfpaced.tables.reading import ReadPlan
from selfpaced.tables.streams import is_stream, stream_reader


@dataclass(frozen=True)
class RowSource:
    """A kind of source.

    Attributes
    ----------
    name : str
        What error messages call it.
    recognises : Callable[[Any, Mapping[str, Any]], bool]
        Whether something is a source of this kind, by itself and the options given.
    reads : Callable[[Any, ReadPlan], Reader]
        From the source and a plan to a reader of all its rows.
    honours : frozenset[str]
        The names of the options that it honours. All others are refused.
    """

    name: str
    recognises: Callable[[Any, Mapping[str, Any]], bool]
    reads: Callable[[Any, ReadPlan], Reader]
    honours: frozenset[str]


ROW_SOURCES = (
    RowSource("a query", is_query, query_reader, QueryOptions.__optional_keys__),
    RowSource("a Delta table", is_delta, delta_reader, LakeOptions.__optional_keys__),
    RowSource("an Iceberg table", is_iceberg, iceberg_reader, LakeOptions.__optional_keys__),
    RowSource("an Arrow stream", is_stream, stream_reader, StreamOptions.__optional_keys__),
    RowSource("files", lambda source, options: True, file_reader, FilesOptions.__optional_keys__),
)


def row_source_of(source: Any, options: Mapping[str, Any]) -> RowSource:
    """The first kind that recognises a source."""
    return next(kind for kind in ROW_SOURCES if kind.recognises(source, options))
