"""Thresholds with few digits, which raise the same alerts as the scores that they stand for."""

from __future__ import annotations

from decimal import ROUND_FLOOR, Decimal

import numpy as np

FEWEST_DIGITS, MOST_DIGITS = 3, 17  # 17 digits distinguish all floats


def short_threshold(lowest: float, below: float | None = None) -> float:
    """A threshold with few digits: `lowest` and all higher scores are at or above it, the next lower score is not.

    It has as few digits as possible, at least three. If `below` is not too close, it is also low enough for scores that
    are rounded to float32, for instance in a database.

    >>> short_threshold(0.84379, 0.8), short_threshold(0.84379, 0.8436), short_threshold(0.5, 0.2)
    (0.843, 0.8437, 0.499)
    """
    for bound in (_below_float32(lowest), lowest):
        for digits in range(FEWEST_DIGITS, MOST_DIGITS + 1):
            rounded = _in_digits(bound, digits, ROUND_FLOOR)
            if below is None or rounded > below:
                return rounded
    return float(lowest)


def silent_threshold(highest: float) -> float:
    """A number with few digits above the highest score, also after rounding to float32.

    >>> silent_threshold(0.84379), silent_threshold(1)
    (0.844, 1.01)
    """
    above = -short_threshold(-highest)
    return above if above > highest else float(np.nextafter(highest, np.inf))


def _below_float32(value: float) -> float:
    """A number below all numbers that float32 rounds to the same value; outside of its range, the number itself."""
    with np.errstate(over="ignore"):
        single = np.float32(value)
        below = (float(single) + float(np.nextafter(single, np.float32(-np.inf)))) / 2
    return below if np.isfinite(below) and single != 0 else float(value)


def _in_digits(value: float, digits: int, rounding: str) -> float:
    exact = Decimal(value)
    return float(exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), rounding))
