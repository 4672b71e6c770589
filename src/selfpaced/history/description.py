"""`History`: a description of features about earlier rows, which is data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from selfpaced import tables
from selfpaced.exceptions import TableError, did_you_mean, pa
from selfpaced.history.events import Events, labels_in, read_events
from selfpaced.history.kernel import describe
from selfpaced.storage import AnyPath, Place

if TYPE_CHECKING:
    from selfpaced.history.state import HistoryState

Entity = str | tuple[str, ...]
LONGEST = 2**60  # ticks: 36,000 years if they are microseconds
MOST_DECIMALS = 9


def columns_of(entity: Entity) -> tuple[str, ...]:
    return (entity,) if isinstance(entity, str) else entity


def name_of(entity: Entity) -> str:
    """
    >>> name_of("customer"), name_of(("customer", "terminal"))
    ('customer', 'customer+terminal')
    """
    return "+".join(columns_of(entity))


@dataclass(frozen=True)
class History:
    """Features about what the entities of a row, such as its customer and its terminal, did before.

    A history is a description: it has no rows, and two of them with the same fields are equal. These rules hold in
    frames, in files, on clusters and for single rows:

    - **Rows.** A row at time t sees the rows s of its entity with t - window <= s < t. Rows of the same instant do not
      see each other. Only times count, so the order of the rows in a table does not matter.
    - **Labels.** The label of a row s is known from s + delay on. So a row at t sees the labels of the rows with
      t - delay - window <= s <= t - delay, and s < t. A missing label is never known.
    - **Times** have a resolution of a microsecond, or of a millionth where they are numbers. Times with a time zone are
      instants; times without one are UTC. A missing time is refused.
    - **The last row, and pairs seen before**, are looked for in the longest window.
    - **Missing entity** (or a missing part of several columns): the row has no history of this entity, all its features
      are missing, and it is in the history of no other row.
    - **Missing values**: a row without an amount counts as a row, but not in the amounts. A row without a value of
      another column adds no distinct value, and whether its pair was seen is missing.
    - **Amounts** are rounded to whole units of the last decimal. All sums are sums of whole numbers, so features do
      not depend on the order of rows, on chunks, threads or engines. They are 32-bit floats.
    - **Same entity**: values are compared as groups are: 7, 7.0 and "7" are one entity.

    Attributes
    ----------
    time_column : str
        The column of times: dates, or numbers.
    entities : sequence of str or tuple of str
        The columns whose values have a history, such as "customer". Several columns as one entity are a tuple.
    amount_column : str or None
        The column of amounts. None computes no features of amounts.
    windows : sequence of str or number
        How far to look back: durations such as "7d", "12h" and "90min" for dates, or numbers for times that are
        numbers.
    distinct : mapping from entity to sequence of entity, or None
        The columns whose distinct values are counted for an entity. None counts, for each entity, the values of the
        other entities of one column.
    delay : str, number or None
        The time until labels are known. None uses no labels.
    base_rate : float or None
        The share of rare rows that an entity without known labels gets. `with_base_rate` takes it from labels.
    smoothing : float
        For how many rows the base rate counts in the share of rare rows.
    decimals : int
        The number of decimals of the amounts.
    time_unit : {"s", "ms", "us", "ns"} or None
        The unit of times that are numbers since 1970 in UTC. None takes numbers as they are.

    Examples
    --------
    >>> import pandas as pd
    >>> payments = pd.DataFrame({
    ...     "when": pd.to_datetime(["2024-01-01 08:00", "2024-01-01 12:00", "2024-01-03 09:00"]),
    ...     "card": ["a", "a", "a"],
    ...     "amount": [10.0, 30.0, 50.0],
    ... })
    >>> history = History("when", ["card"], amount_column="amount", windows=["1d", "7d"])
    >>> history.features(payments)[["card_rows_1d", "card_mean_7d", "card_since"]]
       card_rows_1d  card_mean_7d  card_since
    0           0.0           NaN         NaN
    1           1.0          10.0     14400.0
    2           0.0          20.0    162000.0
    """

    time_column: str
    entities: Sequence[Entity]
    amount_column: str | None = None
    windows: Sequence[str | float] = ("1d", "7d", "30d")
    distinct: Any = None
    delay: str | float | None = None
    base_rate: float | None = None
    smoothing: float = 10.0
    decimals: int = 2
    time_unit: str | None = None

    def __post_init__(self) -> None:
        given = self.entities
        entities = tuple(map(_checked_entity, (given,) if isinstance(given, str) else given))
        windows = (self.windows,) if isinstance(self.windows, str | int | float) else tuple(self.windows)
        object.__setattr__(self, "entities", entities)
        object.__setattr__(self, "windows", tuple(map(_plain_span, windows)))
        object.__setattr__(self, "delay", None if self.delay is None else _plain_span(self.delay))
        if not entities or len(set(entities)) < len(entities):
            raise ValueError(f"entities must be one or more different columns; got {given!r}.")
        object.__setattr__(self, "distinct", self._checked_distinct())
        for name in ("time_column", "amount_column"):
            value = getattr(self, name)
            if not (isinstance(value, str) or (value is None and name == "amount_column")):
                raise ValueError(f"{name} must be the name of a column; got {value!r}.")
        if self.time_column in (column for key in self.keys for column in columns_of(key)):
            raise ValueError(f"The time column {self.time_column!r} cannot be an entity: its rows would see no others.")
        self._check_numbers()
        self._check_spans()
        if len(set(self.feature_names)) < len(self.feature_names):
            raise ValueError(f"Two features would have the same name: {self.feature_names}.")

    def _checked_distinct(self) -> tuple[tuple[Entity, tuple[Entity, ...]], ...]:
        if self.distinct is None:
            single = [entity for entity in self.entities if isinstance(entity, str)]
            return tuple(
                (entity, tuple(other for other in single if other not in columns_of(entity)))
                for entity in self.entities
            )
        pairs = self.distinct.items() if isinstance(self.distinct, Mapping) else self.distinct
        found = {_checked_entity(entity): tuple(map(_checked_entity, others)) for entity, others in pairs}
        unknown = [entity for entity in found if entity not in self.entities]
        if unknown:
            raise ValueError(f"distinct names {unknown[0]!r}, which is not one of the entities {self.entities}.")
        return tuple((entity, found.get(entity, ())) for entity in self.entities)

    def _check_numbers(self) -> None:
        if self.base_rate is not None and not (_is_number(self.base_rate) and 0 <= self.base_rate <= 1):
            raise ValueError(f"base_rate must be a share between 0 and 1, or None; got {self.base_rate!r}.")
        if not (_is_number(self.smoothing) and 0 < self.smoothing < np.inf):
            raise ValueError(f"smoothing must be a number of rows above 0; got {self.smoothing!r}.")
        if type(self.decimals) is not int or not 0 <= self.decimals <= MOST_DECIMALS:
            raise ValueError(f"decimals must be a whole number from 0 to {MOST_DECIMALS}; got {self.decimals!r}.")
        if self.time_unit is not None and self.time_unit not in tables.TIME_UNITS:
            raise ValueError(
                f"time_unit must be one of {', '.join(tables.TIME_UNITS)}, or None; got {self.time_unit!r}."
            )

    def _check_spans(self) -> None:
        spans = [*self.windows, *([] if self.delay is None else [self.delay])]
        n_units = sum(tables.span_parts(span, "A duration")[1] != "" for span in spans)
        if n_units not in (0, len(spans)):
            raise ValueError(f"windows and delay must all have a unit, such as 7d, or all be numbers; got {spans}.")
        if self.time_unit is not None and not self.has_dates:
            raise ValueError(f"With a time_unit, windows and delay need units such as 7d; got {spans}.")
        ticks = self.window_ticks
        if not ticks or len(set(ticks)) < len(ticks) or not all(0 < each < LONGEST for each in (*ticks, self.reach)):
            raise ValueError(f"windows must be one or more different durations above 0; got {self.windows}.")

    @cached_property
    def has_dates(self) -> bool:
        """Whether the times are dates. If not, they are numbers."""
        return tables.span_parts(self.windows[0], "A window")[1] != ""

    @cached_property
    def window_ticks(self) -> tuple[int, ...]:
        """The windows in microseconds, or in millionths of times that are numbers."""
        return tuple(tables.span_ticks(window, "A window") for window in self.windows)

    @cached_property
    def delay_ticks(self) -> int | None:
        """The delay in microseconds, or in millionths of times that are numbers. None if no labels are used."""
        return None if self.delay is None else tables.span_ticks(self.delay, "The delay")

    @cached_property
    def reach(self) -> int:
        """How far back any feature looks, in ticks: the longest window, and the delay of the labels."""
        return max(self.window_ticks) + (self.delay_ticks or 0)

    @cached_property
    def others(self) -> tuple[tuple[Entity, ...], ...]:
        """For each entity, the columns whose distinct values are counted."""
        return tuple(others for _, others in self.distinct)

    @cached_property
    def keys(self) -> tuple[Entity, ...]:
        """All columns, or several columns as one, whose values are compared."""
        return tuple(dict.fromkeys([*self.entities, *(each for others in self.others for each in others)]))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns of a table that are read."""
        amounts = () if self.amount_column is None else (self.amount_column,)
        keys = (column for key in self.keys for column in columns_of(key))
        return tuple(dict.fromkeys([self.time_column, *amounts, *keys]))

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features: of each entity those of each window, then those without a window."""
        names: list[str] = []
        for entity, others in zip(map(name_of, self.entities), self.others, strict=True):
            amounts = [] if self.amount_column is None else ["sum", "mean", "max", "std", "ratio"]
            labels = [] if self.delay is None else ["known", "rare", "share"]
            counted = [f"distinct_{name_of(other)}" for other in others]
            for window in self.windows:
                names += [f"{entity}_{what}_{window}" for what in ("rows", *amounts, *counted, *labels)]
            names += [f"{entity}_since", *(f"{entity}_seen_{name_of(other)}" for other in others)]
        return tuple(names)

    def as_dict(self) -> dict[str, Any]:
        """All fields as plain values, which JSON can hold.

        Returns
        -------
        dict
            The fields by name.
        """
        return {field.name: _as_lists(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> History:
        """The history with these fields.

        Parameters
        ----------
        given : mapping
            Fields by name, as `as_dict` returns them.

        Returns
        -------
        History
            The description.

        Raises
        ------
        ValueError
            If a field is unknown or missing, or has a value that it cannot have.
        """
        known = [field.name for field in fields(cls)]
        unknown = [name for name in given if name not in known]
        if unknown:
            raise ValueError(
                f"A history has no field {unknown[0]!r}; its fields are {', '.join(known)}."
                f"{did_you_mean(str(unknown[0]), known)}"
            )
        missing = [name for name in ("time_column", "entities") if name not in given]
        if missing:
            raise ValueError(f"A history needs the field {missing[0]!r}; got {', '.join(given) or 'no fields'}.")
        return cls(**{name: _as_tuples(value) for name, value in given.items()})

    def with_base_rate(self, y: Any, *, pos_label: Any = None) -> History:
        """The same description with the share of rare rows among some labels as its base rate.

        Take the labels of training rows only. The base rate is then a constant, which no later row changes.

        Parameters
        ----------
        y : array-like of shape (n_rows,)
            Labels. Missing ones are left out.
        pos_label : label, default=None
            The label of rare rows. None takes labels that are 0 and 1, or booleans.

        Returns
        -------
        History
            The new description.

        Raises
        ------
        ValueError
            If no label is known.
        """
        labels = labels_in(y, pos_label)
        n_known = int((labels >= 0).sum())
        if not n_known:
            raise ValueError("y has no known label, so it has no base rate. Give base_rate as a number instead.")
        return replace(self, base_rate=int((labels == 1).sum()) / n_known)

    def features(self, X: Any, y: Any = None, *, past: Any = None, past_y: Any = None, pos_label: Any = None) -> Any:
        """The features of some rows. Each row sees the earlier rows of `X` and `past`, and no later ones.

        Parameters
        ----------
        X : pandas.DataFrame, polars.DataFrame or pyarrow.Table
            The rows to describe.
        y : array-like of shape (n_rows,), default=None
            Their labels, which later rows see after the delay. NaN or None is an unknown label.
        past : frame of the same columns, default=None
            Other rows that are looked at, but not described. They must not be in `X` as well.
        past_y : array-like, default=None
            The labels of the rows in `past`.
        pos_label : label, default=None
            The label of rare rows. None takes labels that are 0 and 1, or booleans.

        Returns
        -------
        frame of the kind of X
            A column of 32-bit floats for each of `feature_names`, in the order of the rows of `X`.

        Raises
        ------
        TableError
            If a column is missing, or has values that cannot be used.
        ValueError
            If labels are given but not used, or needed but not given.
        """
        return _frame_like(X, _described(self, X, y, past, past_y, pos_label))

    def state(
        self,
        X: Any,
        y: Any = None,
        *,
        id_column: str | None = None,
        pos_label: Any = None,
        lateness: str | float | None = None,
        folder: Any = None,
        sync_every: float = 1.0,
    ) -> HistoryState:
        """The state for service: the rows of a table that later rows can see.

        `docs/guide/history-in-service.md` shows how to use it.

        Parameters
        ----------
        X : pandas.DataFrame, polars.DataFrame or pyarrow.Table
            The rows so far.
        y : array-like of shape (n_rows,), default=None
            Their labels. NaN or None is an unknown label.
        id_column : str, default=None
            The column with the id of a row. Labels are learned by it, and a row of the same id is added only once.
        pos_label : label, default=None
            The label of rare rows, also of labels that are learned later. None takes 0 and 1, or booleans.
        lateness : str or number, default=None
            How much earlier than the last row a row may be. Earlier rows are refused, because rows that they would see
            are forgotten. None takes the shortest window.
        folder : path, default=None
            A folder to keep the state in. It must not have one already. None keeps the state in memory only.
        sync_every : float, default=1.0
            Seconds between two calls of fsync, which brings changes to the disk, so that they survive a power cut. 0
            means one for every change, which takes milliseconds. To survive the end of the process, none is needed:
            every change is given to the operating system before its call returns.

        Returns
        -------
        HistoryState
            The state, with `features`, `update` and `learn`.

        Raises
        ------
        StateError
            If the folder has a state already, or another process has it open.
        """
        from selfpaced.history.state import HistoryState

        keeping = {"lateness": lateness, "folder": folder, "sync_every": sync_every}
        return HistoryState._made(self, X, y, id_column=id_column, pos_label=pos_label, **keeping)

    def add(self, X: Any, y: Any = None, *, past: Any = None, past_y: Any = None, pos_label: Any = None) -> Any:
        """The rows with their features as further columns. Parameters and errors are those of `features`.

        The rows of a Dask or Spark DataFrame are shuffled, once for each entity, so their order changes.

        Parameters
        ----------
        X : pandas.DataFrame, polars.DataFrame, pyarrow.Table, or DataFrame of Dask or Spark
            The rows to describe.
        y : array-like of shape (n_rows,) or str, default=None
            Their labels. On a cluster, the name of their column.
        past : frame of the same columns, default=None
            Other rows that are looked at. On a cluster, concatenate the rows instead.
        past_y : array-like, default=None
            The labels of the rows in `past`.
        pos_label : label, default=None
            The label of rare rows.

        Returns
        -------
        frame of the kind of X
            The columns of `X` and the features.

        Raises
        ------
        ValueError
            If `past` is given for a frame of a cluster.
        """
        if tables.is_dask_frame(X) or tables.is_spark_frame(X):
            if past is not None or past_y is not None:
                raise ValueError("On a cluster, past is not supported: concatenate the rows, and filter the result.")
            from selfpaced.clusters import add_history  # when it is needed: clusters are optional

            return add_history(self, X, y, pos_label)
        return beside(X, self.features(X, y, past=past, past_y=past_y, pos_label=pos_label))

    def write_features(
        self,
        source: Any,
        output: AnyPath,
        *,
        target: str | None = None,
        pos_label: Any = None,
        past: Any = None,
        cache: str | PathLike[str] | None = None,
    ) -> Place:
        """Write the rows of files with their features, which are those of `features`. The files may exceed memory.

        Parameters
        ----------
        source : path, URL, pattern, folder, list of these, dataset, lake table or stream
            The rows to describe, as `open_table` takes them. Their order does not matter.
        output : path or URL
            A new file that ends in `.parquet`, `.pq` or `.csv`: the columns of the source and the features.
        target : str, default=None
            The column of labels. `source` may lack it if `past` has it.
        pos_label : label, default=None
            The label of rare rows. None takes labels that are 0 and 1, or booleans.
        past : source, default=None
            Other rows that are looked at, but not written. They must not be in `source` as well.
        cache : path, default=None
            The folder for temporary files, which take about as much space as the features. By default that of the
            operating system.

        Returns
        -------
        path
            The output.

        Raises
        ------
        TableError
            If a column is missing, or has values that cannot be used.
        ValueError
            If labels are given but not used, or needed but not given.
        """
        from selfpaced.history.files import write_features

        return write_features(self, source, output, (target, pos_label), past, cache)


def _described(history: History, X: Any, y: Any, past: Any, past_y: Any, pos_label: Any) -> dict[str, Any]:
    """The features as arrays by name."""
    if not tables.is_frame(X):
        raise TableError(
            f"A history is computed from a frame of pandas, polars or pyarrow; got {type(X)}. Frames of Dask and Spark "
            "have no order that features alone could have: use add."
        )
    refuse_taken(history, tables.kind_of(X).names(X))
    check_labels(history, given=y is not None or past_y is not None)
    if past is None and past_y is not None:
        raise ValueError("past_y has the labels of the rows in past, but past is not given.")
    events = read_events(history, X, y, pos_label)
    n_rows = events.size
    if past is not None:
        events = Events.joined([read_events(history, past, past_y, pos_label), events])
    return describe(history, events, n_rows)


def refuse_taken(history: History, columns: Sequence[Any]) -> None:
    """Refuse columns that have the name of a feature."""
    taken = [name for name in history.feature_names if name in columns]
    if taken:
        raise TableError(
            f"The table already has a column {taken[0]!r}, which is the name of a feature of the history. Rename or "
            "drop this column."
        )


def check_labels(history: History, given: bool, target: str | None = None) -> None:
    """Refuse labels that would not be used, and a history of labels without labels or without a base rate.

    A column of labels that the history uses like any other is refused, too: each row would see its own label.
    """
    if target is not None and target in history.columns:
        raise TableError(f"The history uses {target!r}, the column of labels, so each row would see its own label.")
    if given and history.delay is None:
        raise ValueError("The history has no delay, so it uses no labels. Omit the labels, or give it a delay.")
    if history.delay is not None and not given:
        raise ValueError("The history has a delay, so it uses labels. Give y or past_y, or omit the delay.")
    if history.delay is not None and history.base_rate is None:
        raise ValueError(
            "The history uses labels, but has no base_rate, which is the share of rare rows of an entity without known "
            "labels. Give it as a number, or take it from labels of training rows: history.with_base_rate(y_train)."
        )


def _checked_entity(given: Any) -> Entity:
    columns = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, list | tuple) else ()
    if not columns or not all(isinstance(name, str) and name for name in columns) or len(set(columns)) < len(columns):
        raise ValueError(f"An entity is the name of a column, or several different names; got {given!r}.")
    return columns[0] if len(columns) == 1 else columns


def _plain_span(given: Any) -> str | float:
    """Durations stay as they are written, because features have their names."""
    if isinstance(given, str):
        number, unit = tables.span_parts(given, "A duration")
        return given.strip() if unit else number if number % 1 else int(number)
    if not _is_number(given) or not 0 <= given < np.inf:
        raise ValueError(f"A duration is a text such as 7d or 12h, or a number that is not negative; got {given!r}.")
    return int(given) if given == int(given) else float(given)


def _is_number(given: Any) -> bool:
    return isinstance(given, int | float | np.integer | np.floating) and not isinstance(given, bool)


def _as_lists(value: Any) -> Any:
    return list(map(_as_lists, value)) if isinstance(value, tuple) else value


def _as_tuples(value: Any) -> Any:
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value


def _frame_like(X: Any, columns: Mapping[str, Any]) -> Any:
    """A frame of these columns, of the kind of another frame and with its index."""
    if tables.kind_of(X) is tables.PANDAS:
        import pandas as pd

        return pd.DataFrame(columns, index=X.index, copy=False)
    table = pa.table(dict(columns))
    if isinstance(X, pa.Table):
        return table
    import polars as pl

    return pl.from_arrow(table)


def beside(X: Any, features: Any) -> Any:
    if tables.kind_of(X) is tables.PANDAS:
        import pandas as pd

        return pd.concat([X, features], axis=1)
    if not isinstance(X, pa.Table):
        return X.hstack(features)
    for name in features.column_names:
        X = X.append_column(name, features.column(name))
    return X
