"""Checks of parameters and data, each with one clear error."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils import check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.validation import has_fit_parameter, validate_data

from selfpaced.pools.rows import GROUP
from selfpaced.tables import (
    ClassCounts,
    Labels,
    Roles,
    Table,
    encode_labels,
    float_array,
    float_columns,
    is_frame,
    read_labels,
    refuse_missing_labels,
)
from selfpaced.tables.groups import group_hashes

Counted = TypeVar("Counted", bound=ClassCounts)

FEWEST_MINORITY_ROWS = 2
FEW_TO_CALIBRATE_BY = 20


def check_groups(groups: Any, labels: Labels) -> dict[str, NDArray[np.uint64]]:
    """The hash of each row's group, as metadata of the rows; empty without groups. Missing groups are refused."""
    if groups is None:
        return {}
    values = column_or_1d(groups)
    check_consistent_length(labels.codes, values)
    return {GROUP: group_hashes(values)}


def roles_with(groups: Any) -> Roles:
    """The roles of a table in memory, by its groups: their column has the name of the array, if it has one."""
    return Roles(group=None if groups is None else str(getattr(groups, "name", None) or "groups"))


def check_whole(name: str, value: Any, at_most: int | None = None) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < 1:
        raise ValueError(f"{name} must be a whole number >= 1; got {value!r}.")
    if at_most is not None and int(value) > at_most:
        raise ValueError(f"{name} must be at most {at_most}; got {value!r}.")
    return int(value)


def check_positive(name: str, value: Any) -> float:
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 < float(value) < np.inf:
        raise ValueError(f"{name} must be a positive number; got {value!r}.")
    return float(value)


def check_share(share: Any) -> float:
    if not isinstance(share, Real) or isinstance(share, bool) or not 0 < float(share) <= 1:
        raise ValueError(
            f"share, the share of the members in the middle, must be above 0 and at most 1; got {share!r}."
        )
    return float(share)


def check_jobs(n_jobs: Any) -> Any:
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise ValueError(f"n_jobs must be None or a whole number other than 0; got {n_jobs!r}.")
    return n_jobs


def check_classifier(estimator: Any) -> Any:
    if isinstance(estimator, type) or not hasattr(estimator, "fit") or not is_classifier(estimator):
        raise ValueError(f"estimator must be an instance of a classifier, not a class; got {estimator!r}.")
    return estimator


def check_classifiers(estimators: list[Any]) -> list[Any]:
    if not estimators:
        raise ValueError("estimator is an empty list. Give a classifier, or a list of classifiers that take turns.")
    return [check_classifier(each) for each in estimators]


def check_weighable(estimator: Any) -> Any:
    if not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(
            f"Boosting weights rows, but fit of the base model {type(estimator).__name__} does not accept "
            "sample_weight. Choose a base model that does, such as a decision tree."
        )
    return estimator


def check_seed(random_state: Any) -> int:
    """The seed of a fit: the given number itself, or one drawn from the given generator."""
    generator = check_random_state(random_state)
    if isinstance(random_state, Integral):
        return int(random_state)
    high, low = generator.randint(2**32, size=2, dtype=np.uint64).tolist()
    return int(high << 32 | low)


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
            raise ValueError(
                f"Column {name!r} of X contains infinity. Replace it by a finite number, or by NaN if the base model "
                "accepts missing values."
            )
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


def check_labels(y: Any, X: Any) -> Labels:
    """y as class numbers: at least two classes, and enough rows of the smallest."""
    return check_classes(read_labels(y, X), "y")


def check_classes(labels: Counted, where: str) -> Counted:
    """Refuse fewer than two classes, and too few rows of the smallest. `where` is the name of the labels in errors."""
    names = labels.names
    if len(names) < 2:
        raise ValueError(f"{where} holds one class only, {names}. At least 2 classes are needed.")
    smallest = int(labels.counts.argmin())
    if labels.counts[smallest] < FEWEST_MINORITY_ROWS:
        raise ValueError(
            f"The class {names[smallest]!r} has {labels.counts[smallest]} row; at least {FEWEST_MINORITY_ROWS} are "
            f"needed. The classes found are {names}."
        )
    return labels


def check_table(table: Any) -> None:
    """Refuse anything but a table of `open_table`."""
    if not isinstance(table, Table):
        raise TypeError(
            f"fit_table needs a table that selfpaced.open_table returns; got {type(table).__name__}. "
            "For arrays and frames in memory, call fit(X, y)."
        )


def check_known_labels(y: Any, X: Any, classes: NDArray[Any], where: str = "y") -> Labels:
    """Labels numbered like those of the training rows. `where` is the name of the labels in errors."""
    y = column_or_1d(y)
    check_consistent_length(X, y)
    refuse_missing_labels(y)
    unknown = np.setdiff1d(y, classes)
    if unknown.size:
        raise ValueError(
            f"{where} has labels that the training rows do not have: {unknown.tolist()}. The classes of the training "
            f"rows are {classes.tolist()}."
        )
    return encode_labels(y, classes)


def warn_of_few_rows(labels: ClassCounts, stacklevel: int) -> None:
    """Warn about a calibration by few rows, which is not reliable."""
    smallest = int(labels.counts.argmin())
    if labels.counts[smallest] < FEW_TO_CALIBRATE_BY:
        warnings.warn(
            f"The calibration uses only {labels.counts[smallest]} rows of the class {labels.names[smallest]!r}. With "
            f"fewer than {FEW_TO_CALIBRATE_BY}, the probabilities are not reliable.",
            stacklevel=stacklevel,
        )


def check_present(labels: Labels, class_number: int, where: str, what_for: str) -> None:
    """Refuse labels without a row of a class."""
    if labels.counts[class_number] == 0:
        raise ValueError(
            f"{where} has no row of the class {labels.names[class_number]!r}, so nothing can be {what_for} it. Split "
            "the rows with stratify=y."
        )
