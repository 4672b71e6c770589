"""`Table`: the protocol that every kind of table implements for a fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from selfpaced.algorithms.pool import MajorityPool
from selfpaced.pools.rows import Rows
from selfpaced.tables.labels import ClassCounts
from selfpaced.tables.roles import Roles
from selfpaced.tables.schema import Schema


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
    """

    seed: int
    n_threads: int
    n_draw: int
    first_round: int
    on_rows: Callable[[int, int], None]


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
