"""The quality of the ranking, and the alerts at every threshold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.report.facts import CONFIDENCE, Chosen, Curve, Interval, Ranking, Thresholds, Z
from selfpaced.report.tally import Floats, Tally, spread

MOST_POINTS = 400
RESAMPLES = 200
FEWEST_CASES = 20  # with fewer, all may be found, and the interval would have no width
MOST_STEPS = 5000  # of the curve that is resampled
DEFAULT_COSTS = (1.0, 10.0)


def ranking_facts(counts: Tally) -> Ranking:
    finds = counts.finds
    cases = np.diff(counts.found[finds], prepend=0)
    alarms, alarms_before = counts.false_alarms[finds], np.where(finds > 0, counts.false_alarms[finds - 1], 0)
    above = np.sum(cases * (alarms + alarms_before.astype(np.float64))) / 2
    return Ranking(
        aucprc=float(np.sum(cases * counts.precision[finds]) / counts.n_cases),
        aucprc_interval=aucprc_interval(counts),
        auroc=float(1 - above / (float(counts.n_cases) * counts.n_others)),
        chance=counts.n_cases / (counts.n_cases + counts.n_others),
        precision_recall=_curve(counts.recall, counts.precision),
        roc=_curve(*(np.concatenate([[0.0], rate]) for rate in (counts.false_alarm_rate, counts.recall))),
    )


def aucprc_interval(counts: Tally) -> Interval | None:
    """The middle 90% of the AUCPRC of rows drawn again with replacement; None with too few rare rows.

    Between two rare rows only the number of common rows matters. Both numbers are drawn from Poisson distributions, so
    that a draw takes as many steps as there are rare rows.
    """
    if counts.n_cases < FEWEST_CASES:
        return None
    steps = counts.finds
    steps = steps[np.unique(np.linspace(0, steps.size - 1, min(steps.size, MOST_STEPS)).astype(np.intp))]
    cases, others = (np.diff(total[steps], prepend=0) for total in (counts.found, counts.false_alarms))
    rng = np.random.default_rng(0)
    drawn = [_aucprc_of_steps(rng.poisson(cases), rng.poisson(others)) for _ in range(RESAMPLES)]
    low, high = np.quantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Interval(float(low), float(high))


def _aucprc_of_steps(cases: NDArray[np.int64], others: NDArray[np.int64]) -> float:
    found, false_alarms = np.cumsum(cases), np.cumsum(others)
    precision = found / np.maximum(found + false_alarms, 1)
    return float(np.sum(cases * precision) / max(found[-1], 1))


def threshold_facts(
    counts: Tally, threshold: float, costs: tuple[float, float] | None, chosen: Chosen | None = None
) -> Thresholds:
    """A few hundred thresholds, among them the one that is suggested: given, or chosen."""
    wanted = float(threshold)
    if not np.isfinite(wanted):
        raise ValueError(f"threshold must be a finite number; got {threshold!r}.")
    alerts = counts.found + counts.false_alarms
    places = spread(MOST_POINTS - 1, counts.recall, counts.precision, np.log(alerts) / np.log(alerts[-1] + 1))
    values = np.unique([*(counts.short(int(place)) for place in places), wanted]).tolist()
    hits = [counts.at(value) for value in values]
    false_alarm, missed = check_costs(costs)
    return Thresholds(
        values=tuple(values),
        found=tuple(found for found, _ in hits),
        false_alarms=tuple(others for _, others in hits),
        n_cases=counts.n_cases,
        n_others=counts.n_others,
        suggested=values.index(wanted),
        is_given=chosen is None,
        cost_false_alarm=false_alarm,
        cost_missed=missed,
        chosen=chosen,
    )


def check_costs(costs: Any) -> tuple[float, float]:
    if costs is None:
        return DEFAULT_COSTS
    try:
        false_alarm, missed = (float(cost) for cost in costs)
    except (TypeError, ValueError) as error:
        raise ValueError(_COSTS_WANTED.format(costs)) from error
    if not (0 <= false_alarm < np.inf and 0 <= missed < np.inf):
        raise ValueError(_COSTS_WANTED.format(costs))
    return false_alarm, missed


_COSTS_WANTED = "costs must be two numbers >= 0, of a false alarm and of a missed rare row, such as (1, 50); got {!r}."


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


def _curve(x: Floats, y: Floats) -> Curve:
    places = spread(MOST_POINTS, x, y)
    return Curve(tuple(x[places].round(5).tolist()), tuple(y[places].round(5).tolist()))
