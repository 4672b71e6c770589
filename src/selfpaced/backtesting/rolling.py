"""Backtests: what a model would have reached, period by period."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import column_or_1d
from sklearn.utils.validation import has_fit_parameter

from selfpaced.backtesting.splitter import Fold, RollingTimeSplit
from selfpaced.metrics import aucprc
from selfpaced.tables import InMemoryTable, Moments, encode_labels, periods_of
from selfpaced.thresholds import Decision, best_rows, parse_decision

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Budget:
    """The number of rows that can be looked at in each period. Days are those of a time zone.

    >>> Budget.of("100/day")
    Budget(top=100, per='day', timezone=None)
    """

    top: int
    per: str = "day"
    timezone: str | None = None

    @classmethod
    def of(cls, given: Any) -> Budget:
        """A budget from its text. An object that is already a budget is returned unchanged."""
        if isinstance(given, Budget):
            return given
        number, _, period = str(given).partition("/")
        if not number.strip().isdigit() or int(number) < 1:
            raise ValueError(f"A budget must be a number of rows in a period, such as '100/day'; got {given!r}.")
        return cls(int(number), period.strip() or "day")

    def periods(self, moments: Moments) -> NDArray[Any]:
        return periods_of(moments, self.per, self.timezone)


@dataclass(frozen=True)
class JudgedRows:
    """The test rows of a fold, and how they are judged.

    Attributes
    ----------
    groups : NDArray[Any] | None, default=None
        The group of each row, such as its card; None without groups.
    decision, costs
        A rule by costs, and the columns that it reads; None without costs.
    """

    is_rare: NDArray[np.bool_]
    moments: Moments
    groups: NDArray[Any] | None = None
    budget: Budget | None = None
    decision: Decision | None = None
    costs: Mapping[str, Floats] | None = None

    def part(self, rows: NDArray[np.intp]) -> JudgedRows:
        """Some of the rows."""
        return replace(
            self,
            is_rare=self.is_rare[rows],
            moments=self.moments[rows],
            groups=None if self.groups is None else self.groups[rows],
            costs=None if self.costs is None else {name: values[rows] for name, values in self.costs.items()},
        )


@dataclass(frozen=True)
class Reached:
    """The figures of scores on the test rows of a fold. Figures that are not defined are None.

    Attributes
    ----------
    aucprc : float | None
        The AUCPRC; None without rare rows.
    expected : float | None
        The sum of the scores, if they are probabilities: the expected number of rare rows.
    alerts, precision, recall
        The figures of the best rows of each period, as many as the budget allows.
    group_precision : float | None, default=None
        The share of groups with a rare row among the best groups of each period. A group is ranked by its best row.
    cost_alerts, cost
        The alerts that are decided row by row, and the cost of these and of the missed rows.
    cost_without : float | None, default=None
        The cost without any alert.
    """

    aucprc: float | None
    expected: float | None
    alerts: int | None = None
    precision: float | None = None
    recall: float | None = None
    group_precision: float | None = None
    cost_alerts: int | None = None
    cost: float | None = None
    cost_without: float | None = None


def reached(tested: JudgedRows, scores: Floats, are_probabilities: bool) -> Reached:
    """The figures of scores on test rows."""
    has_rare = bool(tested.is_rare.any())
    return Reached(
        aucprc(tested.is_rare, scores) if has_rare else None,
        float(scores.sum()) if are_probabilities else None,
        **_within_budget(tested, scores),
        **(_costs(tested, scores) if are_probabilities else {}),
    )


def _within_budget(tested: JudgedRows, scores: Floats) -> dict[str, Any]:
    if tested.budget is None:
        return {}
    periods, is_rare = tested.budget.periods(tested.moments), tested.is_rare
    chosen = best_rows(scores, tested.budget.top, periods=periods)
    found = int(is_rare[chosen].sum())
    measures = {
        "alerts": int(chosen.sum()),
        "precision": found / max(int(chosen.sum()), 1),
        "recall": found / int(is_rare.sum()) if is_rare.any() else None,
    }
    if tested.groups is not None:
        cards = best_rows(scores, tested.budget.top, periods=periods, groups=tested.groups)
        pairs = np.stack([np.unique(each, return_inverse=True)[1] for each in (periods, tested.groups)], axis=1)
        _, number = np.unique(pairs, axis=0, return_inverse=True)
        has_rare = np.bincount(number.ravel(), weights=is_rare) > 0
        measures["group_precision"] = float(has_rare[number.ravel()[cards]].mean()) if cards.any() else None
    return measures


def _costs(tested: JudgedRows, scores: Floats) -> dict[str, Any]:
    if tested.decision is None or tested.costs is None:
        return {}
    alerts = tested.decision.alerts(scores, tested.costs)
    nothing = np.zeros(alerts.size, dtype=bool)
    return {
        "cost_alerts": int(alerts.sum()),
        "cost": tested.decision.cost(tested.is_rare, alerts, tested.costs),
        "cost_without": tested.decision.cost(tested.is_rare, nothing, tested.costs),
    }


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
    cv: RollingTimeSplit,
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
    cv : RollingTimeSplit
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
    selfpaced.RollingTimeSplit : The folds, for scikit-learn's tools.

    Examples
    --------
    >>> import numpy as np
    >>> from selfpaced import RollingTimeSplit, SelfPacedEnsembleClassifier, backtest
    >>> from selfpaced.datasets import make_fraud
    >>> X, y = make_fraud(n_rows=6000, n_frauds=120, random_state=0)
    >>> hours = np.datetime64("2024-01-01") + np.arange(6000) * np.timedelta64(20, "m")
    >>> model = SelfPacedEnsembleClassifier(calibration="sigmoid", random_state=0)
    >>> found = backtest(model, X, y, RollingTimeSplit(hours, "14d", delay="7d"), budget="2/day")
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
    whole = JudgedRows(is_rare, cv.moments(X), groups, given, decision, read)
    known = X, np.asarray(y), groups, rare
    named_scorers = {name: partial(_fold_scores, model, known) for name, model in named.items()}
    results = roll(cv.folds(X, np.asarray(y)), whole, named_scorers)
    return pd.DataFrame([result.as_row() for result in results])


def _fold_scores(model: Any, known: Any, fold: Fold) -> tuple[Floats, bool]:
    X, y, groups, rare = known
    fitted, table = clone(model), InMemoryTable(X)
    along = {} if groups is None or not has_fit_parameter(fitted, "groups") else {"groups": groups[fold.train]}
    fitted.fit(table.take(fold.train), y[fold.train], **along)
    probabilities = fitted.predict_proba(table.take(fold.test))
    column = int(np.flatnonzero(fitted.classes_ == rare)[0])
    return np.asarray(probabilities[:, column], dtype=np.float64), has_probabilities(fitted)


class FoldSkippedError(Exception):
    """Raised by the function of a model, if it has no scores for a fold. The message is the reason."""


def roll(
    folds: Iterable[Fold],
    whole: JudgedRows,
    models: Mapping[str, Callable[[Fold], tuple[Floats, bool]]],
    on_result: Callable[[FoldResult], None] = lambda result: None,
) -> list[FoldResult]:
    """Train and test all models, fold by fold.

    Parameters
    ----------
    folds : Iterable[Fold]
        The folds, in the order of time.
    whole : JudgedRows
        All rows as test rows.
    models : Mapping[str, Callable[[Fold], tuple[Floats, bool]]]
        For each model a function that trains it on a fold and returns the scores of the test rows, and whether these
        are probabilities.
    on_result : Callable[[FoldResult], None]
        Called with each result as soon as it is known.
    """
    results = []
    for number, fold in enumerate(folds, start=1):
        tested, trained = whole.part(fold.test), whole.is_rare[fold.train]
        counts = trained.size, int(trained.sum()), tested.is_rare.size, int(tested.is_rare.sum())
        for name, scores_of_fold in models.items():
            start = time.perf_counter()
            note = None if tested.is_rare.any() else "no rare row in the test rows"
            try:
                found = reached(tested, *scores_of_fold(fold))
            except FoldSkippedError as skipped:
                found, note = Reached(None, None), str(skipped)
            seconds = time.perf_counter() - start
            results.append(FoldResult(name, number, fold.begin, fold.end, *counts, found, seconds, note))
            on_result(results[-1])
    return results


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
