"""Rows in any form, checked and converted to what the members of a model read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from selfpaced import tables
from selfpaced.exceptions import pa
from selfpaced.scoring import LARGEST_WHOLE, CodedRows, are_exact, as_numbers

# Packages whose models know the categories of pandas frames, and fail on those of polars.
PANDAS_READERS = {"catboost", "lightgbm", "xgboost"}
# The values of a frame that are held as columns of numbers beside it: 16 MB.
MOST_CODED = 2**21

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RowReader:
    """Reads the rows that a model scores as those that it was trained on."""

    n_features: int  # the number of features that members read
    names: tuple[str, ...] | None  # their names, if the training rows had names
    schema: tables.Schema | None = None  # how a frame becomes features; None if members read frames as they are
    categories: Mapping[str, tuple[str, ...]] | None = None  # of each column of a frame that members read as it is
    polars_as_arrow: bool = False  # whether members get polars frames as Arrow tables
    numbers_only: bool = False  # whether members need an array of numbers without missing values
    # The types of the other columns of such a frame that do not hold numbers, by name. If they are categories that are
    # not strings, the categories.
    types: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, X: Any) -> tables.InMemoryTable:
        """Rows in memory, ready for the members. Rows that were read before are returned unchanged."""
        if isinstance(X, tables.InMemoryTable):
            return X
        known = SelfPacedModel()
        known.n_features_in_ = self.n_features
        if self.names is not None:
            known.feature_names_in_ = np.array(self.names, dtype=object)
        if self.numbers_only:
            return tables.InMemoryTable(check_numbers(known, X, reset=False))
        rows = tables.as_trained(self.schema, X) if self.schema is not None and tables.is_frame(X) else X
        checked = check_features(known, rows, reset=False)
        if self.categories is not None:
            tables.warn_of_new(self.categories, tables.polars_as_arrow(checked))
        return tables.InMemoryTable(tables.polars_as_arrow(checked) if self.polars_as_arrow else checked)

    def coded(self, X: Any) -> tables.InMemoryTable:
        """The same rows. Small pandas frames are read as columns of numbers, once for all members.

        A frame with other names or types than the one before is checked in full first.
        """
        if self.numbers_only or tables.kind_of(X) is not tables.PANDAS or X.size > MOST_CODED:
            return self(X)
        plan, table = vars(self).get("_plan"), None
        if plan is None or not plan.fits(X):
            table, plan = self(X), plan_for(X, self.names, self.schema, self.all_categories)
            # Not a field: it is made again where the model is loaded.
            object.__setattr__(self, "_plan", plan)
        rows = None if plan is None else plan(X)
        return (table or self(X)) if rows is None else tables.InMemoryTable(rows)

    @property
    def all_categories(self) -> dict[str, tuple[Any, ...]]:
        """The categories of all columns of categories of a frame that members read as it is."""
        others = {name: kind for name, kind in self.types.items() if isinstance(kind, tuple)}
        return {**(self.categories or {}), **others}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_plan"}


# In the place of the code of a category that is not known.
NEW = -1.0


@dataclass
class FramePlan:
    """How frames with the same names and types as an earlier one become columns of numbers.

    Features go by their position, and so do the columns of the frame that they are made of.
    """

    names: Any  # of the columns of the frame
    types: list[Any]
    schema: tables.Schema | None  # how a frame becomes features; None if the columns are the features
    plain: list[tuple[int, int]] = field(default_factory=list)  # numbers of the frame: feature, column
    narrow: list[int] = field(default_factory=list)  # features that are rounded to 32 bits
    whole: dict[int, tuple[int, int]] = field(default_factory=dict)  # whole numbers: the smallest and the largest
    # Categories of the frame: the column, and the code of each of its categories, with NaN for missing values at the
    # end; None if the codes are those of the frame.
    codes: dict[int, tuple[int, Floats | None]] = field(default_factory=dict)
    texts: dict[int, int] = field(default_factory=dict)  # categories that are strings of the frame: the column
    dates: dict[int, int] = field(default_factory=dict)  # parts of dates: the column
    categories: dict[int, tuple[Any, ...]] = field(default_factory=dict)  # of the features

    def fits(self, X: Any) -> bool:
        types = list(X.dtypes)
        if not (len(X) and self.types == types and self.names.equals(X.columns)):
            return False
        # To pandas, types with the same categories in another order are equal.
        places = [place for place, _ in self.codes.values()]
        return all(types[place].categories.equals(self.types[place].categories) for place in places)

    def __call__(self, X: Any) -> CodedRows | None:
        """The features; None if the frame must be read in the usual way, which warns of its values or refuses them."""
        n_features = len(self.plain) + len(self.categories) + len(self.dates)
        numbers = np.empty((n_features, len(X)))
        features, places = [at for at, _ in self.plain], [place for _, place in self.plain]
        numbers[features] = X.iloc[:, places].to_numpy(np.float64).T
        is_exact = are_exact(numbers[features], [self.types[place] for place in places])
        with np.errstate(over="ignore"):
            numbers[self.narrow] = numbers[self.narrow].astype(np.float32)
        for at, (low, high) in self.whole.items():
            own = numbers[at][~np.isnan(numbers[at])]
            if not ((own == np.rint(own)) & (own >= low) & (own <= high)).all():
                return None
        for at, (place, code_of) in self.codes.items():
            own = X.iloc[:, place].array.codes
            numbers[at] = as_numbers(own) if code_of is None else code_of.take(own)
        for at, place in self.texts.items():
            numbers[at] = _codes_of_texts(X.iloc[:, place].tolist(), self.categories[at])
        for at, place in self.dates.items():
            assert self.schema is not None
            moments = pa.array(X.iloc[:, place], from_pandas=True)
            numbers[at] = self.schema.columns[at].converted(moments, "X").to_numpy(zero_copy_only=False)
        if np.isinf(numbers[features]).any() or any((numbers[at] == NEW).any() for at in self.categories):
            return None
        whole_frame = (lambda: X) if self.schema is None else partial(tables.as_trained, self.schema, X)
        return CodedRows(numbers, self.categories, whole_frame, is_exact)


def _codes_of_texts(texts: Sequence[Any], known: tuple[str, ...]) -> list[float]:
    """The codes of strings; NEW for anything that is neither known nor missing."""
    code_of = {category: float(code) for code, category in enumerate(known)}
    return [
        code_of.get(text, NEW) if isinstance(text, str) else np.nan if tables.is_missing(text) else NEW
        for text in texts
    ]


def plan_for(
    X: Any, names: Sequence[str] | None, schema: tables.Schema | None, categories: Mapping[str, Sequence[Any]]
) -> FramePlan | None:
    """The plan for frames like one that has passed all checks; None if it has columns of other kinds."""
    if names is None or not X.columns.is_unique:
        return None
    plan = FramePlan(X.columns, list(X.dtypes), schema)
    if schema is None:
        features = [(at, at, tables.Column(str(name), "double")) for at, name in enumerate(names)]
    else:
        places = {name: place for place, name in enumerate(X.columns)}
        features = [(at, places[column.source], column) for at, column in enumerate(schema.columns)]
    is_known = all(_add(plan, at, place, column, categories.get(X.columns[place])) for at, place, column in features)
    return plan if is_known else None


def _add(plan: FramePlan, at: int, place: int, column: tables.Column, own: Sequence[Any] | None) -> bool:
    """Add a feature to a plan, unless it is of another kind. `own` are its categories where there is no schema."""
    kind = plan.types[place]
    if column.made_of is not None:
        plan.dates[at] = place
        return bool(getattr(kind, "kind", "O") == "M")
    if hasattr(kind, "categories"):
        of_frame = tuple(kind.categories.tolist())
        if plan.schema is None:
            plan.codes[at], plan.categories[at] = (place, None), of_frame
            return own is not None and set(of_frame) <= set(own)
        if column.categories is None:
            return False
        codes = np.array([*_codes_of_texts(of_frame, column.categories), np.nan])
        plan.codes[at], plan.categories[at] = (place, codes), column.categories
        return all(isinstance(category, str) for category in of_frame)
    if column.categories is not None:
        plan.texts[at], plan.categories[at] = place, column.categories
        return str(kind) in ("object", "str", "string")
    if not (isinstance(kind, np.dtype) and kind.kind in "biuf"):
        return False
    plan.plain.append((at, place))
    return _add_number(plan, at, kind, number_type(column))


def _add_number(plan: FramePlan, at: int, kind: Any, wanted: Any) -> bool:
    """Add what is to be done with numbers of a type that have another type in training."""
    if wanted.kind == "f":
        if wanted.itemsize < 8:
            plan.narrow.append(at)
        return bool(wanted.itemsize == 8 or kind.kind == "f" or kind.itemsize < 4)
    if not np.can_cast(kind, wanted):
        plan.whole[at] = whole_range(wanted)
    return True


def number_type(column: tables.Column) -> np.dtype[Any]:
    kind: np.dtype[Any] = np.dtype(pa.type_for_alias(column.type).to_pandas_dtype())
    return kind


def whole_range(wanted: Any) -> tuple[int, int]:
    """The whole numbers of a type that floats hold."""
    if wanted.kind == "b":
        return 0, 1
    limits = np.iinfo(wanted)
    return max(int(limits.min), -LARGEST_WHOLE), min(int(limits.max), LARGEST_WHOLE)


class SelfPacedModel(BaseEstimator):  # type: ignore[misc]
    """Stands for a fitted estimator in scikit-learn's checks of features."""

    n_features_in_: int
    feature_names_in_: NDArray[np.object_]


