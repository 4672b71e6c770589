"""Whether scores can be read as probabilities."""

from __future__ import annotations

import numpy as np

from selfpaced.report.facts import Calibration, ScoreBin
from selfpaced.report.ranking import share_interval
from selfpaced.report.tally import Tally

MOST_BINS = 12


def calibration_facts(counts: Tally) -> Calibration | None:
    """Brier score and bins of similar scores; None if some scores lie outside 0 to 1.

    Bins have equal weight, where both classes weigh the same in total. With one rare row in a thousand, nearly all bins
    of equal size would have no rare row. Rows with the same score share a bin.
    """
    scores = counts.scores
    if scores[0] > 1 or scores[-1] < 0:
        return None
    cases, others = np.diff(counts.found, prepend=0), np.diff(counts.false_alarms, prepend=0)
    n_rows = counts.n_cases + counts.n_others
    mass = (cases / counts.n_cases + others / counts.n_others) / 2
    numbers = np.minimum((MOST_BINS * (np.cumsum(mass) - mass / 2)).astype(np.intp), MOST_BINS - 1)
    in_bin, cases_in_bin, scores_in_bin = (
        np.bincount(numbers, weights=weights, minlength=MOST_BINS)
        for weights in (cases + others, cases, scores * (cases + others))
    )
    bins = [
        ScoreBin(int(n), float(total / n), float(hits / n), share_interval(hits, n))
        for n, hits, total in zip(in_bin, cases_in_bin, scores_in_bin, strict=True)
        if n
    ]
    prevalence = counts.n_cases / n_rows
    return Calibration(
        bins=tuple(reversed(bins)),
        brier=float(np.sum(cases * (1 - scores) ** 2 + others * scores**2) / n_rows),
        brier_of_prevalence=prevalence * (1 - prevalence),
        mean_score=float(scores_in_bin.sum() / n_rows),
        calibration_error=sum(one.n_rows * abs(one.mean_score - one.share) for one in bins) / n_rows,
    )
