"""The options of `open_table`, and which kind of source supports which option."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, Protocol, TypedDict

from selfpaced.exceptions import TableError
from selfpaced.tables.conversion import Progress
from selfpaced.tables.table import Table


class ArrayOptions(TypedDict, total=False):
    """For an array in memory."""

    target: Any


class FrameOptions(TypedDict, total=False):
    """For a table with named columns."""

    target: str | None
    columns: Sequence[str] | None
    exclude: Sequence[str]
    weight: str | None
    id: str | None
    group: str | None
    timezone: str | None


class ClusterOptions(FrameOptions, total=False):
    """For a table on a cluster."""

    fit_on: str


class DaskOptions(ClusterOptions, total=False):
    client: Any


class ReadingOptions(TypedDict, total=False):
    """How rows are read."""

    filter: Any
    batch_rows: int
    cache: str | PathLike[str] | None
    cache_bytes: int | None
    filesystem: Any
    connection: Any
    version: Any


class StreamOptions(FrameOptions, total=False):
    """For rows that are read batch by batch."""

    positive: Any
    filter: Any
    batch_rows: int
    memory_for_tags: int
    cache: str | PathLike[str] | None
    progress: Progress | None


class QueryOptions(StreamOptions, total=False):
    connection: Any


class LakeOptions(StreamOptions, total=False):
    version: Any
    cache_bytes: int | None


class FilesOptions(StreamOptions, total=False):
    types: Mapping[str, str] | None
    filesystem: Any
    cache_bytes: int | None


class RowOptions(FilesOptions, QueryOptions, LakeOptions, total=False):
    """For all sources whose rows are read batch by batch."""


class TableOptions(RowOptions, DaskOptions, total=False):
    """All options. What they mean is in the documentation of `open_table`."""


class Honouring(Protocol):
    """A kind of source: what errors call it, and the options that it honours."""

    @property
    def name(self) -> str: ...

    @property
    def honours(self) -> frozenset[str]: ...


@dataclass(frozen=True)
class Source:
    """A kind of source.

    Attributes
    ----------
    name : str
        What error messages call it.
    recognises : Callable[[Any, Mapping[str, Any]], bool]
        Whether something is a source of this kind, by itself and the options given.
    opens : Callable[..., Table]
        From the source and the options to a table.
    honours : frozenset[str]
        The names of the options that it honours. All others are refused.
    """

    name: str
    recognises: Callable[[Any, Mapping[str, Any]], bool]
    opens: Callable[..., Table]
    honours: frozenset[str]


def check_options(source: Honouring, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were given. Unknown ones, and those that the source cannot honour, are refused by name."""
    check_names(options, TableOptions.__optional_keys__, "open_table")
    given = {name: value for name, value in options.items() if not _is_default(name, value)}
    refused = sorted(set(given) - source.honours)
    if refused:
        raise TableError(
            f"open_table does not support {refused[0]}= for {source.name}. The options for {source.name} are "
            f"{', '.join(sorted(source.honours))}."
        )
    return given


def check_names(options: Mapping[str, Any], known: frozenset[str], who: str) -> None:
    """Refuse unknown options, such as misspelled ones."""
    unknown = sorted(set(options) - known)
    if unknown:
        raise TypeError(f"{who} has no option {unknown[0]!r}. Its options are {', '.join(sorted(known))}.")


def _is_default(name: str, value: Any) -> bool:
    """Whether an option was given. None and an empty list count as not given; an empty list of features counts."""
    return value is None or (name != "columns" and isinstance(value, list | tuple) and not value)
