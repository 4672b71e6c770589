"""Rows in any form, checked and converted to what the members of a model read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from selfpaced.tables import (
    InMemoryTable,
    Schema,
    as_trained,
    categories_in,
    float_array,
    float_columns,
    is_frame,
    polars_as_arrow,
    warn_of_new,
)

# Packages whose models know the categories of pandas frames, and fail on those of polars.
PANDAS_READERS = {"catboost", "lightgbm", "xgboost"}


@dataclass(frozen=True)
class RowReader:
    """Reads the rows that a model scores as those that it was trained on.

    Attributes
    ----------
    n_features : int
        The number of features that members read.
    names : tuple of str or None
        Their names, if the training rows had names.
    schema : Schema or None
        How a frame becomes features; None if members read frames as they are.
    categories : mapping of str to tuple of str, or None
        The categories of each column of a frame that members read as it is.
    polars_as_arrow : bool
        Whether members get polars frames as Arrow tables.
    numbers_only : bool
        Whether members need an array of numbers without missing values.
    """

    n_features: int
    names: tuple[str, ...] | None
    schema: Schema | None = None
    categories: Mapping[str, tuple[str, ...]] | None = None
    polars_as_arrow: bool = False
    numbers_only: bool = False

    def __call__(self, X: Any) -> InMemoryTable:
        """Rows in memory, ready for the members. Rows that were read before are returned unchanged."""
        if isinstance(X, InMemoryTable):
            return X
        layout = _Layout.of(X)
        if layout is not None and layout == vars(self).get("_known_layout"):
            layout.refuse_infinity(X)  # all else was checked before
            return InMemoryTable(X)
        known = SelfPacedModel()
        known.n_features_in_ = self.n_features
        if self.names is not None:
            known.feature_names_in_ = np.array(self.names, dtype=object)
        if self.numbers_only:
            return InMemoryTable(check_numbers(known, X, reset=False))
        rows = as_trained(self.schema, X) if self.schema is not None and is_frame(X) else X
        checked = check_features(known, rows, reset=False)
        if self.categories is not None:
            warn_of_new(self.categories, polars_as_arrow(checked))
        if layout is not None and self.schema is None and not layout.has_new(self.categories):
            # Not a field: a frame of the same types is then read in a fraction of the time.
            object.__setattr__(self, "_known_layout", layout)
        return InMemoryTable(polars_as_arrow(checked) if self.polars_as_arrow else checked)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_known_layout"}


class _Layout:
    """The names and types of the columns of a pandas frame, by which a second frame of the same kind is recognised."""

    def __init__(self, columns: Any, types: list[Any]) -> None:
        self._columns, self._types = columns, types
        self._floats = [place for place, kind in enumerate(types) if getattr(kind, "kind", "O") == "f"]

    @staticmethod
    def of(X: Any) -> _Layout | None:
        """The layout of a frame whose floats are numpy's; None for anything else."""
        if type(X).__module__.partition(".")[0] != "pandas" or len(X) == 0:
            return None
        types = list(X.dtypes)
        return _Layout(X.columns, types) if all(_is_plain(kind) for kind in types) else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Layout) and self._types == other._types and self._columns.equals(other._columns)

    def has_new(self, known: Mapping[str, tuple[str, ...]] | None) -> bool:
        """Whether there are categories that are not known."""
        return any(
            not set(kind.categories).issubset((known or {}).get(name, ()))
            for name, kind in zip(self._columns, self._types, strict=True)
            if hasattr(kind, "categories")
        )

    def refuse_infinity(self, X: Any) -> None:
        infinite = np.isinf(X.iloc[:, self._floats].to_numpy())
        if infinite.any():
            place = self._floats[int(infinite.any(axis=0).argmax())]
            raise _infinity_in(self._columns[place])


def _is_plain(kind: Any) -> bool:
    return isinstance(kind, np.dtype) or hasattr(kind, "categories")


class SelfPacedModel(BaseEstimator):  # type: ignore[misc]
    """Stands for a fitted estimator in scikit-learn's checks of features."""

    n_features_in_: int
    feature_names_in_: NDArray[np.object_]


def reader_for(features: Any, schema: Schema | None, bases: Sequence[Any], numbers_only: bool = False) -> RowReader:
    """The reader of a model that was trained on rows with such features.

    Parameters
    ----------
    features
        Some training rows as the members read them.
    bases
        The base models.
    """
    known = SelfPacedModel()
    check_features(known, features, reset=True)
    names = getattr(known, "feature_names_in_", None)
    return RowReader(
        known.n_features_in_,
        None if names is None else tuple(names.tolist()),
        schema,
        (categories_in(features) or None) if schema is None else None,
        reads_pandas(bases),
        numbers_only,
    )


def reads_pandas(bases: Sequence[Any]) -> bool:
    """Whether one of some base models reads the categories of pandas frames."""
    kinds = [kind for base in bases for kind in type(base).__mro__]
    return bool({kind.__module__.partition(".")[0] for kind in kinds} & PANDAS_READERS)


def readable(X: Any, bases: Sequence[Any], metadata: Mapping[str, Any] | None = None) -> InMemoryTable:
    """Checked rows as base models read them."""
    return InMemoryTable(polars_as_arrow(X) if reads_pandas(bases) else X, metadata)


def check_features(estimator: Any, X: Any, *, reset: bool) -> Any:
    """X as the base models read it: a frame stays a frame, everything else becomes an array or a CSR matrix.

    Names, number and order of the columns are stored at fit and checked afterwards. NaN is left to the base model.
    """
    if not is_frame(X):
        _refuse_lazy_frame(X)
        return validate_data(
            estimator, X, reset=reset, accept_sparse="csr", ensure_all_finite="allow-nan", dtype="numeric"
        )
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise ValueError(
            f"Found a table with {X.shape[0]} rows and {X.shape[1]} columns. At least 1 of each is needed."
        )
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    for name, values in float_columns(X):
        if np.isinf(values).any():
            raise _infinity_in(name)
    return X


def _infinity_in(name: Any) -> ValueError:
    return ValueError(
        f"Column {name!r} of X contains infinity. Replace it by a finite number, or by NaN if the base model accepts "
        "missing values."
    )


def check_numbers(estimator: Any, X: Any, *, reset: bool) -> NDArray[np.floating]:
    """X as one array of finite floats: SMOTE makes new rows by arithmetic on all columns."""
    if is_frame(X):
        numbers = float_array(check_features(estimator, X, reset=reset))
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
