"""What a table is: its protocol, the roles of its columns, and the options of opening it or writing to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, runtime_checkable

from selfpaced.algorithms import MajorityPool
from selfpaced.exceptions import TableError, did_you_mean
from selfpaced.pools import GROUP, TIME, Pass, Rows, read_pass
from selfpaced.storage import shown
from selfpaced.tables.schema import Schema

if TYPE_CHECKING:
    from selfpaced.tables.labels import ClassCounts


# Names of internal columns beside the features. Columns of a user's table must not have them.
ID, WEIGHT = "__selfpaced_id__", "__selfpaced_weight__"

Progress = Callable[[int, int | None], object]


@dataclass(frozen=True)
class Roles:
    """Which columns of a table are not features, and what they are for."""

    target: str | None = None  # the column of labels; None if the labels have no name or there are none
    pos_label: Any = None  # the label to separate from all others; None if the labels are taken as they are
    weight_column: str | None = None  # the column of sample weights
    id_column: str | None = None  # the column of whole numbers by which rows are drawn
    amount_column: str | None = None  # the column of what a missed row costs. It may be a feature too.
    time_column: str | None = None  # the column by which rows are ordered
    # The column of what several rows belong to, such as a card. Rows of one group are never on both sides of a split.
    group_column: str | None = None
    keep: tuple[str, ...] = ()  # further columns that are read along with the rows, such as names of rows
    other_labels: tuple[Any, ...] = ()  # the labels beside `pos_label`, once they have been read

    @property
    def labels_are_in(self) -> str:
        """What error messages call the labels."""
        return "y" if self.target is None else f"Column {self.target!r}"

    @property
    def not_features(self) -> set[str]:
        """The columns that no model may see."""
        names = (self.target, self.weight_column, self.id_column, self.time_column, self.group_column, *self.keep)
        return {name for name in names if name is not None}

    @property
    def read_along(self) -> list[str]:
        """The columns that are read together with the features."""
        names = (self.id_column, self.weight_column, self.time_column, self.group_column, *self.keep)
        return [name for name in names if name is not None]

    @property
    def columns(self) -> list[str]:
        """All columns that have a role."""
        names = (self.target, self.amount_column, *self.read_along)
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
    reserved = {ID, WEIGHT, GROUP, TIME} & set(names)
    if reserved:
        raise TableError(f"The name {min(reserved)!r} is reserved. Rename the column.")
    return names


class ReadingOptions(TypedDict, total=False):
    """The options of `open_table` about the reading of rows. Methods that score tables have them too."""

    where: Any
    batch_rows: int
    types: Mapping[str, str] | None
    cache: str | PathLike[str] | None
    cache_bytes: int | None
    filesystem: Any
    connection: Any
    version: Any


class TableOptions(ReadingOptions, total=False):
    """All options of `open_table`, whose documentation explains them."""

    target: Any
    pos_label: Any
    columns: Sequence[str] | None
    exclude: Sequence[str]
    weight_column: str | None
    id_column: str | None
    group_column: str | None
    time_column: str | None
    timezone: str | None
    memory_for_tags: int
    progress: Progress | None
    fit_on: str
    client: Any


def check_names(options: Mapping[str, Any], known: frozenset[str], who: str) -> None:
    """Refuse unknown options, such as misspelled ones."""
    unknown = sorted(set(options) - known)
    if unknown:
        raise TypeError(f"{who} has no option {unknown[0]!r}. Its options are {', '.join(sorted(known))}.")


def check_whole(name: str, value: Any, at_most: int | None = None) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < 1:
        raise ValueError(f"{name} must be a whole number >= 1; got {value!r}.")
    if at_most is not None and int(value) > at_most:
        raise ValueError(f"{name} must be at most {at_most}; got {value!r}.")
    return int(value)


@dataclass(frozen=True)
class SplitPlan:
    """What a table may use to split its rows."""

    seed: int
    n_threads: int
    # The rows that will be drawn from every larger class in the first round, and its number. A table that is read from
    # start to end draws them in the pass that collects the minority.
    n_draw: int
    first_round: int
    on_rows: Callable[[int, int], None]  # called with the rows read and the rows to read in the present pass
    minority: Rows | None = None  # the rows of the minority, if an earlier split of the same table has read them
    read: Callable[[Any, Pass], None] = read_pass  # how a table that is read from start to end makes a pass


@dataclass(frozen=True)
class Elsewhere:
    """Other processes that do work."""

    n_at_once: Callable[[], int]  # how many pieces of work are done at the same time
    # Begins some work, which travels with all that it needs. `result()` waits for it, and raises what the work raised.
    begin: Callable[[Callable[[], Any]], Any]


@dataclass(frozen=True)
class ClassSplit:
    """Algorithm 1's P and N: the minority's rows, and a pool for every larger class, by class number."""

    names: Sequence[Any]  # the labels of all classes, in the order of their numbers
    counts: Sequence[int]  # how many rows each class has
    minority_class: int
    minority: Rows
    pools: Mapping[int, MajorityPool[Rows]]
    seconds_reading: Callable[[], float] = lambda: 0.0  # the time for which rows have been read from files so far
    elsewhere: Elsewhere | None = None  # the processes that train members; None for this one


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


IF_EXISTS = ("fail", "append", "replace")


@dataclass(frozen=True)
class DatabaseTable:
    """A table of a database, to write scores to. All rows are written in one transaction, or none.

    Parameters
    ----------
    connection : str or connection
        A URL such as "postgresql://host/database", a DuckDB file, or an open connection of ADBC or DuckDB.
    name : str
        The name of the table.
    if_exists : {"fail", "append", "replace"}, default="fail"
        What to do if the table already exists.

    See Also
    --------
    selfpaced.open_table : Opens the rows of a query.

    Examples
    --------
    >>> from selfpaced.tables import DatabaseTable
    >>> str(DatabaseTable("shop.duckdb", "scores", if_exists="replace"))
    "table 'scores' of shop.duckdb"
    """

    connection: Any
    name: str
    if_exists: str = "fail"

    def __post_init__(self) -> None:
        if self.if_exists not in IF_EXISTS:
            raise ValueError(f"if_exists must be one of {', '.join(IF_EXISTS)}; got {self.if_exists!r}.")

    def __str__(self) -> str:
        is_name = isinstance(self.connection, str | PathLike)
        return f"table {self.name!r} of {shown(fspath(self.connection)) if is_name else type(self.connection).__name__}"