def reader_for(
    features: Any, schema: tables.Schema | None, bases: Sequence[Any], numbers_only: bool = False
) -> RowReader:
    """The reader of a model with some base models. `features` are some training rows as the members read them."""
    known = SelfPacedModel()
    check_features(known, features, reset=True)
    names = getattr(known, "feature_names_in_", None)
    return RowReader(
        known.n_features_in_,
        None if names is None else tuple(names.tolist()),
        schema,
        (tables.categories_in(features) or None) if schema is None else None,
        reads_pandas(bases),
        numbers_only,
        _other_types(features) if schema is None and tables.kind_of(features) is tables.PANDAS else {},
    )


def _other_types(frame: Any) -> dict[str, Any]:
    """The types of the columns of a pandas frame that hold neither numbers nor strings as categories."""
    found: dict[str, Any] = {}
    for name, kind in frame.dtypes.items():
        if hasattr(kind, "categories"):
            categories = tuple(kind.categories.tolist())
            if not all(isinstance(category, str) for category in categories):
                is_plain = all(isinstance(category, str | int | float) for category in categories)
                found[name] = categories if is_plain else str(kind)
        elif getattr(kind, "kind", "O") not in "biuf":
            found[name] = str(kind)
    return found


def reads_pandas(bases: Sequence[Any]) -> bool:
    """Whether one of some base models reads the categories of pandas frames."""
    kinds = [kind for base in bases for kind in type(base).__mro__]
    return bool({kind.__module__.partition(".")[0] for kind in kinds} & PANDAS_READERS)


