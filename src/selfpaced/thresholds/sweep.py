"""The counts of every threshold, thresholds with few digits, and the figures to expect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Decimal
from math import sqrt
from operator import attrgetter
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from selfpaced.metrics import MEASURES, Alerts, Number, alerts_at_all_thresholds
from selfpaced.thresholds.rules import Rule

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
    return figures if rule.costs is None else {**figures, "cost": rule.costs.total(alerts, lost)}


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
            exact = Decimal(bound)
            rounded = float(exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), ROUND_FLOOR))
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


Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Sweep:
    """Thresholds from the highest down, with the rare and common rows that score at least as high as each."""

    thresholds: Floats
    found: NDArray[np.signedinteger]  # right alerts at each threshold
    false_alarms: NDArray[np.signedinteger]
    silent: float  # a threshold above the highest score, for no alerts
    amounts: Floats | None = None  # of the rare rows, from the highest score down, if each has its own
    periods: NDArray[np.intp] | None = None  # the number of each row's period, from the highest score down

    @property
    def n_positives(self) -> int:
        return int(self.found[-1])

    @property
    def n_negatives(self) -> int:
        return int(self.false_alarms[-1])

    @property
    def n_rows(self) -> int:
        return self.n_positives + self.n_negatives

    @property
    def alerts(self) -> Alerts:
        found, alarms = self.found, self.false_alarms
        return Alerts(found, alarms, self.n_positives - found, self.n_negatives - alarms)

    @property
    def recall(self) -> Floats:
        return self.found / max(self.n_positives, 1)

    @property
    def false_alarm_rate(self) -> Floats:
        return self.false_alarms / self.n_negatives

    @property
    def precision(self) -> Floats:
        return self.found / (self.found + self.false_alarms)

    @property
    def finds(self) -> NDArray[np.intp]:
        """The positions of the thresholds that are scores of rare rows."""
        return np.flatnonzero(np.diff(self.found, prepend=self.found.dtype.type(0)))

    @property
    def lost(self) -> Floats | None:
        """The amounts of the rare rows that each threshold misses."""
        if self.amounts is None:
            return None
        found = np.concatenate([[0.0], np.cumsum(self.amounts)])
        lost: Floats = found[-1] - found[self.found.astype(np.intp)]
        return lost

    @property
    def busiest(self) -> NDArray[np.intp]:
        """The most alerts in one period, if the first row is an alert, the first two rows are, and so on."""
        assert self.periods is not None
        order = np.argsort(self.periods, kind="stable")
        firsts = np.searchsorted(self.periods[order], self.periods[order])
        within = np.empty(order.size, dtype=np.intp)
        within[order] = np.arange(order.size) - firsts + 1
        return np.maximum.accumulate(within)

    def below(self, place: int) -> Sweep | None:
        """The rows below the threshold at a place, without their amounts; None if there are none. -1 is above all."""
        if place < 0:
            return replace(self, amounts=None)
        if place + 1 >= self.thresholds.size:
            return None
        found, alarms = self.found[place], self.false_alarms[place]
        return Sweep(
            self.thresholds[place + 1 :],
            self.found[place + 1 :] - found,
            self.false_alarms[place + 1 :] - alarms,
            self.silent,
            periods=None if self.periods is None else self.periods[int(found + alarms) :],
        )

    def at(self, place: int) -> Alerts:
        found, false_alarms = int(self.found[place]), int(self.false_alarms[place])
        return Alerts(found, false_alarms, self.n_positives - found, self.n_negatives - false_alarms)

    def alerts_from(self, threshold: float) -> Alerts:
        """The alerts at any number: rows with scores of at least this."""
        n_above = self.thresholds.size - int(np.searchsorted(self.thresholds[::-1], threshold, side="left"))
        return self.at(n_above - 1) if n_above else Alerts(0, 0, self.n_positives, self.n_negatives)

    def short(self, place: int) -> float:
        """A number in few digits with the same alerts as the threshold at a place."""
        if self.found[place] + self.false_alarms[place] == 0:
            return self.silent
        lower = self.thresholds[place + 1 : place + 2].tolist()
        return short_threshold(float(self.thresholds[place]), *lower)

    def with_silence(self) -> Sweep:
        """The same with one more threshold, at which no row is an alert."""
        thresholds = np.concatenate([[self.silent], self.thresholds])
        found, false_alarms = (np.concatenate([[0], counts]) for counts in (self.found, self.false_alarms))
        return replace(self, thresholds=thresholds, found=found, false_alarms=false_alarms)


def sweep_of(
    is_positive: NDArray[np.bool_], scores: NDArray[Any], amounts: Floats | None = None, periods: Any = None
) -> Sweep:
    """Count the alerts at every threshold. `periods` has the period of each row, for rules about periods.

    >>> sweep = sweep_of(np.array([False, True, True]), np.array([0.2, 0.5, 0.9]), np.array([10.0, 30.0]))
    >>> sweep.thresholds.tolist(), sweep.lost.tolist()
    ([0.9, 0.5, 0.2], [10.0, 0.0, 0.0])
    """
    thresholds, alerts = alerts_at_all_thresholds(is_positive, scores)
    if amounts is not None:
        amounts = amounts[np.argsort(-scores[is_positive].astype(np.float64), kind="stable")]
    counts, silent = (alerts.true_positives, alerts.false_positives), silent_threshold(float(thresholds[0]))
    if periods is not None:
        numbers = np.unique(periods, return_inverse=True)[1]
        periods = numbers[np.argsort(-scores.astype(np.float64), kind="stable")].astype(np.intp)
    return Sweep(thresholds.astype(np.float64, copy=False), *counts, silent, amounts, periods)
