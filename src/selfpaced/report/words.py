"""How numbers and facts are written."""

from __future__ import annotations

from decimal import Decimal
from math import floor, log10
from typing import Any

import numpy as np

from selfpaced.thresholds import Interval

MOST_DECIMALS = 7


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


def number_text(value: float) -> str:
    """
    >>> [number_text(value) for value in (3.0, 1234567.0, 0.123456, 1e-9, -0.0)]
    ['3', '1,234,567', '0.1235', '1e-09', '0']
    """
    if abs(value) < 1e15 and value == round(value):
        return f"{int(value):,}"
    return f"{value:,.2f}" if 100 <= abs(value) < 1e15 else f"{value:.4g}"
