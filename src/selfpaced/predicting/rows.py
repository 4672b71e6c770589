"""Scores of single rows, without data frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from numbers import Real
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from selfpaced.model import Model, Part
from selfpaced.scoring import Scorer, lightgbm_trees, scorer_of
from selfpaced.tables import Column, Schema, iso_date
from selfpaced.trees import BoostersOfARow, frame_categories

MICROSECOND = timedelta(microseconds=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Floats = NDArray[np.float64]
Read = Callable[[Any], float]


@dataclass(frozen=True)
class ReadRow:
    """A row as trees read it.

    Attributes
    ----------
    floats : Floats
        One number for each feature; categories are codes, and missing values are NaN.
    float32 : NDArray[np.float32]
        The same for scikit-learn's trees, a matrix of one row.
    """

    floats: Floats
    float32: NDArray[np.float32]


class ArrayRow:
    """Reads the rows of a model whose features have no names."""

    def __init__(self, n_features: int) -> None:
        self._n_features = n_features

    def __call__(self, row: Any) -> ReadRow:
        if isinstance(row, Mapping):
            raise TypeError(
                "The model was trained without feature names. Give the values of a row as a sequence or an array, in "
                "the order of the features."
            )
        values = np.asarray(row)
        if values.dtype.kind not in "biuf":
            values = np.array([_number(value, position) for position, value in enumerate(row)])
        if values.shape != (self._n_features,):
            raise ValueError(f"A row must have {self._n_features} values; got an array of shape {values.shape}.")
        if np.isinf(values).any():
            raise ValueError("The row contains infinity. Replace it by a finite number or by a missing value.")
        # LightGBM reads floats unchanged, and converts everything else to float32.
        floats = values if values.dtype in (np.float32, np.float64) else values.astype(np.float32)
        return ReadRow(floats.astype(np.float64), values.astype(np.float32)[np.newaxis])


class NamedRow:
    """Reads the rows of a model whose features have names.

    Parameters
    ----------
    features : Sequence[tuple[str, Read]]
        For each feature, the column that it is read from, and how.
    """

    def __init__(self, features: Sequence[tuple[str, Read]]) -> None:
        self._features = features
        self._columns = list(dict.fromkeys(column for column, _ in features))

    def __call__(self, row: Any) -> ReadRow:
        values = row if isinstance(row, Mapping) else self._by_name(row)
        try:
            floats = np.array([read(values[column]) for column, read in self._features])
        except KeyError as error:
            raise ValueError(
                f"The row has no value for {error.args[0]!r}, which the model was trained with. Give None if the value "
                "is missing."
            ) from None
        return ReadRow(floats, floats.astype(np.float32)[np.newaxis])

    def _by_name(self, row: Iterable[Any]) -> Mapping[str, Any]:
        values = list(row)
        if len(values) != len(self._columns):
            raise ValueError(f"A row must have {len(self._columns)} values, {self._columns}; got {len(values)}.")
        return dict(zip(self._columns, values, strict=True))


def reader_of_schema(schema: Schema) -> NamedRow:
    """For a model that was trained on a table with a schema."""
    return NamedRow([(column.source, _reader_of(column)) for column in schema.columns])


def reader_of_frame(names: Sequence[str], categories: Mapping[int, Sequence[Any]]) -> NamedRow:
    """For a model that was trained on a frame. `categories` are those of the categorical columns, by position."""
    readers: list[Read] = [
        Categories(name, tuple(categories[position])) if position in categories else Number(name)
        for position, name in enumerate(names)
    ]
    return NamedRow(list(zip(names, readers, strict=True)))


def _reader_of(column: Column) -> Read:
    if column.categories is not None:
        return Categories(column.name, column.categories, of_strings=True)
    return Number(column.name, column.type) if column.made_of is None else Moment(column)


def is_missing(value: Any) -> bool:
    return value is None or value != value


def _number(value: Any, name: Any) -> float:
    if is_missing(value):
        return np.nan
    if not isinstance(value, Real | np.bool_):
        raise ValueError(f"The value of {name!r} must be a number or None; got {value!r}.")
    number = float(value)
    if np.isinf(number):
        raise ValueError(f"The value of {name!r} is infinity. Replace it by a finite number or by None.")
    return number


class Number:
    """Reads a number of a type, given by its Arrow name, or any number unchanged."""

    def __init__(self, name: str, kind: str | None = None) -> None:
        self._name = name
        self._kind = kind
        self._is_narrow = kind == "float"
        is_whole = kind is not None and ("int" in kind or kind == "bool")
        self._range = None if not is_whole else (0, 1) if kind == "bool" else _range_of(str(kind))

    def __call__(self, value: Any) -> float:
        if isinstance(value, float) and self._range is None and value - value == 0:  # the usual case, and finite
            return float(np.float32(value)) if self._is_narrow else float(value)
        number = _number(value, self._name)
        if self._range is not None and number == number:
            self._refuse_others(value)
        return float(np.float32(number)) if self._is_narrow else number

    def _refuse_others(self, value: Any) -> None:
        assert self._range is not None
        low, high = self._range
        if not (value == int(value) and low <= int(value) <= high):
            raise ValueError(f"The value of {self._name!r} does not fit {self._kind}; got {value!r}.")


def _range_of(kind: str) -> tuple[int, int]:
    limits = np.iinfo(kind)
    return int(limits.min), int(limits.max)


class Categories:
    """Reads a category as its code among known ones; others are missing values."""

    def __init__(self, name: str, known: Sequence[Any], of_strings: bool = False) -> None:
        self._name = name
        self._code_of = {category: float(code) for code, category in enumerate(known)}
        self._of_strings = of_strings

    def __call__(self, value: Any) -> float:
        if self._of_strings and not isinstance(value, str) and not is_missing(value):
            raise ValueError(f"The value of {self._name!r} must be a string or None; got {value!r}.")
        return self._code_of.get(value, np.nan)


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


class Moment:
    """Reads a part of a date or time: seconds since 1970, the day of the week, or the hour in a time zone."""

    def __init__(self, column: Column) -> None:
        self._column = column
        self._zone = zone_of(column.zone)

    def __call__(self, value: Any) -> float:
        if is_missing(value):
            return np.nan
        moment = self._moment(value)
        if self._column.type == "seconds":
            return ((moment - EPOCH) // MICROSECOND) / 1e6
        local = moment.astimezone(self._zone)
        return float(local.hour if self._column.type == "hour" else local.weekday())

    def _moment(self, value: Any) -> datetime:
        """Times without a time zone are UTC, as in tables."""
        name = self._column.source
        if isinstance(value, str):
            try:
                value = datetime.fromisoformat(iso_date(value))
            except ValueError:
                raise ValueError(f"The value of {name!r} must be a date or time; got {value!r}.") from None
        if isinstance(value, date) and not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day)
        if not isinstance(value, datetime):
            raise ValueError(f"The value of {name!r} must be a date, a time or None; got {value!r}.")
        if value.tzinfo is not None:
            return value
        if self._column.has_zone:
            raise ValueError(
                f"The time of {name!r} has no time zone, but those in training had one; got {value!r}. Add a time zone."
            )
        return value.replace(tzinfo=UTC)


LIGHTGBM = "lightgbm", "LGBMClassifier"


class RowScorer:
    """Scores one row at a time. `model.row_scorer()` returns it. Threads can share it, and it can be pickled.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, in the order of the probabilities.
    pos_label_ : label
        The label whose probability is the score.
    is_fast_ : bool
        Whether all members are scored without data frames and without the checks of their own `predict_proba`.
    """

    def __init__(self, model: Model, classes: NDArray[Any]) -> None:
        self.classes_ = classes
        self.pos_label_ = model.trained_on.score_label
        self._column = model.trained_on.score_column
        self._categories = _categories(model)
        self._read = _reader(model, self._categories)
        self._parts = [_Members(part, model.n_classes, model.reader.n_features) for part in model.parts]
        self._pool = model.pool
        self._calibrator = model.calibrator
        self.is_fast_ = all(part.is_fast for part in self._parts)
        self._model = None if self.is_fast_ else model

    def __call__(self, row: Any) -> float:
        """The score of a row: the probability of `pos_label_`.

        Parameters
        ----------
        row : mapping, sequence or ndarray of shape (n_features,)
            The values by the names of the columns, or in the order of the columns in training. None and NaN are
            missing values. Keys that are not columns of the training rows are ignored.
        """
        return float(self.predict_proba(row)[self._column])

    def predict_proba(self, row: Any) -> Floats:
        """The probabilities of a row, one for each of `classes_`: those that the model gives, bit for bit."""
        read = self._read(row)
        features = None if self._model is None else _features(self._model, row, self._categories)
        means = [part.means(read, features) for part in self._parts]
        pooled = means[0] if self._pool is None else self._pool(means)
        probabilities: Floats = pooled if self._calibrator is None else self._calibrator(pooled)
        own: Floats = probabilities[0]
        return own


class _Members:
    """The members of one ensemble: LightGBM models all at once, other models one by one."""

    def __init__(self, part: Part, n_classes: int, n_features: int) -> None:
        members = list(part.members)
        trees = [lightgbm_trees(member) if _predicts_as_lightgbm(member) else None for member in members]
        self._weights = part.weights
        self._shape = len(members), n_classes
        self._boosters = [number for number, found in enumerate(trees) if found is not None]
        boosters = [found for found in trees if found is not None]
        self._score_boosters = BoostersOfARow(boosters) if boosters else None
        self._others = {number: members[number] for number, found in enumerate(trees) if found is None}
        self._scorers = self._make_scorers()

    @property
    def is_fast(self) -> bool:
        return all(scorer.reads_float32 for scorer in self._scorers.values())

    def means(self, row: ReadRow, features: Any) -> Floats:
        """The mean over the members, a matrix of one row, by the same operations as for many rows."""
        answers = np.empty(self._shape)
        if self._score_boosters is not None:
            answers[self._boosters] = self._score_boosters(row.floats)
        for number, scorer in self._scorers.items():
            answers[number] = scorer.score(scorer.view(row.float32 if scorer.reads_float32 else features))[0]
        if self._weights is not None:
            answers *= self._weights[:, np.newaxis]
        # An accumulated sum adds one member after the other.
        total = answers.cumsum(axis=0)[-1:]
        means: Floats = total / (len(answers) if self._weights is None else self._weights.sum())
        return means

    def _make_scorers(self) -> dict[int, Scorer]:
        return {number: scorer_of(member) for number, member in self._others.items()}

    def __getstate__(self) -> dict[str, Any]:
        """The state without the scorers, which hold functions that cannot be pickled."""
        return {name: value for name, value in vars(self).items() if name != "_scorers"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._scorers = self._make_scorers()


def _predicts_as_lightgbm(member: Any) -> bool:
    """Whether a class has its own `predict_proba`, which must then be called."""
    return any(type(member).predict_proba is kind.predict_proba for kind in _lightgbm_kinds(member))


def _is_lightgbm(member: Any) -> bool:
    return bool(_lightgbm_kinds(member))


def _lightgbm_kinds(member: Any) -> list[Any]:
    kinds = type(member).__mro__
    return [kind for kind in kinds if (kind.__module__.partition(".")[0], kind.__name__) == LIGHTGBM]


def _categories(model: Model) -> Mapping[int, Sequence[Any]]:
    """The categories of a frame without a schema, by position. Of the base models, LightGBM stores them."""
    boosters = [member.booster_ for member in model.members if _is_lightgbm(member)]
    return frame_categories(boosters[0]) if boosters and model.reader.schema is None else {}


def _reader(model: Model, categories: Mapping[int, Sequence[Any]]) -> ArrayRow | NamedRow:
    if model.reader.schema is not None:
        return reader_of_schema(model.reader.schema)
    if model.reader.names is None:
        return ArrayRow(model.reader.n_features)
    return reader_of_frame(model.reader.names, categories)


def _features(model: Model, row: Any, categories: Mapping[int, Sequence[Any]]) -> Any:
    """One row as an array or a data frame, for members whose `predict_proba` is called."""
    if model.reader.names is None:
        return model.reader(np.asarray(row)[np.newaxis]).span(0, 1)
    import pandas as pd

    schema = model.reader.schema
    names = schema.sources if schema is not None else list(model.reader.names)
    values = row if isinstance(row, Mapping) else dict(zip(names, row, strict=True))
    # With a schema, None is a missing value of any type. Without one, all other columns hold numbers.
    missing = None if schema is not None else np.nan
    columns: dict[str, Any] = {name: [missing if is_missing(values[name]) else values[name]] for name in names}
    for position, known in categories.items():
        columns[names[position]] = pd.Categorical(columns[names[position]], known)
    return model.reader(pd.DataFrame(columns)).span(0, 1)
