"""How numbers and facts are written."""

from __future__ import annotations

from decimal import Decimal
from math import floor, log10
from typing import Any

import numpy as np

from selfpaced.metrics import Alerts
from selfpaced.report.facts import PromisedRecall, Z
from selfpaced.thresholds import Interval, cost_text, headline

MOST_DECIMALS = 7
NO_ALERTS = "No row scores high enough for an alert."


def percent(share: float) -> str:
    """A share with one decimal, or with two significant digits if it is close to 0% or 100%.

    >>> [percent(share) for share in (0, 0.0626, 0.5, 0.0017, 0.000012, 0.9996, 1)]
    ['0%', '6.3%', '50.0%', '0.17%', '0.0012%', '99.960%', '100%']
    """
    value = 100 * share
    edge = min(value, 100 - value)
    if edge <= 0:
        return f"{value:.0f}%"
    return f"{value:.{1 if edge >= 1 else min(MOST_DECIMALS, 1 - floor(log10(edge)))}f}%"


def whole(number: float) -> str:
    """
    >>> whole(1234567)
    '1,234,567'
    """
    return f"{int(number):,}"


def decimals(value: float, digits: int = 3) -> str:
    return f"{value:.{digits}f}"


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


def promise_text(promise: PromisedRecall, n_rows: int) -> str:
    """The interval of a figure on other rows.

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
    """A threshold with all its digits. The thresholds of a page are short.

    >>> threshold_text(0.5), threshold_text(0.99996), threshold_text(0.0000123), threshold_text(1)
    ('0.5', '0.99996', '0.0000123', '1')
    """
    return f"{Decimal(repr(float(threshold))):f}".removesuffix(".0")


def score_text(score: float) -> str:
    """
    >>> score_text(0.5), score_text(0.99996)
    ('0.5000', '0.999960')
    """
    return f"{score:.{4 if 0.001 <= score <= 0.999 else 6}f}"


def explorer_texts(alerts: Alerts, threshold: float) -> dict[str, str]:
    """The texts of the explorer at a threshold, by the name of the element that shows each."""
    found, false_alarms, missed = alerts.true_positives, alerts.false_positives, alerts.false_negatives
    return {
        "sentence": headline(float(alerts.precision), float(alerts.recall)) if alerts.n_alerts else NO_ALERTS,
        "threshold": threshold_text(threshold),
        "found": whole(found),
        "false-alarms": whole(false_alarms),
        "missed": whole(missed),
        "left-alone": whole(alerts.true_negatives),
        "precision": percent(float(alerts.precision)),
        "precision-interval": between(share_interval(found, alerts.n_alerts)),
        "recall": percent(float(alerts.recall)),
        "recall-interval": between(share_interval(found, found + missed)),
        "f1": decimals(float(alerts.f1)),
        "per-thousand": decimals(1000 * float(alerts.alert_share), 2),
    }


def plural(number: Any, noun: str) -> str:
    """
    >>> plural(1, "row"), plural(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{whole(number)} {noun}" + ("" if number == 1 else "s")


def moment_text(moment: Any) -> str:
    """A time as text, only with its day if it is midnight.

    >>> moment_text(np.datetime64("2024-03-01T00:00:00.000000")), moment_text(np.datetime64("2024-03-01T12:30"))
    ('2024-03-01', '2024-03-01 12:30')
    """
    if not isinstance(moment, np.datetime64):
        return f"{moment:,.6g}"
    text = str(moment.astype("datetime64[m]")).replace("T", " ")
    return text.removesuffix(" 00:00")


LONGEST_TEXT = 60


def shortened(text: str, longest: int = LONGEST_TEXT) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def share_interval(part: float, whole: float) -> Interval:
    """The 90% Wilson interval of a share; from 0 to 1 if the whole is 0.

    >>> interval = share_interval(8, 10)
    >>> round(interval.low, 3), round(interval.high, 3)
    (0.541, 0.931)
    """
    if whole == 0:
        return Interval(0.0, 1.0)
    share, z2 = part / whole, Z * Z / whole
    middle, reach = share + z2 / 2, Z * np.sqrt(share * (1 - share) / whole + z2 / (4 * whole))
    return Interval(float(max(0.0, (middle - reach) / (1 + z2))), float(min(1.0, (middle + reach) / (1 + z2))))
