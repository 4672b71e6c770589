"""A model in service: its quality estimated from probabilities or measured with labels, period by period, and alarms.

If probabilities are right, a row with the probability p is rare with the chance p. So the expected number of rare rows,
precision, recall and AUCPRC follow from probabilities alone. If the probabilities are not right any more, for instance
because frauds have changed, the estimates are not right either.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from selfpaced.metrics import aucprc
from selfpaced.monitoring.drift import Counter, Drift, Floats, Reference, drift_of_counts, finite_numbers
from selfpaced.thresholds import CONFIDENCE, Interval, share_interval


@dataclass(frozen=True)
class Estimate:
    """Estimates from calibrated probabilities.

    Attributes
    ----------
    expected, expected_interval
        The expected number of rare rows, and its 90% interval.
    n_alerts, precision, recall
        The number of rows at or above the threshold, and their expected precision and recall; None without a threshold.
    aucprc : float | None
        The expected AUCPRC.
    """

    n_rows: int
    expected: float
    expected_interval: Interval
    aucprc: float | None
    n_alerts: int | None = None
    precision: float | None = None
    recall: float | None = None


def estimate_quality(probabilities: Any, threshold: float | None = None) -> Estimate:
    """Estimates from calibrated probabilities of rows without labels.

    Parameters
    ----------
    probabilities : array-like of shape (n_rows,)
        Calibrated probabilities of the rare class.
    threshold : float, default=None
        The lowest probability of an alert.

    Returns
    -------
    Estimate
        The expected number of rare rows, and with a threshold the expected precision and recall of its alerts.

    Raises
    ------
    ValueError
        If the probabilities are not numbers between 0 and 1.

    See Also
    --------
    measure_drift : The drift of columns.

    Examples
    --------
    >>> found = estimate_quality(np.array([0.9, 0.6, 0.1, 0.0]), threshold=0.5)
    >>> found.expected, found.precision, found.recall
    (1.6, 0.75, 0.9375)
    """
    p = finite_numbers(probabilities, "probabilities")
    if p.size and not 0 <= p.min() <= p.max() <= 1:
        raise ValueError(
            f"probabilities must be between 0 and 1; got numbers from {p.min():g} to {p.max():g}. Scores that are not "
            "calibrated estimate nothing."
        )
    expected = float(p.sum())
    alerts = None if threshold is None else p >= finite_numbers([threshold], "threshold")
    in_alerts = 0.0 if alerts is None else float(p[alerts].sum())
    n_alerts = None if alerts is None else int(alerts.sum())
    return Estimate(
        int(p.size),
        round(expected, 12),
        count_interval(p),
        _expected_aucprc(p) if expected > 0 else None,
        n_alerts,
        in_alerts / n_alerts if n_alerts else None,
        in_alerts / expected if alerts is not None and expected > 0 else None,
    )


def count_interval(probabilities: Floats) -> Interval:
    """The 90% interval of the number of rare rows, if the probabilities are right and rows are independent."""
    reach = float(norm.ppf((1 + CONFIDENCE) / 2) * np.sqrt(np.sum(probabilities * (1 - probabilities))))
    expected = float(probabilities.sum())
    return Interval(max(0.0, expected - reach - 0.5), min(float(probabilities.size), expected + reach + 0.5))


def _expected_aucprc(probabilities: Floats) -> float:
    """The area if each row were a rare row of the weight p and a common one of the weight 1 - p."""
    is_rare, both = np.repeat([True, False], probabilities.size), np.concatenate([probabilities, probabilities])
    return aucprc(is_rare, both, sample_weight=np.concatenate([probabilities, 1 - probabilities]))


@dataclass(frozen=True)
class LabelledQuality:
    """Figures of rows whose labels are known by now, and the figures that were expected. Intervals are of 90%."""

    n_known: int
    found: int  # rare rows
    expected: float  # rare rows, by the probabilities
    expected_interval: Interval
    aucprc: float | None  # None without rare rows, as the recall; the precision is None without alerts
    precision: float | None = None
    precision_interval: Interval | None = None
    recall: float | None = None
    recall_interval: Interval | None = None

    @property
    def is_surprising(self) -> bool:
        """Whether the number of rare rows is outside of its 90% interval."""
        return not self.expected_interval.low <= self.found <= self.expected_interval.high


def measure_quality(
    is_rare: NDArray[np.bool_], probabilities: Floats, threshold: float | None = None
) -> LabelledQuality:
    """The figures of a model on rows whose labels are known by now."""
    found = int(is_rare.sum())
    alerts = probabilities >= (np.inf if threshold is None else threshold)
    n_alerts, n_hits = int(alerts.sum()), int(is_rare[alerts].sum())
    has_recall = found > 0 and threshold is not None
    return LabelledQuality(
        int(is_rare.size),
        found,
        float(probabilities.sum()),
        count_interval(probabilities),
        aucprc(is_rare, probabilities) if found else None,
        n_hits / n_alerts if n_alerts else None,
        share_interval(n_hits, n_alerts) if n_alerts else None,
        n_hits / found if has_recall else None,
        share_interval(n_hits, found) if has_recall else None,
    )


@dataclass(frozen=True)
class PeriodFigures:
    """The figures of some rows, compared with the reference."""

    n_rows: int
    drifts: tuple[Drift, ...]  # of the columns, the largest first
    score_drift: Drift | None  # None without rows
    mean_score: float
    n_alerts: int | None  # None without a threshold
    estimate: Estimate | None  # None if scores are not probabilities
    labelled: LabelledQuality | None = None  # None without labels, or if scores are not probabilities


def measure_period(
    reference: Reference,
    counters: Mapping[str, Counter],
    scores: Floats,
    is_rare: tuple[NDArray[np.bool_], NDArray[np.bool_]] | None,
    calibrated: bool,
    period: int | None = None,
) -> PeriodFigures:
    """The figures of all rows, or of the rows of a period, whose scores are given.

    `is_rare` has two arrays: which rows are rare, and which rows have a label.
    """
    counts = {name: one.counts(period) for name, one in counters.items()}
    unseen = {name: share for name, one in counters.items() if (share := one.unseen(period)) is not None}
    own = reference.scores
    by_score = np.bincount(own.places_of(scores), minlength=len(own.counts) + 1)
    (score_drift,) = drift_of_counts([own], {own.name: by_score})
    threshold = reference.threshold
    known = None if is_rare is None or not is_rare[1].any() else is_rare
    return PeriodFigures(
        int(scores.size),
        tuple(drift_of_counts(reference.features, counts, unseen)),
        score_drift,
        float(scores.mean()),
        None if threshold is None else int((scores >= threshold).sum()),
        estimate_quality(scores, threshold) if calibrated else None,
        None if known is None or not calibrated else measure_quality(known[0][known[1]], scores[known[1]], threshold),
    )


MOST_NAMED = 5  # columns of an alarm
_WRITTEN = re.compile(r"\s*([a-z_]+)\s*([<>])\s*(\d+(?:\.\d+)?(?:e-?\d+)?)\s*")


@dataclass(frozen=True)
class Alarm:
    """A limit that was exceeded, and the value that exceeded it."""

    limit: str
    value: float
    period: str | None = None
    columns: Mapping[str, float] = field(default_factory=dict, compare=False)  # that exceeded it, with their values


def alarm_texts(alarms: Sequence[Alarm]) -> list[str]:
    """A line for each limit that was exceeded, with the period and the columns that exceeded it by most.

    >>> alarm_texts([Alarm("psi>0.2", 0.3, columns={"age": 0.3}), Alarm("psi>0.2", 0.5, "May", {"sum": 0.5})])
    ["psi>0.2: 0.3 in all rows; in 1 period, most in May: 0.5 ('sum', 'age')"]
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
        columns = sorted((pair for one in own for pair in one.columns.items()), key=lambda pair: -pair[1])
        named = [repr(name) for name in dict(columns)]
        more = f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
        lines.append(f"{limit}: {'; '.join(parts)}" + (f" ({', '.join(named[:MOST_NAMED])}{more})" if named else ""))
    return lines


