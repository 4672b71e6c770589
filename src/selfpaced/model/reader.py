"""Rows in any form, checked and converted to what the members of a model read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from selfpaced.model.coding import plan_for
from selfpaced.tables import (
    PANDAS,
    InMemoryTable,
    Schema,
    as_trained,
    categories_in,
    float_array,
    float_columns,
    is_frame,
    kind_of,
    polars_as_arrow,
    refuse_infinity,
    warn_of_new,
)

# Packages whose models know the categories of pandas frames, and fail on those of polars.
PANDAS_READERS = {"catboost", "lightgbm", "xgboost"}
# The values of a frame that are held as columns of numbers beside it: 16 MB.
MOST_CODED = 2**21


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
    types : mapping of str to str or tuple
        The types of the other columns of such a frame that do not hold numbers, by name. If they are categories that
        are not strings, the categories.
    """

    n_features: int
    names: tuple[str, ...] | None
    schema: Schema | None = None
    categories: Mapping[str, tuple[str, ...]] | None = None
    polars_as_arrow: bool = False
    numbers_only: bool = False
    types: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, X: Any) -> InMemoryTable:
        """Rows in memory, ready for the members. Rows that were read before are returned unchanged."""
        if isinstance(X, InMemoryTable):
            return X
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
        return InMemoryTable(polars_as_arrow(checked) if self.polars_as_arrow else checked)

    def coded(self, X: Any) -> InMemoryTable:
        """The same rows. Of small pandas frames, all but the first are read as columns of numbers, which is faster.

        A frame with other names or types than the one before is checked in full.
        """
        if self.numbers_only or kind_of(X) is not PANDAS or X.size > MOST_CODED:
            return self(X)
        plan = vars(self).get("_plan")
        if plan is not None and plan.fits(X):
            rows = plan(X)
            return self(X) if rows is None else InMemoryTable(rows)
        table = self(X)
        # Not a field: it is made again where the model is loaded.
        object.__setattr__(self, "_plan", plan_for(X, self.names, self.schema, self.all_categories))
        return table

    @property
    def all_categories(self) -> dict[str, tuple[Any, ...]]:
        """The categories of all columns of categories of a frame that members read as it is."""
        others = {name: kind for name, kind in self.types.items() if isinstance(kind, tuple)}
        return {**(self.categories or {}), **others}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_plan"}


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
        _other_types(features) if schema is None and kind_of(features) is PANDAS else {},
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
        refuse_infinity(values, f"Column {name!r} of X")
    return X


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
