"""Backtests: what a model would have reached, period by period."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import has_fit_parameter

from selfpaced.backtesting.splitter import Fold, RollingTimeSplit, moments_of
from selfpaced.ensembles import FEWEST_MINORITY_ROWS
from selfpaced.metrics import aucprc
from selfpaced.tables import InMemoryTable, Moments, group_hashes, periods_of, read_labels
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
    """The test rows of a fold, and how they are judged."""

    is_rare: NDArray[np.bool_]
    moments: Moments
    groups: NDArray[Any] | None = None  # of each row, such as its card
    budget: Budget | None = None
    decision: Decision | None = None  # a rule by costs
    costs: Mapping[str, Floats] | None = None  # the columns that the rule reads

    def part(self, rows: NDArray[np.intp]) -> JudgedRows:
        return replace(
            self,
            is_rare=self.is_rare[rows],
            moments=self.moments[rows],
            groups=None if self.groups is None else self.groups[rows],
            costs=None if self.costs is None else {name: values[rows] for name, values in self.costs.items()},
        )


@dataclass(frozen=True)
class Reached:
    """The figures of scores on the test rows of a fold. Figures that are not defined are None."""

    aucprc: float | None
    expected: float | None  # the sum of the scores, if they are probabilities
    alerts: int | None = None  # the best rows of each period, as many as the budget allows
    precision: float | None = None
    recall: float | None = None
    group_precision: float | None = None  # among the best groups of each period; a group is ranked by its best row
    cost_alerts: int | None = None  # decided row by row
    cost: float | None = None  # of these alerts and of the missed rows
    cost_without: float | None = None  # any alert


def measure_fold(tested: JudgedRows, scores: Floats, are_probabilities: bool) -> Reached:
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
    model: str
    fold: int
    begin: Any  # of the test rows
    end: Any  # the beginning of the next test
    n_train: int
    n_train_rare: int
    n_test: int
    n_rare: int
    reached: Reached
    seconds: float
    note: str | None = None  # the reason, if there are no figures

    def as_row(self) -> dict[str, Any]:
        """All figures as one dictionary."""
        own = {name: value for name, value in vars(self).items() if name not in ("reached", "seconds", "note")}
        return {**own, **asdict(self.reached), "seconds": self.seconds, "note": self.note}


class SkipFoldError(ValueError):
    """Raised by a `Trial` that has no scores for a fold. The result of the fold has the message as its note."""


# Fits a model on the training rows of a fold; gives the scores of its test rows, and whether they are probabilities.
Trial = Callable[[Fold], tuple[Floats, bool]]


def run_backtest(rows: JudgedRows, folds: Sequence[Fold], trials: Mapping[str, Trial]) -> Iterator[FoldResult]:
    """The results of models, given by name, in all folds, one after the other.

    A fold has no figures without enough rare rows to train on. What the figures need is checked before the first fit.
    """
    if rows.budget is not None:
        rows.budget.periods(rows.moments[:1])
    if rows.decision is not None:
        rows.decision.cost(rows.is_rare, rows.is_rare, rows.costs or {})
    for number, fold in enumerate(folds, start=1):
        tested, trained_rare = rows.part(fold.test), rows.is_rare[fold.train]
        counts = int(trained_rare.size), int(trained_rare.sum()), int(tested.is_rare.size), int(tested.is_rare.sum())
        for name, trial in trials.items():
            start, found, note = time.perf_counter(), Reached(None, None), None
            try:
                if not FEWEST_MINORITY_ROWS <= trained_rare.sum() < trained_rare.size:
                    raise SkipFoldError(f"{trained_rare.sum()} rare rows to train on")
                found = measure_fold(tested, *trial(fold))
                note = None if tested.is_rare.any() else "no rare row in the test rows"
            except SkipFoldError as reason:
                note = str(reason)
            seconds = time.perf_counter() - start
            yield FoldResult(name, number, fold.begin, fold.end, *counts, found, seconds, note)


def backtest(
    models: Any,
    X: Any,
    y: Any,
    cv: RollingTimeSplit,
    *,
    groups: Any = None,
    budget: str | Budget | None = None,
    decide: str | None = None,
    cost_columns: Mapping[str, Any] | None = None,
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
    cost_columns : dict of str to array-like, default=None
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
    X = X if hasattr(X, "shape") else np.asarray(X)
    given, labels = np.asarray(y), read_labels(y, X)
    rare = labels.classes[labels.rarest]
    decision = None if decide is None else parse_decision(decide)
    rows = JudgedRows(
        np.asarray(labels.codes == labels.rarest),
        moments_of(cv.times, X),
        None if groups is None else group_hashes(column_or_1d(groups)),
        None if budget is None else Budget.of(budget),
        decision,
        None if decision is None else decision.read(X, cost_columns, labels.codes.size, "cost_columns"),
    )
    table = InMemoryTable(X)
    if rows.groups is not None:
        check_consistent_length(X, groups)

    def trial(model: Any, fold: Fold) -> tuple[Floats, bool]:
        fitted = clone(model)
        has_groups = groups is not None and has_fit_parameter(fitted, "groups")
        along = {"groups": column_or_1d(groups)[fold.train]} if has_groups else {}
        fitted.fit(table.take(fold.train), given[fold.train], **along)
        column = int(np.flatnonzero(fitted.classes_ == rare)[0])
        scores = fitted.predict_proba(table.take(fold.test))[:, column]
        # Scores of our ensembles are probabilities if they are calibrated.
        return np.asarray(scores, dtype=np.float64), getattr(fitted, "calibrator_", True) is not None

    trials = {name: partial(trial, model) for name, model in named.items()}
    return pd.DataFrame([one.as_row() for one in run_backtest(rows, cv.folds(X, given), trials)])
