"""How numbers and facts are said. `page.js` says them the same way."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from math import floor, log10
from typing import Any

from selfpaced.metrics import Alerts
from selfpaced.report.facts import Interval, Promise
from selfpaced.report.ranking import share_interval
from selfpaced.thresholds import cost_text

MOST_DECIMALS = 7


def percent(share: float) -> str:
    """A share with one decimal, or with two digits where it is close to nothing or to everything.

    >>> [percent(share) for share in (0, 0.0625, 0.5, 0.0017, 0.000012, 0.9996, 1)]
    ['0%', '6.3%', '50.0%', '0.17%', '0.0012%', '99.960%', '100%']
    """
    value = 100 * share
    edge = min(value, 100 - value)
    if edge <= 0:
        return f"{value:.0f}%"
    return f"{_fixed(value, 1 if edge >= 1 else min(MOST_DECIMALS, 1 - floor(log10(edge))))}%"


def of_hundred(share: float) -> str:
    """
    >>> [of_hundred(share) for share in (0, 0.001, 0.874, 0.999, 1)]
    ['0', 'fewer than 1', '87', 'more than 99', '100']
    """
    if 0 < share < 0.005:
        return "fewer than 1"
    if 0.995 < share < 1:
        return "more than 99"
    return _fixed(100 * share, 0)


def whole(number: float) -> str:
    """
    >>> whole(1234567)
    '1,234,567'
    """
    return f"{int(number):,}"


def decimals(value: float, digits: int = 3) -> str:
    return _fixed(value, digits)


def between(interval: Interval) -> str:
    return f"{percent(interval.low)} to {percent(interval.high)}"


FIGURES = {
    "f1": "an F1",
    "mcc": "an MCC",
    "precision": "a precision",
    "recall": "a recall",
    "precision_recall_gmean": "a G-mean of precision and recall",
    "sensitivity_specificity_gmean": "a G-mean of sensitivity and specificity",
}


def promise_text(promise: Promise, n_rows: int) -> str:
    """What to expect of other rows.

    >>> promise_text(Promise("precision", 0.9, Interval(0.81, 0.97)), 1000)
    'a precision of 81.0% to 97.0%'
    >>> promise_text(Promise("alert_share", 0.01, Interval(0.005, 0.02)), 1000)
    '5 to 20 alerts in 1,000 rows'
    """
    low, high = promise.interval.low, promise.interval.high
    if promise.name == "alert_share":
        return f"{whole(round(low * n_rows))} to {plural(round(high * n_rows), 'alert')} in {whole(n_rows)} rows"
    if promise.name == "cost":
        return f"a cost of {cost_text(low)} to {cost_text(high)} in {whole(n_rows)} rows"
    if promise.name in ("precision", "recall"):
        return f"{FIGURES[promise.name]} of {between(promise.interval)}"
    return f"{FIGURES[promise.name]} of {decimals(low)} to {decimals(high)}"


def threshold_text(threshold: float) -> str:
    """All its digits: the thresholds of a page are short.

    >>> threshold_text(0.5), threshold_text(0.99996), threshold_text(0.0000123), threshold_text(1)
    ('0.5', '0.99996', '0.0000123', '1')
    """
    return f"{Decimal(repr(float(threshold))):f}".removesuffix(".0")


def score_text(score: float) -> str:
    """
    >>> score_text(0.5), score_text(0.99996)
    ('0.5000', '0.999960')
    """
    return _fixed(score, 4 if 0.001 <= score <= 0.999 else 6)


def explorer_texts(alerts: Alerts, threshold: float, cost_false_alarm: float, cost_missed: float) -> dict[str, str]:
    """What the explorer shows at a threshold, by the name of the place where it is shown."""
    found, false_alarms = alerts.true_positives, alerts.false_positives
    missed, left_alone = alerts.false_negatives, alerts.true_negatives
    n_rows = found + false_alarms + missed + left_alone
    cost = false_alarms * cost_false_alarm + missed * cost_missed
    return {
        "sentence": sentence(alerts),
        "threshold": threshold_text(threshold),
        "found": whole(found),
        "false-alarms": whole(false_alarms),
        "missed": whole(missed),
        "left-alone": whole(left_alone),
        "alerts": whole(alerts.n_alerts),
        "precision": percent(float(alerts.precision)),
        "precision-interval": between(share_interval(found, alerts.n_alerts)),
        "recall": percent(float(alerts.recall)),
        "recall-interval": between(share_interval(found, found + missed)),
        "f1": decimals(float(alerts.f1)),
        "per-thousand": decimals(1000 * alerts.n_alerts / n_rows, 2),
        "cost": cost_text(cost),
        "cost-without": cost_text((found + missed) * cost_missed),
    }


def sentence(alerts: Alerts) -> str:
    """The headline of the explorer, in short."""
    if alerts.n_alerts == 0:
        return "No row scores as high: there are no alerts."
    right, found = of_hundred(float(alerts.precision)), of_hundred(float(alerts.recall))
    return f"Of 100 alerts, {right} {is_or_are(right)} right; {found} of 100 cases {is_or_are(found)} found."


def is_or_are(number: str) -> str:
    return "is" if number in ("1", "fewer than 1") else "are"


def plural(number: Any, noun: str) -> str:
    """
    >>> plural(1, "row"), plural(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{whole(number)} {noun}" + ("" if number == 1 else "s")


def _fixed(value: float, digits: int) -> str:
    """So many decimals, halves rounded up: Python's own way is to the even digit, JavaScript's is up."""
    return str(Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))