def readable(X: Any, bases: Sequence[Any], metadata: Mapping[str, Any] | None = None) -> tables.InMemoryTable:
    """Checked rows as base models read them."""
    return tables.InMemoryTable(tables.polars_as_arrow(X) if reads_pandas(bases) else X, metadata)


def check_features(estimator: Any, X: Any, *, reset: bool) -> Any:
    """X as the base models read it: a frame stays a frame, everything else becomes an array or a CSR matrix.

    Names, number and order of the columns are stored at fit and checked afterwards. NaN is left to the base model.
    """
    if not tables.is_frame(X):
        _refuse_lazy_frame(X)
        return validate_data(
            estimator, X, reset=reset, accept_sparse="csr", ensure_all_finite="allow-nan", dtype="numeric"
        )
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise ValueError(
            f"Found a table with {X.shape[0]} rows and {X.shape[1]} columns. At least 1 of each is needed."
        )
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    for name, values in tables.float_columns(X):
        tables.refuse_infinity(values, f"Column {name!r} of X")
    return X


def check_numbers(estimator: Any, X: Any, *, reset: bool) -> NDArray[np.floating]:
    """X as one array of finite floats: SMOTE makes new rows by arithmetic on all columns."""
    if tables.is_frame(X):
        numbers = tables.float_array(check_features(estimator, X, reset=reset))
    else:
        _refuse_lazy_frame(X)
        numbers = validate_data(
            estimator, X, reset=reset, ensure_all_finite="allow-nan", dtype=[np.float64, np.float32]
        )
    if np.isnan(numbers.max()):
        names = getattr(estimator, "feature_names_in_", range(numbers.shape[1]))
        first = names[int(np.isnan(numbers.max(axis=0)).argmax())]
        raise ValueError(
            f"Input X contains NaN, first in column {first!r}, but SMOTE needs complete rows. Impute missing values "
            "first, for instance with SimpleImputer, or drop the rows."
        )
    return numbers


def _refuse_lazy_frame(X: Any) -> None:
    if type(X).__name__ == "LazyFrame":
        raise TypeError("X is a lazy frame, whose rows are not computed yet. Pass X.collect().")


def feature_names_of(model: Any) -> list[str] | None:
    """The names of the features that a fitted estimator has, if it was trained with names."""
    return model.feature_names_in_.tolist() if hasattr(model, "feature_names_in_") else None
