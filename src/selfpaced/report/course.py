"""Figures over time: alerts, rare rows and sums of probabilities in each period."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.report.facts import Course, PeriodFacts
from selfpaced.report.words import moment_text
from selfpaced.tables.moments import PERIODS, Moments, checked_moments, periods_of

FEWEST_PERIODS, MOST_PERIODS = 6, 60
N_PARTS = 20  # of times that are numbers


def course_facts(
    times: Any, is_case: NDArray[np.bool_], scores: NDArray[np.floating], threshold: float
) -> Course | None:
    """The figures of each period; None if all rows have the same time."""
    if times is None:
        return None
    moments = checked_moments(times)
    if moments.size != is_case.size:
        raise ValueError(f"times must have a value for each row: there are {is_case.size}; got {moments.size}.")
    period, names, numbers = _divided(moments)
    if len(names) < 2:
        return None
    alerts = scores >= threshold

    def summed(values: Any) -> list[float]:
        sums: list[float] = np.bincount(numbers, weights=values, minlength=len(names)).tolist()
        return sums

    counts = zip(
        names, summed(np.ones(is_case.size)), summed(is_case), summed(scores), summed(alerts), summed(alerts & is_case),
        strict=True,
    )  # fmt: skip
    return Course(
        period,
        tuple(
            PeriodFacts(name, int(n_rows), int(n_cases), total, int(n_alerts), int(found))
            for name, n_rows, n_cases, total, n_alerts, found in counts
        ),
    )


def _divided(moments: Moments) -> tuple[str, list[str], NDArray[np.intp]]:
    """The kind of period, the names of the periods, and the number of each row's period. Long periods are preferred."""
    if moments.dtype.kind == "M":
        for period in reversed(PERIODS):
            names, numbers = np.unique(periods_of(moments, period), return_inverse=True)
            if names.size >= FEWEST_PERIODS or period == PERIODS[0]:
                break
        if names.size <= MOST_PERIODS:
            return period, [moment_text(name) for name in names], numbers.astype(np.intp)
    ends = np.linspace(moments.astype(np.float64).min(), moments.astype(np.float64).max(), N_PARTS + 1)
    numbers = np.clip(np.searchsorted(ends, moments.astype(np.float64), side="right") - 1, 0, N_PARTS - 1)
    used, numbers = np.unique(numbers, return_inverse=True)
    return "part of the time", [f"{ends[place]:,.6g}" for place in used.tolist()], numbers.astype(np.intp)
