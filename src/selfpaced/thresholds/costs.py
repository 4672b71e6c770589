"""The costs of rows with and without an alert."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import column_or_1d

from selfpaced.metrics import Alerts, Number

_WANTED = (
    "costs must be two numbers >= 0, the costs of a false alarm and of a missed case, such as (1, 50), or a matrix "
    "[[no alert needed, false alarm], [missed case, found case]]; got {!r}."
)


@dataclass(frozen=True)
class Costs:
    """The cost of a row, by its class and by whether it is an alert. A negative cost of a right decision is a gain.

    A cost is a number, or an array with a number for each row. `missed` is None if each rare row has its own amount,
    which is given with the rows. All notations of costs become this: `costs=(5, 100)`, the rule "cost=5:100",
    `CostDecisionClassifier(missed=, alert=)`, and the two sides of "p*amount>5".

    >>> Costs(5, 100).total(Alerts(true_positives=8, false_positives=2, false_negatives=3, true_negatives=987))
    310.0
    """

    false_alarm: Number
    missed: Number
    hit: Number = 0.0
    left_alone: Number = 0.0

    @classmethod
    def of(cls, given: Any, by_amount: bool = False) -> Costs:
        """Costs from a pair, from a matrix in scikit-learn's order, or, with amounts, from the cost of a false alarm.

        >>> Costs.of((5, 100))
        Costs(false_alarm=5.0, missed=100.0, hit=0.0, left_alone=0.0)
        >>> Costs.of([[0, 5], [100, 1]])
        Costs(false_alarm=5.0, missed=100.0, hit=1.0, left_alone=0.0)
        """
        numbers = _numbers(given)
        if by_amount and numbers.shape == ():
            return _sensible(cls(float(numbers), None), given)
        if numbers.shape not in ((2,), (2, 2)):
            raise ValueError(_WANTED.format(given))
        left_alone, false_alarm, missed, hit = (
            (0.0, *numbers.tolist(), 0.0) if numbers.ndim == 1 else tuple(numbers.ravel().tolist())
        )
        costs = _sensible(cls(false_alarm, None if by_amount else missed, hit, left_alone), given)
        return replace(costs, missed=missed).by_amount() if by_amount else costs

    @classmethod
    def of_alerts(cls, missed: Number, alert: Number) -> Costs:
        """Costs if an alert costs the same whether it is right or not."""
        return cls(alert, missed, hit=alert)

    def total(self, alerts: Alerts, lost: Number = None) -> Number:
        """The cost of all rows; `lost` are the amounts of the missed cases, if each has its own."""
        missed = lost if self.missed is None else self.missed * alerts.false_negatives
        return (
            self.false_alarm * alerts.false_positives
            + missed
            + self.hit * alerts.true_positives
            + self.left_alone * alerts.true_negatives
        )

    def total_of_rows(self, is_rare: NDArray[np.bool_], is_alert: NDArray[np.bool_]) -> float:
        """The cost of rows, given which of them are rare and which are alerts."""
        with_alert = np.where(is_rare, self.hit, self.false_alarm)
        without = np.where(is_rare, self.missed, self.left_alone)
        return float(np.where(is_alert, with_alert, without).sum())

    def gains(self, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        """How much less a row is expected to cost with an alert than without one.

        >>> Costs.of_alerts(missed=np.array([500, 2]), alert=5).gains(np.array([0.02, 0.9])).tolist()
        [5.0, -3.2]
        """
        # In this form equal costs give exactly that cost, whatever the probability is.
        alert = self.false_alarm + probabilities * (self.hit - self.false_alarm)
        without = self.left_alone + probabilities * (self.missed - self.left_alone)
        gains: NDArray[np.float64] = without - alert
        return gains

    def by_amount(self) -> Costs:
        """The same costs, but a missed case costs its amount. Another cost of a missed case than 0 is refused."""
        if self.missed:
            raise ValueError(
                f"A missed case has two costs, {self.missed:g} and its amount. To use amounts, omit the "
                f"{self.missed:g} (cost={self.false_alarm:g}), or write 0 for it in a matrix. Otherwise omit the "
                "amounts."
            )
        return replace(self, missed=None)

    def __str__(self) -> str:
        if self.hit or self.left_alone:
            missed = "amount" if self.missed is None else f"{self.missed:g}"
            return f"[[{self.left_alone:g}, {self.false_alarm:g}], [{missed}, {self.hit:g}]]"
        return f"{self.false_alarm:.15g}" + ("" if self.missed is None else f":{self.missed:.15g}")


def cost_text(cost: float) -> str:
    """A cost as text: without decimals if it is large or an integer, with two decimals otherwise.

    >>> cost_text(2674.9), cost_text(12.345), cost_text(50.0), cost_text(-1234.5)
    ('2,675', '12.35', '50', '-1,235')
    """
    digits = 0 if abs(cost) >= 100 or cost == int(cost) else 2
    return f"{Decimal(float(cost)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP):,}"


def amounts_of(amounts: ArrayLike, is_positive: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The amounts of the rare rows. Those of common rows are not used."""
    values = column_or_1d(amounts)
    if values.size != is_positive.size:
        raise ValueError(f"amounts must have a number for each row: there are {is_positive.size}; got {values.size}.")
    try:
        own = np.asarray(values[is_positive], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"amounts must be numbers; got {values[is_positive][:3].tolist()}, ...") from error
    wrong = own[~((own >= 0) & (own < np.inf))]
    if wrong.size:
        raise ValueError(
            f"amounts of rare rows, the costs of missing them, must be numbers >= 0. {wrong.size} of {own.size} are "
            f"not, such as {wrong[0]:g}."
        )
    return own


def _numbers(given: Any) -> NDArray[np.float64]:
    try:
        numbers = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(_WANTED.format(given)) from error
    if given is None or not np.isfinite(numbers).all():
        raise ValueError(_WANTED.format(given))
    return numbers


def _sensible(costs: Costs, given: Any) -> Costs:
    missed = np.inf if costs.missed is None else costs.missed
    if costs.false_alarm < 0 or missed < 0:
        raise ValueError(_WANTED.format(given))
    if costs.false_alarm < costs.left_alone:
        raise ValueError(
            f"A false alarm costs {costs.false_alarm:g}, less than a common row without an alert "
            f"({costs.left_alone:g}), so all rows would be alerts. Give costs as [[no alert needed, false alarm], "
            "[missed, found]]."
        )
    if costs.hit > missed:
        raise ValueError(
            f"A found case costs {costs.hit:g}, more than a missed case ({missed:g}), so no row would be an alert. "
            "Give costs as [[no alert needed, false alarm], [missed, found]]."
        )
    return costs