@dataclass(frozen=True)
class Limit:
    """A limit of a figure."""

    name: str
    is_above: bool
    number: float

    def passed_by(self, figures: PeriodFigures, period: str | None = None) -> Alarm | None:
        """The alarm, if the figure is known and beyond the limit."""
        value = FIGURES[self.name][0](figures)
        if value is None or not (value > self.number if self.is_above else value < self.number):
            return None
        columns = {one.name: one.psi for one in figures.drifts if self.name == "drifted" and one.is_large}
        if self.name in OF_COLUMNS:
            found = {one.name: OF_COLUMNS[self.name](one) for one in figures.drifts}
            columns = {name: own for name, own in found.items() if own > self.number}
        return Alarm(str(self), value, period, columns if self.is_above else {})

    def __str__(self) -> str:
        return f"{self.name}{'>' if self.is_above else '<'}{self.number:g}"


# What a limit measures in each column. With few rows, chance makes an index large: only real drift counts.
OF_COLUMNS: dict[str, Callable[[Drift], float]] = {
    "psi": lambda one: one.psi if one.is_real else 0.0,
    "missing": lambda one: one.missing - one.missing_before,
    "unseen": lambda one: one.unseen or 0.0,
}


def _largest(name: str, figures: PeriodFigures) -> float:
    return max(map(OF_COLUMNS[name], figures.drifts), default=0.0)


def figure_at(one: Any, path: str) -> Any:
    """A figure by its path, such as "estimate.precision"; None if a part of the path is None."""
    for name in path.split("."):
        one = None if one is None else getattr(one, name)
    return one


def _share(part: float | None, figures: PeriodFigures) -> float | None:
    return None if part is None else part / figures.n_rows


FIGURES: dict[str, tuple[Callable[[PeriodFigures], float | None], str]] = {
    "psi": (
        partial(_largest, "psi"),
        "the largest index of a column whose drift is more than chance explains",
    ),
    "drifted": (
        lambda one: float(sum(each.is_large for each in one.drifts)),
        "columns with an index of 0.1 or more, and more drift than chance explains",
    ),
    "score_psi": (
        lambda one: None if one.score_drift is None else OF_COLUMNS["psi"](one.score_drift),
        "the index of the scores, if their drift is more than chance explains",
    ),
    "missing": (partial(_largest, "missing"), "the largest rise of a column's share of missing values"),
    "unseen": (partial(_largest, "unseen"), "the largest share of rows with a category that is new"),
    "alerts": (lambda one: one.n_alerts, "alerts, in each period with --by"),
    "alert_share": (lambda one: _share(one.n_alerts, one), "alerts per row"),
    "expected_share": (
        lambda one: _share(figure_at(one, "estimate.expected"), one),
        "the share of rare rows that probabilities expect",
    ),
    "precision": (lambda one: figure_at(one, "estimate.precision"), "the estimated precision"),
    "recall": (lambda one: figure_at(one, "estimate.recall"), "the estimated recall"),
    "found_precision": (
        lambda one: figure_at(one, "labelled.precision"),
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
