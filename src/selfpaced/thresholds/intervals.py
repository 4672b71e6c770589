"""Intervals of the figures of a chosen threshold on other rows, which allow for chance and for the choice.

Counts at the threshold are drawn again, with half a row added on either side of each share (Jeffreys' prior): ten
alerts that are all right do not guarantee a precision of 1. Besides, the best of many thresholds on some rows is partly
chosen by chance. So the rule is applied again to rows drawn with replacement, and its choices are judged on the
original rows. The mean difference is the optimism of the choice, and the interval is widened by it.
`benchmarks/thresholds.py` measures how often such an interval contains the true value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import sqrt
from operator import attrgetter
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from selfpaced.metrics import MEASURES, Alerts, Number
from selfpaced.thresholds.costs import Costs
from selfpaced.thresholds.rules import LowestCost, Rule
from selfpaced.thresholds.sweep import Floats, Sweep

MOST_STEPS = 2000  # thresholds among which the repeated choices are made
MOST_NEAR = 300  # among them those with about as many alerts as the chosen one
MOST_CELLS = 4_000_000  # numbers drawn at once
CHOICES_OF_DRAWS = 5  # one repeated choice for so many draws: a mean needs fewer than the ends of an interval

FIGURES: dict[str, Callable[[Alerts], Number]] = {
    **{name: attrgetter(name) for name in ("precision", "recall", "alert_share")},
    **MEASURES,
}
LIMITS = {"mcc": (-1.0, 1.0), "cost": (-np.inf, np.inf)}  # of figures that are not shares


CONFIDENCE = 0.9  # of all intervals, unless another is asked for


class Interval(NamedTuple):
    """The ends of an interval."""

    low: float
    high: float


def middle_of(values: Any, confidence: float = CONFIDENCE) -> Interval:
    """The interval of the middle 90% of some values, or of another share.

    >>> middle_of(range(101), 0.5)
    Interval(low=25.0, high=75.0)
    """
    low, high = np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(low), float(high))


def share_interval(part: float, whole: float, confidence: float = CONFIDENCE) -> Interval:
    """Wilson's interval of a share; from 0 to 1 if the whole is 0.

    >>> interval = share_interval(8, 10)
    >>> round(interval.low, 3), round(interval.high, 3)
    (0.541, 0.931)
    """
    if whole == 0:
        return Interval(0.0, 1.0)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share, z2 = part / whole, z * z / whole
    middle, reach = share + z2 / 2, z * sqrt(share * (1 - share) / whole + z2 / (4 * whole))
    return Interval(max(0.0, (middle - reach) / (1 + z2)), min(1.0, (middle + reach) / (1 + z2)))


def intervals_of(
    sweep: Sweep, place: int, rule: Rule, n_draws: int, confidence: float, rng: np.random.Generator
) -> dict[str, Interval]:
    """An interval for each of `FIGURES`, and for the cost if the rule has costs."""
    drawn = _figures(*_drawn_at(sweep, place, n_draws, rng), rule)
    optimism = _optimism(sweep, place, rule, max(1, n_draws // CHOICES_OF_DRAWS), rng)
    intervals = {}
    for name, values in drawn.items():
        low, high = middle_of(values, confidence)
        # Only the worse end is moved: this particular choice may not be optimistic.
        low, high = low - max(optimism[name], 0), high - min(optimism[name], 0)
        least, most = LIMITS.get(name, (0, 1))
        intervals[name] = Interval(float(max(low, least)), float(min(high, most)))
    return intervals


def _figures(alerts: Alerts, lost: Number, rule: Rule) -> dict[str, Number]:
    figures = {name: figure(alerts) for name, figure in FIGURES.items()}
    costs = costs_in(rule)
    return figures if costs is None else {**figures, "cost": costs.total(alerts, lost)}


def costs_in(rule: Rule) -> Costs | None:
    return rule.costs if isinstance(rule, LowestCost) else None


def _drawn_at(sweep: Sweep, place: int, n_draws: int, rng: np.random.Generator) -> tuple[Alerts, Floats | None]:
    """Random counts at a threshold on other rows: the share of alerts, of cases among them, of cases among the rest."""
    now = sweep.at(place)
    n_silent = now.false_negatives + now.true_negatives
    alerts = sweep.n_rows * rng.beta(now.n_alerts + 0.5, n_silent + 0.5, n_draws)
    hits = alerts * rng.beta(now.true_positives + 0.5, now.false_positives + 0.5, n_draws)
    missed = (sweep.n_rows - alerts) * rng.beta(now.false_negatives + 0.5, now.true_negatives + 0.5, n_draws)
    drawn = Alerts(hits, alerts - hits, missed, sweep.n_rows - alerts - missed)
    return drawn, None if sweep.amounts is None else _drawn_losses(sweep.amounts, now.true_positives, n_draws, rng)


def _drawn_losses(amounts: Floats, n_found: int, n_draws: int, rng: np.random.Generator) -> Floats:
    """The amounts lost with missed cases: each case may occur several times or not at all, and one more case is added.

    A gamma distribution with the mean and the variance of that sum is drawn from. The added case allows for amounts
    that few cases do not show: with half a case, 90% intervals from 25 cases with very different amounts contained the
    true value in only 75%.
    """
    lost = amounts[n_found:]
    mean, variance = (np.sum(lost**power) + np.mean(amounts**power) for power in (1, 2))
    if variance == 0:
        return np.zeros(n_draws)
    return rng.gamma(mean**2 / variance, variance / mean, n_draws)


def _optimism(sweep: Sweep, place: int, rule: Rule, n_choices: int, rng: np.random.Generator) -> dict[str, float]:
    """The optimism of each figure: how much better it is on the rows of the choice than on others, on average."""
    places, every, lost = _places(sweep, place), sweep.alerts, sweep.lost
    differences: list[dict[str, Number]] = []
    for alerts, lost_again in _resamples(sweep, places, n_choices, rng):
        best = np.asarray(rule.best(alerts, lost_again))
        own = np.arange(best.size), best
        seen = _figures(_taken(alerts, own), None if lost_again is None else lost_again[own], rule)
        true_places = places[best]
        true = _figures(_taken(every, true_places), None if lost is None else lost[true_places], rule)
        differences.append({name: seen[name] - true[name] for name in seen})
    return {name: float(np.mean(np.concatenate([each[name] for each in differences]))) for name in differences[0]}


def _places(sweep: Sweep, place: int) -> NDArray[np.intp]:
    """Thresholds among which the repeated choices are made: those at cases, and those with a similar number of alerts.

    The rows between two of them stay together, so that the time of a choice depends on the number of cases, not on the
    number of common rows.
    """
    n_alerts = sweep.found + sweep.false_alarms
    finds = sweep.finds
    near = np.flatnonzero(np.abs(n_alerts - n_alerts[place]) <= 5 * np.sqrt(n_alerts[place] + 1))
    ends = [0, place, n_alerts.size - 1]
    return np.unique(np.concatenate([_thinned(finds, MOST_STEPS), _thinned(near, MOST_NEAR), ends])).astype(np.intp)


def _thinned(places: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    if places.size <= most:
        return places
    return places[np.linspace(0, places.size - 1, most).astype(np.intp)]


def _resamples(
    sweep: Sweep, places: NDArray[np.intp], n_samples: int, rng: np.random.Generator
) -> Iterator[tuple[Alerts, Floats | None]]:
    """The alerts at some thresholds in bootstrap samples, in which each row occurs once on average; many at once."""
    width = max(places.size, 0 if sweep.amounts is None else sweep.amounts.size)
    at_once = max(1, MOST_CELLS // width)
    upto = sweep.found[places].astype(np.intp)
    others = np.diff(sweep.false_alarms[places], prepend=0)
    for start in range(0, n_samples, at_once):
        n = min(at_once, n_samples - start)
        alarms = np.cumsum(rng.poisson(others, (n, places.size)), axis=1)
        found, lost = _found_again(sweep.amounts, upto, n, rng)
        yield Alerts(found, alarms, found[:, -1:] - found, alarms[:, -1:] - alarms), lost


def _found_again(
    amounts: Floats | None, upto: NDArray[np.intp], n_samples: int, rng: np.random.Generator
) -> tuple[Number, Floats | None]:
    """The number of cases found and the amounts lost, if the first cases are found."""
    if amounts is None:
        return np.cumsum(rng.poisson(np.diff(upto, prepend=0), (n_samples, upto.size)), axis=1), None
    times = rng.poisson(1.0, (n_samples, amounts.size))
    saved = _totals(times * amounts)
    return _totals(times)[:, upto], saved[:, -1:] - saved[:, upto]


def _totals(values: NDArray[Any]) -> Floats:
    """Running sums of each line, from 0 on."""
    totals: Floats = np.pad(np.cumsum(values, axis=1, dtype=np.float64), ((0, 0), (1, 0)))
    return totals


def _taken(alerts: Alerts, where: object) -> Alerts:
    return Alerts(*(counts[where] for counts in vars(alerts).values()))
