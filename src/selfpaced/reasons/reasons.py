"""Reasons: the columns that raised the score of a row most, with their values and with what is usual."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, overload
from weakref import WeakKeyDictionary

import numpy as np

from selfpaced import tables
from selfpaced.exceptions import did_you_mean
from selfpaced.model import Model, RowReader, UsualValues, as_date, as_text, usual_values
from selfpaced.reasons.attribution import Floats, Ints, attribution
from selfpaced.scoring import CodedRows

Groups = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Reason:
    """A column that raised the score of a row.

    Attributes
    ----------
    feature : str
        The name of the column, or of a group of columns.
    log_odds : float
        How much it adds to the log-odds of the row before any calibration, against those of the typical row.
    value : object
        The value of the column; None if it is missing. A dict by column for a group.
    usual : str
        What is usual in common rows, such as "usual 12 to 95".
    error : float
        The standard error of `log_odds`: 0 where it is exact.
    """

    feature: str
    log_odds: float
    value: Any
    usual: str
    error: float = 0.0

    def __str__(self) -> str:
        """
        >>> str(Reason("amount", 1.5, 812.4, "usual 12 to 95"))
        'amount 812.4; usual 12 to 95'
        """
        if isinstance(self.value, dict):
            values = ", ".join(f"{name} {as_text(value)}" for name, value in self.value.items())
            return f"{self.feature}: {values}; {self.usual}"
        return f"{self.feature} {as_text(self.value)}; {self.usual}"


@dataclass(frozen=True, eq=False)
class Reasons(Sequence[tuple[Reason, ...]]):
    """The reasons of some rows: a tuple for each row, the strongest reason first.

    Attributes
    ----------
    features : tuple of str
        The columns, or groups of columns, in the order of `values`.
    values : ndarray of shape (n_rows, n_features)
        How much each of them adds to the log-odds of each row. The values of a row and `base` add up to its log-odds
        before any calibration.
    errors : ndarray of shape (n_rows, n_features)
        The standard errors of values that are estimated; 0 for exact ones.
    base : float
        The log-odds of the typical row.
    """

    features: tuple[str, ...]
    values: Floats
    errors: Floats
    base: float
    _top: int
    _players: Players = field(repr=False)
    _shown: Mapping[str, Sequence[Any]] = field(repr=False)  # the values of the rows, by column

    def __len__(self) -> int:
        return len(self.values)

    @overload
    def __getitem__(self, number: int) -> tuple[Reason, ...]: ...

    @overload
    def __getitem__(self, number: slice) -> Sequence[tuple[Reason, ...]]: ...

    def __getitem__(self, number: Any) -> Any:
        """The reasons of a row: at most as many as were asked for, and only those that raise its score."""
        if isinstance(number, slice):
            return [self[each] for each in range(*number.indices(len(self)))]
        values = self.values[number]
        best = np.argsort(-values, kind="stable")[: self._top]
        return tuple(self._reason(range(len(self))[number], at) for at in best.tolist() if values[at] > 0)

    def _reason(self, row: int, at: int) -> Reason:
        name = self.features[at]
        value, usual = self._players.shown({own: self._shown[own][row] for own in self._players.columns[name]})
        return Reason(name, float(self.values[row, at]), value, usual, float(self.errors[row, at]))


@dataclass(frozen=True)
class Players:
    """The players of a model, and what is usual of their columns."""

    columns: Mapping[str, Sequence[str]]  # of each player, by its name
    numbers: Ints  # the number of each feature's player
    usual: Mapping[str, Mapping[str, UsualValues]]  # of each column, the features that are made of it

    @classmethod
    def of(cls, reader: RowReader, usual: Sequence[UsualValues], groups: Groups) -> Players:
        columns, sources = columns_of_players(reader, groups), source_names(reader)
        number_of = {name: number for number, own in enumerate(columns.values()) for name in own}
        made_of: dict[str, dict[str, UsualValues]] = {}
        features = sources if reader.names is None else reader.names
        for at, (source, feature, own) in enumerate(zip(sources, features, usual, strict=True)):
            is_date = own.is_date or (reader.schema is not None and reader.schema.columns[at].type == "seconds")
            made_of.setdefault(source, {})[feature] = replace(own, is_date=is_date)
        return cls(columns, np.array([number_of[name] for name in sources]), made_of)

    def shown(self, values: Mapping[str, Any]) -> tuple[Any, str]:
        """The values of a player's columns in a row as they are shown, and what is usual."""
        found, texts = {name: self._plain(name, value) for name, value in values.items()}, []
        for name, own in found.items():
            for feature, usual in self.usual[name].items():
                # The parts of a date have names such as "when.hour".
                label = "" if len(found) == 1 and feature == name else f"{feature.removeprefix(f'{name}.')} "
                texts.append(label + usual.describe(own))
        return found if len(found) > 1 else next(iter(found.values())), ", ".join(texts)

    def _plain(self, name: str, value: Any) -> Any:
        if tables.is_missing(value):
            return None
        if isinstance(value, float) and any(usual.is_date for usual in self.usual[name].values()):
            return as_date(value)  # rows whose dates have become numbers already
        return value.item() if isinstance(value, np.generic) else value


