"""Paired comparisons of methods over the runs that they share: means, and deviations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, nan, sqrt

import numpy as np
import pandas as pd
from scipy.stats import t as student

LEVEL = 0.05
FEWEST_RUNS = 3
# Random splits share rows, so their differences are not independent. The corrected test of Nadeau and Bengio adds the
# share of test rows to training rows to the variance.
SHARED = 0.2 / 0.6


@dataclass(frozen=True)
class Comparison:
    """SPE against one other method under one setting.

    Attributes
    ----------
    difference : the mean AUCPRC of SPE minus that of the rival, over the runs of both.
    p_mean : of equal means, by the paired t-test; NaN if there are too few runs.
    deviation, rivals_deviation : standard deviations over these runs.
    p_deviation : of equal deviations, by the paired test of Pitman and Morgan.
    """

    table: str
    setting: str
    rival: str
    runs: int
    difference: float
    p_mean: float
    deviation: float
    rivals_deviation: float
    p_deviation: float


def comparisons(
    table: str, frame: pd.DataFrame, by: Sequence[str], *, shared: float = SHARED, value: str = "aucprc"
) -> Iterator[Comparison]:
    """SPE against every other method of a frame, under each setting. `shared` is 0 where runs share no rows."""
    for setting, rows in frame.dropna(subset=[value]).groupby(list(by), sort=False):
        by_run = rows.pivot_table(index="run", columns="method", values=value)
        if "SPE" not in by_run:
            continue
        for rival in dict.fromkeys(rows["method"]):
            both = by_run[["SPE", rival]].dropna()
            if rival != "SPE" and len(both):
                spe, other = both["SPE"].to_numpy(), both[rival].to_numpy()
                yield Comparison(
                    table,
                    ", ".join(str(part) for part in setting),
                    rival,
                    len(both),
                    float(np.mean(spe - other)),
                    paired_t(spe - other, shared),
                    *(float(np.std(each, ddof=1)) if len(both) > 1 else nan for each in (spe, other)),
                    pitman_morgan(spe, other),
                )


def paired_t(differences: Sequence[float], shared: float = 0.0) -> float:
    """The two-sided p-value of a mean difference of 0.

    >>> round(paired_t([1.0, 2.0, 3.0]), 3), round(paired_t([1.0, 2.0, 3.0], shared=1 / 3), 3)
    (0.074, 0.134)
    """
    n = len(differences)
    if n < FEWEST_RUNS:
        return nan
    mean, error = float(np.mean(differences)), sqrt((1 / n + shared) * float(np.var(differences, ddof=1)))
    if error == 0:
        return 1.0 if mean == 0 else 0.0
    return float(2 * student.sf(abs(mean) / error, n - 1))


def pitman_morgan(one: Sequence[float], other: Sequence[float]) -> float:
    """The two-sided p-value of equal variances of paired values: that their sums and differences do not correlate.

    >>> round(pitman_morgan([1, 2, 3, 4], [2.1, 2.0, 2.2, 2.1]), 4)
    0.0072
    """
    total, difference = np.add(one, other), np.subtract(one, other)
    if len(total) < FEWEST_RUNS or np.ptp(total) == 0 or np.ptp(difference) == 0:
        return nan
    correlation = float(np.corrcoef(total, difference)[0, 1])
    rest = 1 - correlation**2
    statistic = inf if rest <= 0 else abs(correlation) * sqrt((len(total) - 2) / rest)
    return float(2 * student.sf(statistic, len(total) - 2))
