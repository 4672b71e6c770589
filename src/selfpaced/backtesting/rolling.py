"""Backtests: what a model would have reached, period by period."""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Self

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

    >>> Budget.of("alerts<=100/day"), Budget.of("20/week")
    (Budget(top=100, per='day', timezone=None), Budget(top=20, per='week', timezone=None))
    """

    top: int
    per: str = "day"
    timezone: str | None = None

    @classmethod
    def of(cls, given: Any) -> Self:
        """A budget from its text. An object that is already a budget is returned unchanged."""
        if isinstance(given, cls):
            return given
        written = re.fullmatch(r"(?:alerts<=)?(\d+)(?:/(\w+))?", re.sub(r"\s", "", str(given)).lower())
        if written is None or int(written[1]) < 1:
            raise ValueError(
                f"A budget must be a number of alerts in a period, such as alerts<=100/day; got {given!r}."
            )
        return cls(int(written[1]), written[2] or "day")

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

    def part(self, rows: NDArray[np.intp]) -> Self:
        return replace(
            self,
            is_rare=self.is_rare[rows],
            moments=self.moments[rows],
            groups=None if self.groups is None else self.groups[rows],
            costs=None if self.costs is None else {name: values[rows] for name, values in self.costs.items()},
        )


@dataclass(frozen=True)
class PeriodReached:
    """The alerts of one period of a fold, within the budget. A period with fewer rows has fewer alerts."""

    begin: Any
    n_rows: int
    n_rare: int
    alerts: int
    found: int  # the rare rows among the alerts

    @property
    def precision(self) -> float | None:
        return self.found / self.alerts if self.alerts else None

    @property
    def recall(self) -> float | None:
        return self.found / self.n_rare if self.n_rare else None

    def as_row(self) -> dict[str, Any]:
        return {**vars(self), "precision": self.precision, "recall": self.recall}


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
    by_period: tuple[PeriodReached, ...] = ()  # the figures of the budget


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
        "by_period": _by_period(periods, is_rare, chosen),
    }
    if tested.groups is not None:
        cards = best_rows(scores, tested.budget.top, periods=periods, groups=tested.groups)
        pairs = np.stack([np.unique(each, return_inverse=True)[1] for each in (periods, tested.groups)], axis=1)
        _, number = np.unique(pairs, axis=0, return_inverse=True)
        has_rare = np.bincount(number.ravel(), weights=is_rare) > 0
        measures["group_precision"] = float(has_rare[number.ravel()[cards]].mean()) if cards.any() else None
    return measures


def _by_period(
    periods: NDArray[Any], is_rare: NDArray[np.bool_], chosen: NDArray[np.bool_]
) -> tuple[PeriodReached, ...]:
    begins, numbers = np.unique(periods, return_inverse=True)
    some = (np.ones(is_rare.size, dtype=bool), is_rare, chosen, chosen & is_rare)
    counts = [np.bincount(numbers[rows], minlength=begins.size).tolist() for rows in some]
    return tuple(PeriodReached(*each) for each in zip(begins, *counts, strict=True))


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
        reached = {name: value for name, value in asdict(self.reached).items() if name != "by_period"}
        return {**own, **reached, "seconds": self.seconds, "note": self.note}

    def period_rows(self) -> list[dict[str, Any]]:
        """The figures of each period of the budget, as dictionaries."""
        own = {"model": self.model, "fold": self.fold}
        return [{**own, **one.as_row()} for one in self.reached.by_period]


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
    by: str = "fold",
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
        The folds. Models whose `fit` accepts times get those of their training rows.
    groups : array-like of shape (n_rows,), default=None
        The group of each row, such as a card. Models whose `fit` accepts groups get them. With a budget, the result has
        the precision among the best groups of each period. Groups of the training rows may occur in tests, as they do
        in production.
    budget : str or Budget, default=None
        The number of rows that can be looked at, such as "alerts<=100/day" or "100/day". The best rows of each period
        are its alerts. Of rows with the same score the first are taken. A period with fewer rows has fewer alerts.
    decide : str, default=None
        A rule about costs, such as "p*amount>5". It needs probabilities: ensembles without a calibration get no
        cost.
    cost_columns : dict of str to array-like, default=None
        The columns of the rule that X does not have.
    by : {"fold", "period"}, default="fold"
        What the rows of the result are: folds, or the periods of the budget.

    Returns
    -------
    pandas.DataFrame
        A row for each fold and model: times, numbers of rows, AUCPRC, expected and found rare rows, and the figures for
        the budget and the costs. With `by="period"` a row for each period of the budget: its rows, rare rows, alerts,
        precision and recall.

    Raises
    ------
    ValueError
        If the budget or `by` cannot be read, or if there are no periods because there is no budget.

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
    >>> found = backtest(model, X, y, RollingTimeSplit(hours, "14d", delay="7d"), budget="alerts<=2/day")
    >>> found[["fold", "n_train", "n_test", "alerts"]].to_numpy().tolist()
    [[1, 2017, 1008, 28], [2, 3025, 1008, 28], [3, 4033, 1008, 28], [4, 5041, 456, 14]]
    """
    import pandas as pd

    if by not in ("fold", "period") or (by == "period" and budget is None):
        raise ValueError(f"by must be 'fold', or 'period' with a budget such as 'alerts<=100/day'; got {by!r}.")
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
        known = {"times": rows.moments} | ({} if groups is None else {"groups": column_or_1d(groups)})
        along = {name: each[fold.train] for name, each in known.items() if has_fit_parameter(fitted, name)}
        fitted.fit(table.take(fold.train), given[fold.train], **along)
        column = int(np.flatnonzero(fitted.classes_ == rare)[0])
        scores = fitted.predict_proba(table.take(fold.test))[:, column]
        # Scores of our ensembles are probabilities if they are calibrated.
        return np.asarray(scores, dtype=np.float64), getattr(fitted, "calibrator_", True) is not None

    trials = {name: partial(trial, model) for name, model in named.items()}
    results = run_backtest(rows, cv.folds(X, given), trials)
    if by == "period":
        return pd.DataFrame([row for one in results for row in one.period_rows()])
    return pd.DataFrame([one.as_row() for one in results])
