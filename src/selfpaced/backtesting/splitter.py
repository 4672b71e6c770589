"""Folds in the order of time, with a delay of the labels."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from selfpaced.tables import Moments, checked_moments, is_frame, kind_of

UNITS = {"s": 1, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
WRITTEN = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)", re.IGNORECASE)


def span_in(given: Any, moments: Any, name: str) -> Any:
    """A duration in the unit of some moments: a timedelta64 for dates, a number for numbers. Errors call it `name`.

    >>> dates = np.array(["2024-01-31"], dtype="datetime64[us]")
    >>> span_in("36h", dates, "delay"), span_in("1.5", np.array([0.0]), "delay")
    (np.timedelta64(129600000000,'us'), 1.5)
    """
    number, unit = _parts(given, name)
    if moments.dtype.kind == "M":
        if unit not in UNITS:
            raise ValueError(
                f"{name} {given!r} has no unit, but the times are dates. Write it with one of {', '.join(UNITS)}, as "
                "7d or 12h."
            )
        return np.timedelta64(round(number * UNITS[unit] * 1_000_000), "us")
    if unit:
        raise ValueError(
            f"{name} {given!r} has a unit, but the times are numbers. Give a number in the unit of the column, such "
            f"as {round(number * UNITS.get(unit, 1))} for seconds."
        )
    return number


def _parts(given: Any, name: str) -> tuple[float, str]:
    if hasattr(given, "total_seconds"):
        return float(given.total_seconds()), "s"
    if isinstance(given, np.timedelta64):
        return float(given / np.timedelta64(1, "s")), "s"
    found = WRITTEN.fullmatch(str(given).strip())
    unit = "" if found is None else found[2].lower()
    if found is None or isinstance(given, bool) or (unit and unit not in UNITS):
        raise ValueError(f"{name} must be a duration such as 7d, 12h or 90min, or a number; got {given!r}.")
    return float(found[1]), unit


EXPANDING = "expanding"
# The first training of expanding folds takes this share of the time span of the rows.
FIRST_SHARE = 1 / 3


@dataclass(frozen=True)
class Fold:
    """Rows to train on and rows to test, by position. The test rows are those from `begin` up to `end`."""

    train: NDArray[np.intp]
    test: NDArray[np.intp]
    begin: Any
    end: Any


@dataclass(frozen=True)
class Rolling:
    """Where the folds begin and end, as `RollingTimeSplit` explains it."""

    every: Any
    delay: Any = None
    window: Any = None
    first: Any = None

    def folds(self, moments: Moments) -> list[Fold]:
        """All folds, in the order of time. Tests without rows are skipped."""
        every = span_in(self.every, moments, "every")
        zero = every * 0
        if every <= zero:
            raise ValueError(f"every must be longer than 0; got {self.every!r}.")
        delay = zero if self.delay is None else span_in(self.delay, moments, "delay")
        window = None if self.window in (None, EXPANDING) else span_in(self.window, moments, "window")
        earliest, latest = moments.min(), moments.max()
        begin = _whole_day(earliest + self._first(moments, window) + delay, every)
        folds = []
        while begin <= latest:
            known = moments + delay <= begin
            recent = True if window is None else moments + delay > begin - window
            test = np.flatnonzero((moments >= begin) & (moments < begin + every))
            train = np.flatnonzero(known & (moments < begin) & recent)
            if test.size and train.size:
                folds.append(Fold(train, test, begin, begin + every))
            begin = begin + every
        if not folds:
            raise ValueError(
                f"There is no time for a test: the rows are from {earliest} to {latest}, and the first test begins "
                f"after the first training rows ({self.first or self.window or 'a third of the time'}) and the delay "
                f"({self.delay or 0}). Choose shorter ones."
            )
        return folds

    def _first(self, moments: Moments, window: Any) -> Any:
        if self.first is not None:
            return span_in(self.first, moments, "first")
        return (moments.max() - moments.min()) * FIRST_SHARE if window is None else window


def _whole_day(begin: Any, every: Any) -> Any:
    """A moment, or the next midnight of UTC if tests last whole days, so that days are not divided."""
    day = np.timedelta64(1, "D")
    if not isinstance(begin, np.datetime64) or every % day != np.timedelta64(0):
        return begin
    midnight = begin.astype("datetime64[D]")
    return (midnight if midnight == begin else midnight + day).astype(begin.dtype)


class RollingTimeSplit(BaseEstimator):  # type: ignore[misc]
    """Splits in the order of time with a delay of the labels, for scikit-learn's `cross_validate` and searches.

    Every fold trains on rows whose labels are known when its test begins, and tests on the rows after. This is how a
    model is used in production. With a random split a model would be trained on rows after the test rows.

    Parameters
    ----------
    times : array-like of shape (n_rows,), or str
        The time of each row, as dates or numbers, in any order; or the name of a column of X.
    every : str, number or timedelta, default="7d"
        The duration of a test, such as "7d", "12h" or "90min". If the times are numbers, a number in their unit. Tests
        of whole days begin at midnight, in UTC.
    delay : str, number or timedelta, default=None
        The time until labels are known. Rows of the last `delay` before a test are not trained on.
    window : str, number or timedelta, default=None
        The time span of the training rows. By default, or with "expanding", all earlier rows are trained on.
    first : str, number or timedelta, default=None
        The time span of the first training; by default the window, or a third of the time span of all rows.

    See Also
    --------
    selfpaced.backtest : what models reach in each fold, as a frame.

    Examples
    --------
    >>> import numpy as np
    >>> from selfpaced import RollingTimeSplit
    >>> days = np.arange("2024-01-01", "2024-01-31", dtype="datetime64[D]")
    >>> splitter = RollingTimeSplit(days, every="7d", delay="2d", window="10d")
    >>> [(train[[0, -1]].tolist(), test[[0, -1]].tolist()) for train, test in splitter.split(days)]
    [([1, 10], [12, 18]), ([8, 17], [19, 25]), ([15, 24], [26, 29])]
    """

    def __init__(
        self, times: Any, every: Any = "7d", *, delay: Any = None, window: Any = None, first: Any = None
    ) -> None:
        self.times = times
        self.every = every
        self.delay = delay
        self.window = window
        self.first = first

    def split(self, X: Any = None, y: Any = None, groups: Any = None) -> Iterator[tuple[Any, Any]]:
        """Positions of training rows and of test rows, fold by fold.

        Parameters
        ----------
        X : {array-like, data frame} of shape (n_rows, n_features), default=None
            Rows; needed if `times` is the name of a column.
        y : array-like of shape (n_rows,), default=None
            Labels. If they are given, folds whose training rows are all of one class are skipped with a warning.
        groups : object, default=None
            Not used. Groups of the training rows may occur in tests, as they do in production.

        Yields
        ------
        tuple of (ndarray, ndarray)
            Positions of training rows, and of test rows.
        """
        kept = list(self.folds(X, y))
        for fold in kept:
            yield fold.train, fold.test

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """The number of folds.

        Parameters
        ----------
        X : {array-like, data frame} of shape (n_rows, n_features), default=None
            Rows; needed if `times` is the name of a column.
        y : array-like of shape (n_rows,), default=None
            Labels. If they are given, folds whose training rows are all of one class are skipped with a warning.
        groups : object, default=None
            Not used. Groups of the training rows may occur in tests, as they do in production.

        Returns
        -------
        int
            The number of folds.
        """
        return len(self.folds(X, y))

    def folds(self, X: Any = None, y: Any = None) -> list[Fold]:
        """The folds with the times at which their tests begin and end.

        Parameters
        ----------
        X : {array-like, data frame} of shape (n_rows, n_features), default=None
            Rows; needed if `times` is the name of a column.
        y : array-like of shape (n_rows,), default=None
            Labels. If they are given, folds whose training rows are all of one class are skipped with a warning.

        Returns
        -------
        list of Fold
            The folds, in the order of time.

        Raises
        ------
        ValueError
            If there is no time for a test, or if no fold has training rows of two classes.
        """
        moments = self.moments(X)
        folds = Rolling(self.every, self.delay, self.window, self.first).folds(moments)
        if y is None:
            return folds
        labels = np.asarray(y)
        kept = [fold for fold in folds if np.unique(labels[fold.train]).size > 1]
        if len(kept) < len(folds):
            warnings.warn(
                f"{len(folds) - len(kept)} of {len(folds)} folds have training rows of one class only: they are left "
                "out.",
                stacklevel=2,
            )
        if not kept:
            raise ValueError("No fold has training rows of two classes. Choose a longer window or first.")
        return kept

    def moments(self, X: Any = None) -> Moments:
        """The time of each row, checked.

        Parameters
        ----------
        X : {array-like, data frame} of shape (n_rows, n_features), default=None
            Rows; needed if `times` is the name of a column.

        Returns
        -------
        ndarray of shape (n_rows,)
            Dates or numbers.

        Raises
        ------
        ValueError
            If X does not have the column, or another number of rows.
        """
        if isinstance(self.times, str):
            if not is_frame(X) or self.times not in kind_of(X).names(X):
                raise ValueError(f"times={self.times!r} is not a column of X. Give the name of a column, or the times.")
            return checked_moments(X[self.times], f"Column {self.times!r}")
        moments = checked_moments(self.times)
        n_rows = moments.size if X is None else X.shape[0] if hasattr(X, "shape") else len(X)
        if n_rows != moments.size:
            raise ValueError(f"times has {moments.size} values, but X has {n_rows} rows. Every row needs a time.")
        return moments