# The players of each model, without groups.
_KNOWN: WeakKeyDictionary[Model, Players] = WeakKeyDictionary()


def source_names(reader: RowReader) -> list[str]:
    """For each feature, the column of the user's table that it is made of."""
    if reader.schema is not None:
        return [column.source for column in reader.schema.columns]
    return [f"x{at}" for at in range(reader.n_features)] if reader.names is None else list(reader.names)


def columns_of_players(reader: RowReader, groups: Groups) -> dict[str, list[str]]:
    """The columns of each player, by its name: a group of columns, or a column that is in none."""
    sources = list(dict.fromkeys(source_names(reader)))
    group_of: dict[str, str] = {}
    for group, columns in groups.items():
        if group in sources and group not in columns:
            raise ValueError(f"The group {group!r} has the name of a column that is not in it. Choose another name.")
        for name in columns:
            if name not in sources:
                raise ValueError(
                    f"reason_groups names the column {name!r}, which the model was not trained with."
                    f"{did_you_mean(name, sources)}"
                )
            if name in group_of:
                raise ValueError(
                    f"The column {name!r} is in the groups {group_of[name]!r} and {group!r}. Name it once."
                )
            group_of[name] = group
    players: dict[str, list[str]] = {}
    for name in sources:
        players.setdefault(group_of.get(name, name), []).append(name)
    return players


def reasons_of(
    model: Model, X: Any, *, top: int = 4, groups: Groups | None = None, typical: Any = None, values: Any = None
) -> Reasons:
    """The reasons of rows in any form. `values` are the values to show, by column, if X does not have them."""
    top = check_top(top)
    usual = _usual(model, typical)
    is_plain = typical is None and not groups
    players = (_KNOWN.get(model) if is_plain else None) or Players.of(model.reader, usual, groups or {})
    if is_plain:
        _KNOWN[model] = players
    table = model.reader.coded(X)
    rows = table.span(0, table.n_rows)
    found = attribution(model, rows, usual, players.numbers)
    if values is None:
        values = _values_of(rows if isinstance(X, tables.InMemoryTable) else X, source_names(model.reader))
    return Reasons(tuple(players.columns), found.values, found.errors, found.base, top, players, values)


def check_top(top: Any) -> int:
    if isinstance(top, bool) or not isinstance(top, int | np.integer) or top < 1:
        raise ValueError(f"The number of reasons must be a whole number of at least 1; got {top!r}.")
    return int(top)


def _usual(model: Model, typical: Any) -> Sequence[UsualValues]:
    if typical is not None:
        table = model.reader(typical)
        return usual_values(table.span(0, table.n_rows), np.arange(table.n_rows))
    if model.usual is None:
        raise ValueError(
            "The model does not know what common rows are like, because its fit was resumed from a checkpoint. Pass "
            "some common rows to compare with: typical=X_train[:1000]."
        )
    return model.usual


def _values_of(rows: Any, sources: Sequence[str]) -> Mapping[str, Sequence[Any]]:
    """The values of the columns that a user knows."""
    rows = rows.frame if isinstance(rows, CodedRows) else rows
    if not tables.is_frame(rows):
        rows = rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)
        return {name: rows[:, at] for at, name in enumerate(dict.fromkeys(sources))}
    kind = tables.kind_of(rows)
    places = {name: at for at, name in enumerate(kind.names(rows))}
    return {name: list(kind.column(rows, places[name]).objects()) for name in dict.fromkeys(sources)}
