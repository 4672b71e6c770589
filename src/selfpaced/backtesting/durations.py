"""Durations from text: 7d, 12h, or a number in the unit of a column of numbers."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

UNITS = {"s": 1, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
WRITTEN = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)", re.IGNORECASE)


def span_in(given: Any, moments: Any, name: str) -> Any:
    """A duration in the unit of some moments: a timedelta64 for dates, a number for numbers.

    Parameters
    ----------
    given : str, number or timedelta
        The duration, such as "7d", "12h" or "90min". For moments that are numbers, a number in their unit.
    moments : Any
        The array that the duration will be added to.
    name : str
        What errors call the duration.

    >>> dates = np.array(["2024-01-31"], dtype="datetime64[us]")
    >>> span_in("36h", dates, "delay"), span_in("1.5", np.array([0.0]), "delay")
    (np.timedelta64(129600000000,'us'), 1.5)
    """
    number, unit = _parts(given, name)
    if moments.dtype.kind == "M":
        if unit not in UNITS:
            raise ValueError(
                f"{name} {given!r} has no unit, but the times are dates. Write it with one of {', '.join(UNITS)}, as "
                "7d or 12h."
            )
        return np.timedelta64(round(number * UNITS[unit] * 1_000_000), "us")
    if unit:
        raise ValueError(
            f"{name} {given!r} has a unit, but the times are numbers. Give a number in the unit of the column, such "
            f"as {round(number * UNITS.get(unit, 1))} for seconds."
        )
    return number


def _parts(given: Any, name: str) -> tuple[float, str]:
    if hasattr(given, "total_seconds"):
        return float(given.total_seconds()), "s"
    if isinstance(given, np.timedelta64):
        return float(given / np.timedelta64(1, "s")), "s"
    found = WRITTEN.fullmatch(str(given).strip())
    unit = "" if found is None else found[2].lower()
    if found is None or isinstance(given, bool) or (unit and unit not in UNITS):
        raise ValueError(f"{name} must be a duration such as 7d, 12h or 90min, or a number; got {given!r}.")
    return float(found[1]), unit
