"""The figures of a model on the test rows of a fold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.metrics import aucprc
from selfpaced.tables.moments import Moments, periods_of
from selfpaced.thresholds import Decision, best_rows

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
    card_precision : float | None, default=None
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
    card_precision: float | None = None
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
        measures["card_precision"] = float(has_rare[number.ravel()[cards]].mean()) if cards.any() else None
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
