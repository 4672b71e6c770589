"""What the user asked for about reading: an argument of every function that opens a source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

from selfpaced.tables.conversion import Progress


@dataclass(frozen=True)
class Needed:
    """The columns that will be read.

    Attributes
    ----------
    columns : Sequence[str] | None, default=None
        The features; None for all columns that are not excluded.
    exclude : Sequence[str]
        Columns that are not features.
    others : Sequence[str]
        Further columns to read, even if they are excluded from the features.
    """

    columns: Sequence[str] | None = None
    exclude: Sequence[str] = ()
    others: Sequence[str] = ()

    def __call__(self, names: Iterable[str]) -> list[str]:
        """
        >>> Needed(exclude=["b", "c"], others=["c"])(["a", "b", "c"])
        ['a', 'c']
        """
        wanted = {*self.others} if self.columns is None else {*self.columns, *self.others}
        if self.columns is None:
            return [name for name in names if name not in self.exclude or name in wanted]
        return [name for name in names if name in wanted]


@dataclass(frozen=True)
class ReadPlan:
    """What a user asked for about reading, as `open_table` documents it.

    Attributes
    ----------
    lenient : bool, default=False
        Whether `types` are the types of a model. Then a file may lack some of these columns.
    needed : Callable[[Iterable[str]], list[str]]
        A function from the names of all columns to those that will be read.
    """

    types: Mapping[str, str] | None = None
    cache: str | PathLike[str] | None = None
    cache_bytes: int | None = None
    progress: Progress | None = None
    filesystem: Any = None
    connection: Any = None
    version: Any = None
    lenient: bool = False
    needed: Callable[[Iterable[str]], list[str]] = Needed()

    def tell(self, done: int, total: int | None) -> None:
        if self.progress is not None:
            self.progress(done, total)
