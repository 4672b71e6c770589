"""What alerts and their absence cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import column_or_1d

from selfpaced.metrics import Alerts, Number

_WANTED = (
    "costs must be two numbers >= 0, of a false alarm and of a missed case, such as (1, 50), or a matrix [[ordinary "
    "row left alone, false alarm], [missed case, found case]]; got {!r}."
)


@dataclass(frozen=True)
class Costs:
    """What a row costs, by what it is and whether it is an alert. A negative cost of a row that is right is a gain.

    `missed` is None where each case has an amount of its own.

    >>> Costs(5, 100).total(Alerts(true_positives=8, false_positives=2, false_negatives=3, true_negatives=987))
    310.0
    """

    false_alarm: float
    missed: float | None
    hit: float = 0.0
    left_alone: float = 0.0

    def total(self, alerts: Alerts, lost: Number = None) -> Number:
        """The cost of all rows; `lost` are the amounts of the missed cases, if each has its own."""
        missed = lost if self.missed is None else self.missed * alerts.false_negatives
        return (
            self.false_alarm * alerts.false_positives
            + missed
            + self.hit * alerts.true_positives
            + self.left_alone * alerts.true_negatives
        )

    def by_amount(self) -> Costs:
        """The same where a missed case costs its amount. It cannot cost something fixed as well, other than 0."""
        if self.missed:
            raise ValueError(
                f"A missed case costs {self.missed:g} and its amount: it can be only one of them. For amounts leave "
                f"the {self.missed:g} out, cost={self.false_alarm:g}, or write 0 for it in a matrix; or leave out the "
                "amounts."
            )
        return replace(self, missed=None)

    def __str__(self) -> str:
        if self.hit or self.left_alone:
            missed = "amount" if self.missed is None else f"{self.missed:g}"
            return f"[[{self.left_alone:g}, {self.false_alarm:g}], [{missed}, {self.hit:g}]]"
        return f"{self.false_alarm:.15g}" + ("" if self.missed is None else f":{self.missed:.15g}")


def cost_text(cost: float) -> str:
    """A cost as a person writes it: whole if it is large or whole, with two decimals otherwise.

    >>> cost_text(2674.9), cost_text(12.345), cost_text(50.0), cost_text(-1234.5)
    ('2,675', '12.35', '50', '-1,235')
    """
    digits = 0 if abs(cost) >= 100 or cost == int(cost) else 2
    return f"{Decimal(float(cost)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP):,}"


def costs_of(given: Any, by_amount: bool = False) -> Costs:
    """Costs as a pair, as a matrix in scikit-learn's order, or as the number that a false alarm costs, given amounts.

    >>> costs_of((5, 100))
    Costs(false_alarm=5.0, missed=100.0, hit=0.0, left_alone=0.0)
    >>> costs_of([[0, 5], [100, 1]])
    Costs(false_alarm=5.0, missed=100.0, hit=1.0, left_alone=0.0)
    """
    numbers = _numbers(given)
    if by_amount and numbers.shape == ():
        return _sensible(Costs(float(numbers), None), given)
    if numbers.shape not in ((2,), (2, 2)):
        raise ValueError(_WANTED.format(given))
    left_alone, false_alarm, missed, hit = (
        (0.0, *numbers.tolist(), 0.0) if numbers.ndim == 1 else tuple(numbers.ravel().tolist())
    )
    costs = _sensible(Costs(false_alarm, None if by_amount else missed, hit, left_alone), given)
    return replace(costs, missed=missed).by_amount() if by_amount else costs


def amounts_of(amounts: ArrayLike, is_positive: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The amounts of the rare rows: those of the others are never lost."""
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
            f"amounts of rare rows must be numbers >= 0, what missing the row costs; {wrong.size} of {own.size} are "
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
            f"An alert for an ordinary row costs {costs.false_alarm:g}, less than the {costs.left_alone:g} of leaving "
            "it alone: all rows would be alerts. costs are [[left alone, false alarm], [missed, found]]."
        )
    if costs.hit > missed:
        raise ValueError(
            f"A case that is found costs {costs.hit:g}, more than the {missed:g} of one that is missed: no row would "
            "be an alert. costs are [[left alone, false alarm], [missed, found]]."
        )
    return costs
