"""Rules for thresholds, as objects."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from math import floor, log10
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from selfpaced.metrics import MEASURES, Alerts, Number
from selfpaced.tables import PERIODS
from selfpaced.thresholds.costs import Costs

if TYPE_CHECKING:
    from selfpaced.thresholds.sweep import Sweep


def best_rows(
    values: NDArray[np.floating],
    n_rows: int,
    *,
    among: NDArray[np.bool_] | None = None,
    periods: NDArray[Any] | None = None,
    groups: NDArray[Any] | None = None,
) -> NDArray[np.bool_]:
    """The rows with the highest values: `n_rows` of each period, with at most one of each group.

    Among equal values the first rows are taken. `among` tells which rows may be taken, by default all. Without
    `periods` all rows are in one period; without `groups` every row is its own group.

    >>> best_rows(np.array([0.9, 0.8, 0.7, 0.1]), 2, groups=np.array(["a", "a", "b", "c"])).tolist()
    [True, False, True, False]
    """
    candidates = np.arange(values.size) if among is None else np.flatnonzero(among)
    period_of = np.zeros(candidates.size, dtype=np.intp) if periods is None else _numbers(periods[candidates])
    order = np.lexsort((-values[candidates], period_of))
    candidates, period_of = candidates[order], period_of[order]
    if groups is not None and candidates.size:
        pairs = np.stack([period_of, _numbers(groups[candidates])], axis=1)
        firsts = np.sort(np.unique(pairs, axis=0, return_index=True)[1])
        candidates, period_of = candidates[firsts], period_of[firsts]
    rank = np.arange(candidates.size) - np.searchsorted(period_of, period_of)
    chosen = np.zeros(values.size, dtype=bool)
    chosen[candidates[rank < n_rows]] = True
    return chosen


def _numbers(values: NDArray[Any]) -> NDArray[np.intp]:
    return np.asarray(np.unique(values, return_inverse=True)[1])


class Rule(ABC):
    """A rule that chooses a threshold."""

    may_be_silent = False  # whether to raise no alerts is a choice
    prefers_more = False  # whether the lowest of equally good thresholds is taken, not the highest
    is_guarantee = False  # whether a figure is promised for other rows
    about: ClassVar[tuple[str, ...]] = ()
    costs: Costs | None = None

    @abstractmethod
    def value(self, alerts: Alerts, lost: Number = None) -> Number:
        """The value of each threshold; larger is better. `lost` has the amounts of missed cases, if they have some."""

    @abstractmethod
    def __str__(self) -> str: ...

    def promises(self) -> tuple[str, ...]:
        """The names of the figures that the rule is about."""
        return self.about

    def best(self, alerts: Alerts, lost: Number = None) -> Any:
        """The place of the best threshold, the last axis being that of thresholds from the highest down."""
        values = np.asarray(self.value(alerts, lost))
        if self.prefers_more:
            return values.shape[-1] - 1 - np.argmax(values[..., ::-1], axis=-1)
        return np.argmax(values, axis=-1)

    def unmet(self, thresholds: NDArray[Any], alerts: Alerts) -> str | None:
        """What can be reached, if no threshold meets the rule's condition."""
        return None

    def settled(self, sweep: Sweep) -> Rule:
        """The rule with what it needs to know about the rows."""
        return self


@dataclass(frozen=True)
class Best(Rule):
    """The best threshold by one of `selfpaced.metrics.MEASURES`."""

    measure: str

    def __post_init__(self) -> None:
        if self.measure not in MEASURES:
            raise ValueError(f"measure must be one of {sorted(MEASURES)}; got {self.measure!r}.")

    def value(self, alerts: Alerts, lost: Number = None) -> Number:
        return MEASURES[self.measure](alerts)

    def promises(self) -> tuple[str, ...]:
        return (self.measure,)

    def __str__(self) -> str:
        return self.measure


@dataclass(frozen=True)
class PrecisionAtLeast(Rule):
    """The threshold with the highest recall among those with at least this precision."""

    precision: float
    about = ("precision", "recall")

    def __post_init__(self) -> None:
        check_share("precision", self.precision)

    def value(self, alerts: Alerts, lost: Number = None) -> Number:
        missing = alerts.precision - self.precision
        return np.where(missing >= 0, alerts.recall, missing)

    def unmet(self, thresholds: NDArray[Any], alerts: Alerts) -> str | None:
        highest = int(np.argmax(alerts.precision))
        if alerts.precision[highest] >= self.precision:
            return None
        return (
            f"No threshold has a precision of {self.precision:g} on these rows. The highest is "
            f"{rounded_down(alerts.precision[highest])}, at the threshold {rounded_down(thresholds[highest], 6)}, with "
            f"a recall of {rounded_down(alerts.recall[highest])}."
        )

    def __str__(self) -> str:
        return f"precision>={self.precision:.15g}"


