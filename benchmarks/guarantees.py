"""Claim: a guaranteed precision is broken in at most the promised share of choices, whatever the scores look like.

    python benchmarks/guarantees.py [--runs 1000]

Simulated scores whose true precision and recall at every threshold are known. In each run rows are drawn, a threshold
is chosen on them, and the promise counts as broken if the true precision at the threshold is lower. A run in which no
threshold can give the guarantee promises nothing. The plain rule, `precision>=0.9`, is chosen on the same rows. The
cost of the guarantee is the recall that it loses to the plain rule, in runs in which both choose a threshold.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, norm

from record import save, significant, versions_of
from selfpaced.thresholds import Rule, parse_rule, sweep_of
from text_table import text_table

PACKAGES = ("selfpaced", "numpy", "scipy")
RULES = ("precision>=0.8 with 95%", "precision>=0.9 with 95%", "precision>=0.9 with 80%")
SURE = 0.999  # of the limit of broken promises that chance allows: 27 cells are compared with it
GRID = 0.5
NOISE, ODD = 0.06, 0.001

Floats = NDArray[np.float64]
Tail = Callable[[float], float]  # the share of rows at or above a threshold


@dataclass(frozen=True)
class Population:
    n_rows: int
    share: float  # of rare rows
    shift: float  # of their scores, in standard deviations
    grid: float | None = None  # scores are rounded to its multiples
    noise: float = 0.0  # the share of rare rows that are labelled as common ones
    odd: float = 0.0  # the share of common rows that have higher scores than all others

    def draw(self, rng: np.random.Generator) -> tuple[NDArray[np.bool_], Floats]:
        is_rare = rng.random(self.n_rows) < self.share
        scores = rng.normal(self.shift * is_rare)
        scores = np.where(~is_rare & (rng.random(self.n_rows) < self.odd), scores + 3 * self.shift, scores)
        scores = scores if self.grid is None else self.grid * np.round(scores / self.grid)
        return is_rare & (rng.random(self.n_rows) >= self.noise), scores

    def truth(self, threshold: float) -> tuple[float, float]:
        """The precision and the recall of all rows that could be drawn."""
        at = threshold if self.grid is None else self.grid * (ceil(threshold / self.grid) - 0.5)
        rare = self.share * norm.sf(at, self.shift)
        common = (1 - self.share) * ((1 - self.odd) * norm.sf(at) + self.odd * norm.sf(at, 3 * self.shift))
        right = (1 - self.noise) * rare
        return right / (rare + common), right / ((1 - self.noise) * self.share)


POPULATIONS = {
    "easy": Population(20_000, 0.02, 4.0),
    "hard": Population(20_000, 0.02, 3.2),
    "discrete scores": Population(20_000, 0.02, 3.5, grid=GRID),
    "1 rare row in 1,000": Population(100_000, 0.001, 4.5),
    "wrong labels": Population(60_000, 0.02, 4.0, noise=NOISE),
    "odd common rows on top": Population(60_000, 0.02, 4.0, odd=ODD),
    # The walks were chosen on populations like those above. These were added afterwards, to try them on others.
    "most scores equal": Population(10_000, 0.02, 3.5, grid=1.5),
    "60 rare rows": Population(5_000, 0.012, 5.0),
    "1 rare row in 5,000": Population(500_000, 0.0002, 5.0),
}


def threshold_by(rule: Rule, is_rare: NDArray[np.bool_], scores: Floats) -> float | None:
    """As `choose_threshold`, without intervals."""
    sweep = sweep_of(is_rare, scores)
    values = np.asarray(rule.value(sweep.alerts))
    place = int(rule.best(sweep.alerts))
    return sweep.short(place) if values[place] > 0 else None


def judged(population: Population, written: str, n_runs: int, seed: int) -> dict[str, Any]:
    """How often the guarantee and the plain rule break their promise, and the recall that they have."""
    guaranteed, plain = parse_rule(written), parse_rule(written.partition(" with ")[0])
    least = plain.precision  # type: ignore[attr-defined]
    rng = np.random.default_rng(seed)
    broken, chosen, recalls = [0, 0], [0, 0], []
    for _ in range(n_runs):
        is_rare, scores = population.draw(rng)
        found = [threshold_by(rule, is_rare, scores) for rule in (guaranteed, plain)]
        truths = [None if threshold is None else population.truth(threshold) for threshold in found]
        for number, truth in enumerate(truths):
            chosen[number] += truth is not None
            broken[number] += truth is not None and truth[0] < least
        if None not in truths:
            recalls.append([truth[1] for truth in truths if truth is not None])
    with_guarantee, without = np.mean(recalls, axis=0).tolist() if recalls else (float("nan"),) * 2
    return {
        "rule": written,
        "promised": significant(1 - guaranteed.confidence),  # type: ignore[attr-defined]
        "broken": broken[0] / n_runs,
        "given": chosen[0] / n_runs,
        "plain_broken": broken[1] / n_runs,
        "recall": significant(with_guarantee) if recalls else None,
        "plain_recall": significant(without) if recalls else None,
    }


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=1000)
    n_runs = options.parse_args().runs
    rows = [
        {"population": name, **judged(population, rule, n_runs, seed)}
        for seed, (name, population) in enumerate(POPULATIONS.items())
        for rule in RULES
    ]
    shown = [[str(value) for value in row.values()] for row in rows]
    print(text_table(list(rows[0]), shown, words=2))
    limits = {risk: int(binom.ppf(SURE, n_runs, risk)) / n_runs for risk in {row["promised"] for row in rows}}
    kept = all(row["broken"] <= limits[row["promised"]] for row in rows)
    print(f"Promises are {'kept' if kept else 'BROKEN'}: {n_runs} runs, limits with {SURE:.1%} confidence {limits}.")
    print(save("guarantees", {"runs": n_runs, "kept": kept, "choices": rows}, versions_of(PACKAGES)))
    return 0 if kept else 1


if __name__ == "__main__":
    raise SystemExit(main())
