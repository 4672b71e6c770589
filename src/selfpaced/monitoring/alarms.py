"""Limits that raise an alarm: a figure's name, a sign and a number."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selfpaced.monitoring.watching import Watched

_WRITTEN = re.compile(r"\s*([a-z_]+)\s*([<>])\s*(\d+(?:\.\d+)?(?:e-?\d+)?)\s*")


@dataclass(frozen=True)
class Alarm:
    """A limit that was exceeded, and the value that exceeded it."""

    limit: str
    value: float
    period: str | None = None


def alarm_texts(alarms: Sequence[Alarm]) -> list[str]:
    """A line for each limit that was exceeded, with the period that exceeded it by most.

    >>> alarm_texts([Alarm("psi>0.2", 0.3), Alarm("psi>0.2", 0.4, "2024-01"), Alarm("psi>0.2", 0.5, "2024-02")])
    ['psi>0.2: 0.3 in all rows; in 2 periods, most in 2024-02: 0.5']
    """
    lines = []
    for limit in dict.fromkeys(one.limit for one in alarms):
        own = [one for one in alarms if one.limit == limit]
        parts = [f"{one.value:.4g} in all rows" for one in own if one.period is None]
        periods = sorted((one for one in own if one.period is not None), key=lambda one: one.value)
        if periods:
            worst = periods[0] if "<" in limit else periods[-1]
            noun = "period" if len(periods) == 1 else "periods"
            parts.append(f"in {len(periods)} {noun}, most in {worst.period}: {worst.value:.4g}")
        lines.append(f"{limit}: {'; '.join(parts)}")
    return lines


@dataclass(frozen=True)
class Limit:
    """A limit of a figure."""

    name: str
    is_above: bool
    number: float

    def passed_by(self, watched: Watched, period: str | None = None) -> Alarm | None:
        """The alarm, if the figure is known and beyond the limit."""
        value = FIGURES[self.name][0](watched)
        if value is None or not (value > self.number if self.is_above else value < self.number):
            return None
        return Alarm(str(self), value, period)

    def __str__(self) -> str:
        return f"{self.name}{'>' if self.is_above else '<'}{self.number:g}"


def _largest_psi(watched: Watched) -> float | None:
    """The largest index of columns whose drift is more than chance explains. With few rows, chance makes it large."""
    return max((one.psi for one in watched.drifts if one.is_real), default=0.0)


def _largest(values: Sequence[float | None]) -> float:
    return max((value for value in values if value is not None), default=0.0)


FIGURES: dict[str, tuple[Callable[[Watched], float | None], str]] = {
    "psi": (_largest_psi, "the largest index of a column whose drift is more than chance explains"),
    "drifted": (
        lambda one: float(sum(each.is_large for each in one.drifts)),
        "columns with an index of 0.1 or more, and more drift than chance explains",
    ),
    "score_psi": (
        lambda one: None if one.score_drift is None else one.score_drift.psi if one.score_drift.is_real else 0.0,
        "the index of the scores, if their drift is more than chance explains",
    ),
    "missing": (
        lambda one: _largest([each.missing - each.missing_before for each in one.drifts]),
        "the largest rise of a column's share of missing values",
    ),
    "unseen": (
        lambda one: _largest([each.unseen for each in one.drifts]),
        "the largest share of rows with a category that is new",
    ),
    "alerts": (lambda one: None if one.n_alerts is None else float(one.n_alerts), "alerts, in each period with --by"),
    "alert_share": (lambda one: None if one.n_alerts is None else one.n_alerts / one.n_rows, "alerts per row"),
    "expected_share": (
        lambda one: None if one.estimate is None else one.estimate.expected / one.n_rows,
        "the share of rare rows that probabilities expect",
    ),
    "precision": (lambda one: None if one.estimate is None else one.estimate.precision, "the estimated precision"),
    "recall": (lambda one: None if one.estimate is None else one.estimate.recall, "the estimated recall"),
    "found_precision": (
        lambda one: None if one.arrived is None else one.arrived.precision,
        "the precision among rows whose labels are known",
    ),
}


def parse_limit(text: str) -> Limit:
    """A limit from its text.

    >>> str(parse_limit("psi > 0.25"))
    'psi>0.25'
    """
    found = _WRITTEN.fullmatch(str(text))
    if found is None or found[1] not in FIGURES:
        known = "; ".join(f"{name}: {meaning}" for name, (_, meaning) in FIGURES.items())
        raise ValueError(f"{text!r} is not a limit such as 'psi>0.25' or 'precision<0.5'. The figures are: {known}.")
    return Limit(found[1], found[2] == ">", float(found[3]))