@dataclass(frozen=True)
class RecallAtLeast(Rule):
    """The threshold with the highest precision among those with at least this recall. Any recall can be reached."""

    recall: float
    prefers_more = True  # the same precision with more cases found
    about = ("recall", "precision")

    def __post_init__(self) -> None:
        check_share("recall", self.recall)

    def value(self, alerts: Alerts, lost: Number = None) -> Number:
        missing = alerts.recall - self.recall
        return np.where(missing >= 0, alerts.precision, missing)

    def __str__(self) -> str:
        return f"recall>={self.recall:.15g}"


@dataclass(frozen=True)
class AlertsAtMost(Rule):
    """As many alerts as a budget allows: a number in `per` rows, or in all rows."""

    alerts: float
    per: float | None = None
    about = ("alert_share", "precision", "recall")

    def __post_init__(self) -> None:
        if not 0 < self.alerts <= (self.alerts if self.per is None else self.per) < np.inf:
            raise ValueError(
                f"A budget must be a number of alerts in a larger number of rows, such as alerts<=50/10000; got {self}."
            )

    def value(self, alerts: Alerts, lost: Number = None) -> Number:
        if self.per is None:
            left = self.alerts - alerts.n_alerts
        else:
            left = self.alerts * alerts.n_rows - alerts.n_alerts * self.per  # integers, which are exact
        return np.where(left >= 0, alerts.n_alerts, left) / np.maximum(alerts.n_rows, 1)

    def unmet(self, thresholds: NDArray[Any], alerts: Alerts) -> str | None:
        if self.value(alerts)[0] >= 0:
            return None
        return (
            f"{self} cannot be met on these rows. The fewest possible alerts are {alerts.n_alerts[0]:,.0f} in "
            f"{alerts.n_rows[0]:,.0f} rows, which all have the highest score, {rounded_down(thresholds[0], 6)}."
        )

    def __str__(self) -> str:
        return f"alerts<={self.alerts:.15g}" + ("" if self.per is None else f"/{self.per:.15g}")


@dataclass(frozen=True)
class AlertsPerPeriod(Rule):
    """As many alerts as a team can look at in each period: no hour, day, week or month of the rows has more."""

    alerts: float
    period: str
    in_all: float | None = None  # the most alerts in all rows with which no period has more than `alerts`
    about = ("alert_share", "precision", "recall")

    def __post_init__(self) -> None:
        if not 1 <= self.alerts < np.inf:
            raise ValueError(f"A budget must be at least one alert in a period, such as alerts<=200/day; got {self}.")
        if self.period not in PERIODS:
            raise ValueError(f"A period is one of {', '.join(PERIODS)}; got {self.period!r}.")

    def settled(self, sweep: Sweep) -> AlertsPerPeriod:
        if sweep.periods is None:
            raise ValueError(
                f"The rule {str(self)!r} needs the times of the rows: times= in Python, --time-column COL on the "
                "command line."
            )
        return replace(self, in_all=float(np.searchsorted(sweep.busiest, self.alerts, side="right")))

    def value(self, alerts: Alerts, lost: Number = None) -> Number:
        if self.in_all is None:
            raise ValueError(f"The rule {str(self)!r} needs the times of the rows.")
        left = self.in_all - alerts.n_alerts
        return np.where(left >= 0, alerts.n_alerts, left) / np.maximum(alerts.n_rows, 1)

    def unmet(self, thresholds: NDArray[Any], alerts: Alerts) -> str | None:
        if self.value(alerts)[0] >= 0:
            return None
        return (
            f"{self} cannot be met on these rows. The fewest possible alerts are {alerts.n_alerts[0]:,.0f}, which all "
            f"have the highest score, {rounded_down(thresholds[0], 6)}, and more than {self.alerts:g} of them are in "
            f"one {self.period}."
        )

    def __str__(self) -> str:
        return f"alerts<={self.alerts:.15g}/{self.period}"


@dataclass(frozen=True)
class LowestCost(Rule):
    """The lowest total cost. To raise no alerts may be cheapest. Missing costs raise an error."""

    costs: Costs | None = None
    may_be_silent = True
    about = ("cost",)

    def value(self, alerts: Alerts, lost: Number = None) -> Number:
        if self.costs is None or (self.costs.missed is None and lost is None):
            raise ValueError(f"The rule {str(self)!r} needs the cost of a missed case, such as cost=5:100, or amounts.")
        return -self.costs.total(alerts, lost) / np.maximum(alerts.n_rows, 1)

    def __str__(self) -> str:
        return "cost" if self.costs is None else f"cost={self.costs}"


def check_share(name: str, share: float) -> None:
    if not 0 < share <= 1:
        raise ValueError(f"A {name} must be between 0 and 1, as in {name}>=0.9; got {share:g}.")


def rounded_down(value: float, digits: int = 3) -> str:
    """Some digits of a number, never rounded up, so that a printed figure can really be reached.

    >>> rounded_down(2 / 3), rounded_down(0.5), rounded_down(0.98765432, 6), rounded_down(0)
    ('0.666', '0.5', '0.987654', '0')
    """
    scale = 10.0 ** (digits - 1 - floor(log10(abs(value)))) if value else 1.0
    return f"{floor(value * scale) / scale:.{digits}g}"
