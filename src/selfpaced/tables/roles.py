"""Which columns of a table are features, and what the others are for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from selfpaced.exceptions import TableError
from selfpaced.pools.rows import GROUP
from selfpaced.suggesting import did_you_mean

# Names of internal columns beside the features. Columns of a user's table must not have them.
ID, WEIGHT = "__selfpaced_id__", "__selfpaced_weight__"


@dataclass(frozen=True)
class Roles:
    """Which columns of a table are not features, and what they are for.

    Attributes
    ----------
    target : str | None, default=None
        The column of labels; None if the labels have no name or there are none.
    positive : Any, default=None
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
    positive: Any = None
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
