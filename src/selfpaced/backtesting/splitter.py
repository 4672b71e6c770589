"""Folds in the order of time, with a delay of the labels."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.model_selection import BaseCrossValidator

from selfpaced.exceptions import warn
from selfpaced.tables import Moments, checked_moments, is_frame, kind_of, span_in

EXPANDING = "expanding"
MOST_TESTS = 100_000
# The first training of expanding folds takes this share of the time span of the rows.
FIRST_SHARE = 1 / 3


@dataclass(frozen=True)
class Fold:
    """Rows to train on and rows to test, by position. The test rows are those from `begin` up to `end`."""

    train: NDArray[np.intp]
    test: NDArray[np.intp]
    begin: Any
    end: Any


def _whole_day(begin: Any, every: Any) -> Any:
    """A moment, or the next midnight of UTC if tests last whole days, so that days are not divided."""
    day = np.timedelta64(1, "D")
    if not isinstance(begin, np.datetime64) or every % day != np.timedelta64(0):
        return begin
    midnight = begin.astype("datetime64[D]")
    return (midnight if midnight == begin else midnight + day).astype(begin.dtype)


class RollingTimeSplit(BaseEstimator, BaseCrossValidator):  # type: ignore[misc]
    """Splits in the order of time with a delay of the labels, for scikit-learn's `cross_validate` and searches.

    Every fold trains on rows whose labels are known when its test begins, and tests on the rows after. This is how a
    model is used in production. With a random split a model would be trained on rows after the test rows. Folds whose
    training rows are all of one class are skipped with a warning if `split` is given labels.

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

    # scikit-learn documents both methods. Groups of the training rows may occur in tests, as they do in production.
    def split(self, X: Any = None, y: Any = None, groups: Any = None) -> Iterator[tuple[Any, Any]]:
        return ((fold.train, fold.test) for fold in self.folds(X, y))

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
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
        moments = moments_of(self.times, X)
        folds = self._all_folds(moments if moments.dtype.kind == "M" else moments.astype(np.float64))
        if y is None:
            return folds
        labels = np.asarray(y)
        if labels.shape[0] != moments.size:
            raise ValueError(
                f"y has {labels.shape[0]} labels, but there are {moments.size} rows. Give one for each row."
            )
        kept = [fold for fold in folds if np.unique(labels[fold.train]).size > 1]
        if len(kept) < len(folds):
            n_folds = f"{len(folds) - len(kept)} of {len(folds)} folds"
            warn(f"{n_folds} have training rows of one class only: they are left out.")
        if not kept:
            raise ValueError("No fold has training rows of two classes. Choose a longer window or first.")
        return kept

    def _all_folds(self, moments: Moments) -> list[Fold]:
        """All folds, in the order of time. Tests without rows are skipped."""
        every = span_in(self.every, moments, "every")
        zero = every * 0
        if every <= zero:
            raise ValueError(f"every must be longer than 0; got {self.every!r}.")
        delay = zero if self.delay is None else span_in(self.delay, moments, "delay")
        is_expanding = self.window is None or (isinstance(self.window, str) and self.window == EXPANDING)
        window = None if is_expanding else span_in(self.window, moments, "window")
        earliest, latest = moments.min(), moments.max()
        first = (latest - earliest) * FIRST_SHARE if window is None else window
        if self.first is not None:
            first = span_in(self.first, moments, "first")
        begin = _whole_day(earliest + first + delay, every)
        n_tests = int((latest - begin) / every) + 1
        if n_tests > MOST_TESTS or (moments.dtype.kind != "M" and begin + every / 1000 == begin):
            raise ValueError(
                f"every={self.every!r} is too short for times from {earliest} to {latest}: there would be {n_tests:,} "
                f"tests, and at most {MOST_TESTS:,} are possible; or the times are too large to differ by a thousandth "
                "of it. Choose a longer one, or give times as dates."
            )
        folds = []
        for number in range(n_tests + 1):  # the division may have been rounded down
            start, end = begin + number * every, begin + (number + 1) * every
            known = moments + delay <= start
            recent = True if window is None else moments + delay > start - window
            test = np.flatnonzero((moments >= start) & (moments < end))
            train = np.flatnonzero(known & (moments < start) & recent)
            if test.size and train.size:
                folds.append(Fold(train, test, start, end))
        if not folds:
            raise ValueError(
                f"There is no time for a test: the rows are from {earliest} to {latest}, and the first test begins "
                f"after the first training rows ({self.first or self.window or 'a third of the time'}) and the delay "
                f"({self.delay or 0}). Choose shorter ones."
            )
        return folds


def moments_of(times: Any, X: Any = None) -> Moments:
    """The time of each row, checked. `times` has them, or is the name of a column of X."""
    if isinstance(times, str):
        if not is_frame(X) or times not in kind_of(X).names(X):
            raise ValueError(f"times={times!r} is not a column of X. Give the name of a column, or the times.")
        return checked_moments(X[times], f"Column {times!r}")
    moments = checked_moments(times)
    n_rows = moments.size if X is None else X.shape[0] if hasattr(X, "shape") else len(X)
    if n_rows != moments.size:
        raise ValueError(f"times has {moments.size} values, but X has {n_rows} rows. Every row needs a time.")
    return moments
