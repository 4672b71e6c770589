"""Scores of single rows: read without data frames, and scored as a batch of one row."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import pa
from selfpaced.model import Model, RowReader, number_type, whole_range
from selfpaced.reasons import Groups, Reason, reasons_of
from selfpaced.scoring import LARGEST_WHOLE, CodedRows, without_library
from selfpaced.tables import OFFSET, Column, InMemoryTable, date_pattern, is_missing, moment_of

if TYPE_CHECKING:
    from selfpaced.history import HistoryState

MICROSECOND = timedelta(microseconds=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DATE = re.compile(date_pattern(6) + f"{OFFSET}?")

LARGEST_FLOAT32 = float(np.finfo(np.float32).max)
WHOLE = {int, np.int64, np.uint64}  # also if they are too large for floats, which members of some kinds read exactly

Floats = NDArray[np.float64]
Read = Callable[[Any], float]


class UnusualValueError(Exception):
    """A value that is read as a frame of one row, which takes longer."""


def number(value: Any) -> float:
    """A usual number: a finite float or a whole number that a float holds. None and NaN are missing values."""
    if isinstance(value, np.number | np.bool_):
        value = value.item()
    if isinstance(value, float) and (value - value == 0 or value != value):
        return float(value)
    if isinstance(value, int) and -LARGEST_WHOLE < value < LARGEST_WHOLE:
        return float(value)
    if value is None:
        return np.nan
    raise UnusualValueError


def _number_reader(column: Column) -> Read:
    """Reads numbers as those of a column in training."""
    wanted = number_type(column)
    if wanted.kind == "f":
        return number if wanted.itemsize == 8 else _narrow
    low, high = whole_range(wanted)
    least, most = (low, high) if wanted.kind == "b" else (np.iinfo(wanted).min, np.iinfo(wanted).max)

    def read(value: Any) -> float:
        if type(value) in WHOLE and least <= value <= most:
            return float(value)
        found = number(value)
        if found == found and not (found.is_integer() and low <= found <= high):
            raise UnusualValueError
        return found

    return read


def _narrow(value: Any) -> float:
    found = number(value)
    if abs(found) > LARGEST_FLOAT32:
        raise UnusualValueError
    return float(np.float32(found))


def _category_reader(known: Sequence[Any], others: float) -> Read:
    """Reads categories as codes. `others` is the code of those that are not known."""
    code_of = {category: float(code) for code, category in enumerate(known)}

    def read(value: Any) -> float:
        code = code_of.get(value)
        if code is not None:
            return code
        if isinstance(value, str):
            return others
        if value is None or value != value:
            return np.nan
        raise UnusualValueError

    return read


def zone_of(name: str) -> tzinfo:
    """A time zone by its name, or by its offset.

    >>> zone_of("+02:00").utcoffset(None), zone_of("Europe/Paris").key
    (datetime.timedelta(seconds=7200), 'Europe/Paris')
    """
    if name[:1] in "+-":
        offset = datetime.strptime(name, "%z").tzinfo
        assert offset is not None
        return offset
    return ZoneInfo(name)


def _moment_reader(column: Column) -> Read:
    """Reads a part of a date or time: seconds since 1970, the day of the week, or the hour in a time zone."""
    zone = zone_of(column.zone)

    def read(value: Any) -> float:
        if value is None or value != value:
            return np.nan
        is_usual = DATE.fullmatch(value) if isinstance(value, str) else isinstance(value, date)
        if not is_usual or getattr(value, "nanosecond", False):
            raise UnusualValueError
        moment = moment_of(value)
        if moment.tzinfo is None and column.has_zone:
            raise UnusualValueError
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
        if column.type == "seconds":
            return ((moment - EPOCH) // MICROSECOND) / 1e6
        local = moment.astimezone(zone)
        return float(local.hour if column.type == "hour" else local.weekday())

    return read


class ArrayRow:
    """Reads the rows of a model whose features have no names."""

    def __init__(self, reader: RowReader) -> None:
        self._reader = reader

    def values_by_name(self, row: Any) -> None:
        """None: the features have no names."""

    def __call__(self, row: Any) -> InMemoryTable:
        if isinstance(row, Mapping):
            raise TypeError(
                "The model was trained without feature names. Give the values of a row as a sequence or an array, in "
                "the order of the features."
            )
        values = np.asarray(row)
        if values.dtype.kind not in "biuf":
            values = np.array([_as_number(value, position) for position, value in enumerate(row)], dtype=np.float64)
        if values.shape != (self._reader.n_features,):
            raise ValueError(f"A row must have {self._reader.n_features} values; got an array of shape {values.shape}.")
        if np.isinf(values).any():
            raise ValueError("The row contains infinity. Replace it by a finite number or by a missing value.")
        rows = values[np.newaxis]
        return self._reader(rows) if self._reader.numbers_only else InMemoryTable(rows)


def _as_number(value: Any, name: Any) -> Any:
    """A value of a column of numbers, as in a frame."""
    if is_missing(value):
        return np.nan
    if isinstance(value, Decimal):
        return float(value)
    if not isinstance(value, Real | np.bool_):
        raise ValueError(f"The value of {name!r} must be a number or None; got {value!r}.")
    return value


class NamedRow:
    """Reads the rows of a model whose features have names.

    Usual values are read one by one. A row with others is read as a frame of one row.
    """

    def __init__(self, reader: RowReader) -> None:
        self._reader = reader
        self._categories: dict[int, tuple[Any, ...]] = {}
        self._features = self._of_frame() if reader.schema is None else self._of_schema()
        self._columns = list(dict.fromkeys(column for column, _ in self._features))
        columns = [] if reader.schema is None else reader.schema.columns
        self._wide = [at for at, column in enumerate(columns) if column.type in ("int64", "uint64")]

    def _of_schema(self) -> list[tuple[str, Read]]:
        assert self._reader.schema is not None
        features = []
        for at, column in enumerate(self._reader.schema.columns):
            if column.categories is not None:
                self._categories[at] = column.categories
                read = _category_reader(column.categories, np.nan)
            else:
                read = _number_reader(column) if column.made_of is None else _moment_reader(column)
            features.append((column.source, read))
        return features

    def _of_frame(self) -> list[tuple[str, Read]]:
        assert self._reader.names is not None
        features: list[tuple[str, Read]] = []
        categories = self._reader.all_categories
        for at, name in enumerate(self._reader.names):
            known = categories.get(name)
            if known is not None:
                self._categories[at] = known
                features.append((name, _category_reader(known, float(len(known)))))
            else:
                features.append((name, _unusual if name in self._reader.types else number))
        return features

    def __call__(self, row: Any) -> InMemoryTable:
        values = row if isinstance(row, Mapping) else self._by_name(row)
        try:
            numbers = np.array([read(values[column]) for column, read in self._features])
        except KeyError as error:
            raise _no_value(error.args[0]) from None
        except (UnusualValueError, TypeError, ValueError):  # such as the 30th of February: this error names the column
            return self._by_frame(values)
        if self._reader.numbers_only:
            return self._reader(self._frame(values))
        new = {
            at: (*known, values[self._columns[at]])
            for at, known in self._categories.items()
            if numbers[at] == len(known)
        }
        categories = self._categories | new if new else self._categories
        is_exact = not (self._wide and (np.abs(numbers[self._wide]) >= LARGEST_WHOLE).any())
        make_frame = lambda: self._reader(self._frame(values)).span(0, 1)  # noqa: E731
        return InMemoryTable(CodedRows(numbers[:, np.newaxis], categories, make_frame, is_exact))

    def values_by_name(self, row: Any) -> dict[str, list[Any]]:
        """The values of a row as columns of one row."""
        values = row if isinstance(row, Mapping) else self._by_name(row)
        return {name: [values[name]] for name in self._columns}

    def _by_name(self, row: Any) -> Mapping[str, Any]:
        values = list(row)
        if len(values) != len(self._columns):
            raise ValueError(f"A row must have {len(self._columns)} values, {self._columns}; got {len(values)}.")
        return dict(zip(self._columns, values, strict=True))

    def _by_frame(self, values: Mapping[str, Any]) -> InMemoryTable:
        """The row as `predict_proba` reads it. A value that does not even fit a frame is refused with its column."""
        for name in self._columns:
            if name not in values:
                raise _no_value(name)
        frame = self._frame(values)
        try:
            return self._reader.coded(frame)
        except (OverflowError, pa.ArrowException):
            for name in self._columns:
                try:
                    pa.Table.from_pandas(frame[[name]])
                except (OverflowError, pa.ArrowException) as error:
                    raise ValueError(f"The value of {name!r} cannot be read: {error}. Got {values[name]!r}.") from error
            raise

    def _frame(self, values: Mapping[str, Any]) -> Any:
        """The row as a pandas frame, as `predict_proba` takes it."""
        import pandas as pd

        own = {name: None if is_missing(values[name]) else values[name] for name in self._columns}
        if self._reader.schema is not None:
            return pd.DataFrame({name: [value] for name, value in own.items()})
        categories = self._reader.all_categories
        columns: dict[str, Any] = {}
        for name, value in own.items():
            if name in categories:
                if (
                    value is not None
                    and not isinstance(value, str)
                    and all(isinstance(x, str) for x in categories[name])
                ):
                    raise ValueError(f"The value of {name!r} must be a string, as in training; got {value!r}.")
                known = categories[name] if value is None or value in categories[name] else (*categories[name], value)
                columns[name] = pd.Categorical([value], known)
            elif name in self._reader.types:
                columns[name] = _of_type(value, name, self._reader.types[name])
            else:
                columns[name] = [_as_number(value, name)]
        return pd.DataFrame(columns)


def _no_value(name: str) -> ValueError:
    return ValueError(
        f"The row has no value for {name!r}, which the model was trained with. Give None if the value is missing."
    )


def _unusual(value: Any) -> float:
    raise UnusualValueError


def _of_type(value: Any, name: str, kind: str) -> Any:
    import pandas as pd

    try:
        return pd.Series([value], dtype=kind)
    except (TypeError, ValueError) as error:
        raise ValueError(f"The value of {name!r} must be of the type {kind}, or None; got {value!r}.") from error


class RowScorer:
    """Scores one row at a time. `model.row_scorer()` returns it. Threads can share it, and it can be pickled.

    With the state of a history, a row is scored with its history features, and the scorer cannot be pickled.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, in the order of the probabilities.
    pos_label_ : label
        The label whose probability is the score.
    is_fast_ : bool
        Whether all members are scored without data frames and without the checks of their own `predict_proba`.
    """

    def __init__(self, model: Model, classes: NDArray[Any], history: HistoryState | None = None) -> None:
        self.classes_ = classes
        self._history = history
        if history is not None and not set(history.history.feature_names) & set(model.reader.names or ()):
            raise ValueError(
                f"The model was trained with none of the features of the history, such as "
                f"{history.history.feature_names[0]!r}. Give the state of the history that it was trained with."
            )
        self.pos_label_ = model.trained_on.score_label
        self._column = model.trained_on.score_column
        self._model = model
        self._read = ArrayRow(model.reader) if model.reader.names is None else NamedRow(model.reader)
        are_fast = [scorer.is_fast() for some in model.scorers for scorer in some]  # all of them are prepared by it
        self.is_fast_ = all(are_fast)

    def __call__(self, row: Any) -> float:
        """The score of a row: the probability of `pos_label_`.

        Parameters
        ----------
        row : mapping, sequence or ndarray of shape (n_features,)
            The values by the names of the columns, or in the order of the columns in training. None, NaN, NaT and NA
            are missing values. Keys that are not columns of the training rows are ignored. With a history, a mapping
            of the columns of the row and of the history, without the features of the history.
        """
        return float(self.predict_proba(row)[self._column])

    def predict_proba(self, row: Any) -> Floats:
        """The probabilities of a row, one for each of `classes_`: those that the model gives, bit for bit."""
        table = self._read(self._with_history(row))
        probabilities: Floats = self._model.calibrated(self._model.means_of(table, 1))[0]
        return probabilities

    def reasons(self, row: Any, top: int = 4, *, reason_groups: Groups | None = None) -> tuple[Reason, ...]:
        """The columns that raised the score of a row most, as `reasons` of the model gives them.

        Parameters
        ----------
        row : mapping, sequence or ndarray of shape (n_features,)
            The row, as for a call.
        top : int, default=4
            The largest number of reasons.
        reason_groups : dict of str to list of str, default=None
            Columns that count as one, by the name of the group.

        Returns
        -------
        tuple of Reason
            The strongest reason first.
        """
        row = self._with_history(row)
        table = self._read(row)
        values = self._read.values_by_name(row)
        return reasons_of(self._model, table, top=top, groups=reason_groups, values=values)[0]

    def _with_history(self, row: Any) -> Any:
        if self._history is None:
            return row
        if not isinstance(row, Mapping):
            raise TypeError(f"With a history, a row is a mapping by column names; got {type(row)}.")
        return {**row, **self._history.features(row)}

    def __getstate__(self) -> dict[str, Any]:
        """The model, with the trees of LightGBM members in their place: they are scored without LightGBM."""
        parts = [replace(part, members=tuple(map(without_library, part.members))) for part in self._model.parts]
        return {"model": replace(self._model, parts=tuple(parts)), "classes": self.classes_, "history": self._history}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]
