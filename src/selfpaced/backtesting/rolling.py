"""Models trained and tested fold by fold, in the order of time."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import column_or_1d
from sklearn.utils.validation import has_fit_parameter

from selfpaced.backtesting.measures import Budget, JudgedRows, Reached, reached
from selfpaced.backtesting.splitter import Fold, PrequentialSplit
from selfpaced.tables import InMemoryTable, encode_labels
from selfpaced.thresholds import parse_decision


@dataclass(frozen=True)
class FoldResult:
    """The result of a model in a fold.

    Attributes
    ----------
    begin, end : Any
        The first time of the test rows, and the beginning of the next test.
    n_train, n_train_rare, n_test, n_rare : int
        The numbers of training rows and of test rows, and of the rare ones among them.
    note : str | None, default=None
        The reason, if there are no figures.
    """

    model: str
    fold: int
    begin: Any
    end: Any
    n_train: int
    n_train_rare: int
    n_test: int
    n_rare: int
    reached: Reached
    seconds: float
    note: str | None = None

    def as_row(self) -> dict[str, Any]:
        """All figures as one dictionary."""
        own = {name: value for name, value in vars(self).items() if name not in ("reached", "seconds", "note")}
        return {**own, **asdict(self.reached), "seconds": self.seconds, "note": self.note}


def backtest(
    models: Any,
    X: Any,
    y: Any,
    cv: PrequentialSplit,
    *,
    groups: Any = None,
    budget: str | Budget | None = None,
    decide: str | None = None,
    costs: Mapping[str, Any] | None = None,
) -> Any:
    """Train and test models in the order of time, all on the same folds.

    Parameters
    ----------
    models : classifier, or dict of str to classifier
        Models that are not fitted. A clone of each is trained in every fold.
    X : {array-like, data frame} of shape (n_rows, n_features)
        Rows in memory.
    y : array-like of shape (n_rows,)
        Their labels.
    cv : PrequentialSplit
        The folds.
    groups : array-like of shape (n_rows,), default=None
        The group of each row, such as a card. Models whose `fit` accepts groups get them. With a budget, the result has
        the precision among the best groups of each period. Groups of the training rows may occur in tests, as they do
        in production.
    budget : str or Budget, default=None
        The number of rows that can be looked at, such as "100/day". The best rows of each period are its alerts.
    decide : str, default=None
        A rule about costs, such as "p*amount>5". It needs probabilities: ensembles without a calibration get no
        cost.
    costs : dict of str to array-like, default=None
        The columns of the rule that X does not have.

    Returns
    -------
    pandas.DataFrame
        A row for each fold and model: times, numbers of rows, AUCPRC, expected and found rare rows, and the figures for
        the budget and the costs.

    See Also
    --------
    selfpaced.PrequentialSplit : The folds, for scikit-learn's tools.

    Examples
    --------
    >>> import numpy as np
    >>> from selfpaced import PrequentialSplit, SelfPacedEnsembleClassifier, backtest
    >>> from selfpaced.datasets import make_fraud
    >>> X, y = make_fraud(n_rows=6000, n_frauds=120, random_state=0)
    >>> hours = np.datetime64("2024-01-01") + np.arange(6000) * np.timedelta64(20, "m")
    >>> model = SelfPacedEnsembleClassifier(calibration="sigmoid", random_state=0)
    >>> found = backtest(model, X, y, PrequentialSplit(hours, "14d", delay="7d"), budget="2/day")
    >>> found[["fold", "n_train", "n_test", "alerts"]].to_numpy().tolist()
    [[1, 2017, 1008, 28], [2, 3025, 1008, 28], [3, 4033, 1008, 28], [4, 5041, 456, 14]]
    """
    import pandas as pd

    named = models if isinstance(models, Mapping) else {type(models).__name__: models}
    labels = encode_labels(column_or_1d(y))
    rare = labels.classes[labels.rarest]
    is_rare = np.asarray(labels.codes == labels.rarest)
    decision = None if decide is None else parse_decision(decide)
    read = {} if decision is None else {name: _column(name, X, costs or {}) for name in decision.columns}
    groups = None if groups is None else column_or_1d(groups)
    given = None if budget is None else Budget.of(budget)
    moments = cv.moments(X)
    rows = []
    for number, fold in enumerate(cv.folds(X, np.asarray(y)), start=1):
        test = fold.test
        tested = JudgedRows(
            is_rare[test],
            moments[test],
            None if groups is None else groups[test],
            given,
            decision,
            {name: values[test] for name, values in read.items()},
        )
        for name, model in named.items():
            rows.append(_tested(name, clone(model), (X, np.asarray(y), groups, rare), (number, fold), tested).as_row())
    return pd.DataFrame(rows)


def _tested(name: str, model: Any, data: Any, numbered: tuple[int, Fold], tested: JudgedRows) -> FoldResult:
    X, y, groups, rare = data
    fold = numbered[1]
    table = InMemoryTable(X)
    along = {} if groups is None or not has_fit_parameter(model, "groups") else {"groups": groups[fold.train]}
    start = time.perf_counter()
    model.fit(table.take(fold.train), y[fold.train], **along)
    probabilities = model.predict_proba(table.take(fold.test))
    column = int(np.flatnonzero(model.classes_ == rare)[0])
    found = reached(tested, np.asarray(probabilities[:, column], dtype=np.float64), has_probabilities(model))
    return result_of(name, numbered, (y[fold.train] == rare, tested.is_rare), found, time.perf_counter() - start)


def result_of(
    name: str,
    numbered: tuple[int, Fold],
    rare_rows: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    found: Reached,
    seconds: float,
) -> FoldResult:
    """The result of a fold, given which of its training rows and test rows are rare."""
    (number, fold), (trained, tested) = numbered, rare_rows
    counts = int(trained.size), int(trained.sum()), int(tested.size), int(tested.sum())
    note = None if tested.any() else "no rare row in the test rows"
    return FoldResult(name, number, fold.begin, fold.end, *counts, found, seconds, note)


def has_probabilities(model: Any) -> bool:
    """Whether scores are probabilities: those of our ensembles are if they are calibrated."""
    return getattr(model, "calibrator_", True) is not None


def _column(name: str, X: Any, costs: Mapping[str, Any]) -> NDArray[np.float64]:
    if name not in costs and name not in getattr(X, "columns", ()):
        raise ValueError(f"The rule reads {name!r}, which is in neither X nor costs.")
    values = np.asarray(costs[name] if name in costs else X[name], dtype=np.float64)
    if values.shape != (InMemoryTable(X).n_rows,):
        raise ValueError(f"{name!r} must have a number for each row; got an array of shape {values.shape}.")
    return values
