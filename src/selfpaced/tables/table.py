"""The protocol of a table, the roles of its columns, and the options of reading one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, runtime_checkable

from selfpaced.algorithms import MajorityPool
from selfpaced.exceptions import TableError, did_you_mean
from selfpaced.pools import GROUP, Pass, Rows, read_pass
from selfpaced.tables.schema import Schema

if TYPE_CHECKING:
    from selfpaced.tables.labels import ClassCounts

# Names of internal columns beside the features. Columns of a user's table must not have them.
ID, WEIGHT = "__selfpaced_id__", "__selfpaced_weight__"

Progress = Callable[[int, int | None], object]


@dataclass(frozen=True)
class Roles:
    """Which columns of a table are not features, and what they are for.

    Attributes
    ----------
    target : str | None, default=None
        The column of labels; None if the labels have no name or there are none.
    pos_label : Any, default=None
        The label to separate from all others; None if the labels are taken as they are.
    weight : str | None, default=None
        The column of sample weights.
    id : str | None, default=None
        The column of whole numbers by which rows are drawn.
    amount : str | None, default=None
        The column of what a missed row costs. It may be a feature too.
    time : str | None, default=None
        The column by which rows are ordered.
    group : str | None, default=None
        The column of what several rows belong to, such as a card. Rows of one group are never on both sides of a split.
    keep : tuple[str, ...]
        Further columns that are read along with the rows, such as names of rows.
    """

    target: str | None = None
    pos_label: Any = None
    weight: str | None = None
    id: str | None = None
    amount: str | None = None
    time: str | None = None
    group: str | None = None
    keep: tuple[str, ...] = ()

    @property
    def labels_are_in(self) -> str:
        """What error messages call the labels."""
        return "y" if self.target is None else f"Column {self.target!r}"

    @property
    def not_features(self) -> set[str]:
        """The columns that no model may see."""
        names = (self.target, self.weight, self.id, self.time, self.group, *self.keep)
        return {name for name in names if name is not None}

    @property
    def read_along(self) -> list[str]:
        """The columns that are read together with the features."""
        return [name for name in (self.id, self.weight, self.group, *self.keep) if name is not None]

    @property
    def columns(self) -> list[str]:
        """All columns that have a role."""
        names = (self.target, self.amount, self.time, *self.read_along)
        return list(dict.fromkeys(name for name in names if name is not None))


def names_of(columns: str | Sequence[str]) -> list[str]:
    """Names of columns; a single one may come without a list around it."""
    return [columns] if isinstance(columns, str) else list(columns)


def feature_names(
    known: Iterable[str], columns: Sequence[str] | None, exclude: Sequence[str], roles: Roles
) -> list[str]:
    """The columns that are features, in their order: those that are named, or all known ones."""
    fields = list(known)
    columns, exclude = None if columns is None else names_of(columns), names_of(exclude)
    if columns is not None and len(set(columns)) < len(columns):
        raise TableError(f"columns names a feature twice: {list(columns)}. Name each feature once.")
    for name in [*(columns or ()), *exclude]:
        if name not in fields:
            raise TableError(f"There is no column {name!r}. The columns are {fields}.{did_you_mean(name, fields)}")
    others = {*roles.not_features, *exclude}
    names = [name for name in (fields if columns is None else columns) if name not in others]
    if not names:
        raise TableError(f"No column is left as a feature. The columns are {fields}. Exclude fewer of them.")
    if {ID, WEIGHT, GROUP} & set(names):
        raise TableError(f"The names {ID!r}, {WEIGHT!r} and {GROUP!r} are reserved. Rename the column.")
    return names


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

    pos_label: Any
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


@dataclass(frozen=True)
class SplitPlan:
    """What a table may use to split its rows.

    Attributes
    ----------
    n_draw, first_round : int
        The rows that will be drawn from every larger class in the first round, and its number. A table that is read
        from start to end draws them in the pass that collects the minority.
    on_rows : Callable[[int, int], None]
        Called with the rows read and the rows to read in the present pass.
    minority : Rows | None
        The rows of the minority, if an earlier split of the same table has read them.
    read : Callable[[Any, Pass], None]
        How a table that is read from start to end makes a pass.
    """

    seed: int
    n_threads: int
    n_draw: int
    first_round: int
    on_rows: Callable[[int, int], None]
    minority: Rows | None = None
    read: Callable[[Any, Pass], None] = read_pass


class Promise(Protocol):
    """What work elsewhere will give."""

    def result(self) -> Any:
        """Wait for it. What the work raised is raised."""


class Elsewhere(Protocol):
    """Other processes that do work."""

    @property
    def n_at_once(self) -> int:
        """The number of pieces of work that are done at the same time."""

    def __call__(self, work: Callable[[], Any]) -> Promise:
        """Begin some work, which travels with all that it needs."""


@dataclass(frozen=True)
class ClassSplit:
    """Algorithm 1's P and N: the minority's rows, and a pool for every larger class, by class number.

    Attributes
    ----------
    names : Sequence[Any]
        The labels of all classes, in the order of their numbers.
    counts : Sequence[int]
        How many rows each class has.
    seconds_reading : Callable[[], float]
        The time for which rows have been read from files so far.
    elsewhere : Elsewhere | None
        The processes that train members; None for this one.
    """

    names: Sequence[Any]
    counts: Sequence[int]
    minority_class: int
    minority: Rows
    pools: Mapping[int, MajorityPool[Rows]]
    seconds_reading: Callable[[], float] = lambda: 0.0
    elsewhere: Elsewhere | None = None


@runtime_checkable
class Table(Protocol):
    """Rows with labels, wherever they are."""

    @property
    def schema(self) -> Schema | None:
        """The features; None if they have no names, or if models read them as they are."""

    @property
    def roles(self) -> Roles:
        """The columns that are not features."""

    @property
    def snapshot(self) -> str | None:
        """The version of a lake table that the rows are from; None if there are no versions."""

    @property
    def bytes_in_memory(self) -> int | None:
        """How many bytes the features take, roughly; None if they are not in the memory of this process."""

    def labels(self) -> ClassCounts:
        """The classes and the number of rows of each. They are counted once."""

    def split(self, plan: SplitPlan) -> ClassSplit:
        """The rows of the smallest class, and a pool for every larger class."""

    def identity(self) -> dict[str, Any]:
        """Facts that identify this table, by which a fit is resumed. Raise if the table has none."""
