"""Rules for thresholds, as text and as objects."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from math import floor, log10
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import UnknownRuleError
from selfpaced.metrics import MEASURES, Alerts, Number
from selfpaced.thresholds.costs import Costs


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


# Short names of measures. "gmean" is what imbalanced-learn calls so.
SHORT = {"gmean": "sensitivity_specificity_gmean"}
WRITTEN = {
    "f1": "the best F1; likewise mcc, gmean (imbalanced-learn's, of sensitivity and specificity), "
    "sensitivity_specificity_gmean, precision_recall_gmean (the paper's)",
    "precision>=0.9": "the highest recall with at least this precision",
    "recall>=0.8": "the highest precision with at least this recall",
    "alerts<=50/10000": "at most 50 alerts in 10,000 rows; alerts<=50 for at most 50 in all rows",
    "cost=5:100": "the lowest cost, if a false alarm costs 5 and a missed case 100; cost=5 if a missed case costs its "
    "own amount; cost if costs are given elsewhere",
}
SIGNS = {"precision": ">=", "recall": ">=", "alerts": "<=", "cost": "="}
BEST = ("f1", "mcc", "gmean")


class Rule(ABC):
    """A rule that chooses a threshold."""

    may_be_silent = False  # whether to raise no alerts is a choice
    prefers_more = False  # whether the lowest of equally good thresholds is taken, not the highest
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
        _check_share("precision", self.precision)

    def value(self, alerts: Alerts, lost: Number = None) -> Number:
        missing = alerts.precision - self.precision
        return np.where(missing >= 0, alerts.recall, missing)

    def unmet(self, thresholds: NDArray[Any], alerts: Alerts) -> str | None:
        highest = int(np.argmax(alerts.precision))
        if alerts.precision[highest] >= self.precision:
            return None
        return (
            f"No threshold has a precision of {self.precision:g} on these rows. The highest is "
            f"{_down(alerts.precision[highest])}, at the threshold {_down(thresholds[highest], 6)}, with a recall of "
            f"{_down(alerts.recall[highest])}."
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
        _check_share("recall", self.recall)

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
            f"{alerts.n_rows[0]:,.0f} rows, which all have the highest score, {_down(thresholds[0], 6)}."
        )

    def __str__(self) -> str:
        return f"alerts<={self.alerts:.15g}" + ("" if self.per is None else f"/{self.per:.15g}")


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


def parse_rule(rule: str | Rule) -> Rule:
    """A rule from its text. An object that is already a rule is returned unchanged.

    Parameters
    ----------
    rule : str or Rule
        The text, as for `choose_threshold`.

    Returns
    -------
    Rule
        The rule.

    Raises
    ------
    UnknownRuleError
        If the text is not a rule. The message names a similar rule if there is one.

    See Also
    --------
    selfpaced.choose_threshold : Chooses a threshold by a rule.

    Examples
    --------
    >>> parse_rule("precision >= 0.9"), parse_rule("alerts<=50/10000")
    (PrecisionAtLeast(precision=0.9), AlertsAtMost(alerts=50.0, per=10000.0))
    """
    if isinstance(rule, Rule):
        return rule
    if isinstance(rule, str):
        text = re.sub(r"\s", "", rule).lower()
        for pattern, make in _PATTERNS.items():
            if found := re.fullmatch(pattern, text):
                return make(*found.groups())
    meant = _meant(text) if isinstance(rule, str) else None
    hint = "" if meant is None else f" Did you mean {meant!r}?"
    quotes = " In a shell, put a rule with > or < in quotes." if rule in ("precision", "recall", "alerts") else ""
    if meant is not None and re.search(r"/(hour|day|week|month)$", text):
        hint = (
            f" A threshold cannot limit alerts per day; {meant!r} counts rows. Choose the highest scores of each "
            "period when scoring: selfpaced predict --top 20 --per day --time-column COL"
        )
    listed = f"The rules are {', '.join([*BEST, *list(WRITTEN)[1:]])}."
    raise UnknownRuleError(f"{rule!r} is not a rule for a threshold.{hint}{quotes}", listed)


def _meant(text: str) -> str | None:
    """The rule that is most similar to a text, with the numbers of the text.

    >>> _meant("precision>0.95"), _meant("recal>=0.7"), _meant("g_mean"), _meant("best")
    ('precision>=0.95', 'recall>=0.7', 'gmean', None)
    """
    name, number = re.fullmatch(r"([^\d<>=:.]*)[<>=:]*(.*)", text).groups()  # type: ignore[union-attr]
    for known in get_close_matches(name, SIGNS):
        rule = f"{known}{SIGNS[known]}{number}"
        if any(re.fullmatch(pattern, rule) for pattern in _PATTERNS):
            return rule
    return next(iter(get_close_matches(text, [*BEST, *WRITTEN])), None)


def _cost(false_alarm: str | None, missed: str | None) -> Rule:
    if false_alarm is None:
        return LowestCost()
    if missed is None:
        return LowestCost(Costs.of(float(false_alarm), by_amount=True))
    return LowestCost(Costs.of((float(false_alarm), float(missed))))


_NUMBER = r"(-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)"
_PATTERNS: dict[str, Callable[..., Rule]] = {
    f"({'|'.join([*MEASURES, *SHORT])})": lambda name: Best(SHORT.get(name) or name),
    f"precision>={_NUMBER}": lambda share: PrecisionAtLeast(float(share)),
    f"recall>={_NUMBER}": lambda share: RecallAtLeast(float(share)),
    f"alerts<={_NUMBER}(?:/{_NUMBER})?": lambda n, per: AlertsAtMost(float(n), None if per is None else float(per)),
    f"cost(?:={_NUMBER}(?::{_NUMBER})?)?": _cost,
}


def _check_share(name: str, share: float) -> None:
    if not 0 < share <= 1:
        raise ValueError(f"A {name} must be between 0 and 1, as in {name}>=0.9; got {share:g}.")


def _down(value: float, digits: int = 3) -> str:
    """Some digits of a number, never rounded up, so that a printed figure can really be reached.

    >>> _down(2 / 3), _down(0.5), _down(0.98765432, 6), _down(0)
    ('0.666', '0.5', '0.987654', '0')
    """
    scale = 10.0 ** (digits - 1 - floor(log10(abs(value)))) if value else 1.0
    return f"{floor(value * scale) / scale:.{digits}g}"
