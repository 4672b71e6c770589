"""Whether scores can be read as probabilities."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from selfpaced.report.facts import Calibration, ScoreBin
from selfpaced.report.ranking import share_interval
from selfpaced.report.tally import Tally

MOST_BINS = 12


def calibration_facts(counts: Tally) -> Calibration | None:
    """Brier score and bins of similar scores; None if some scores are outside 0 to 1.

    Bins have equal weight, and both classes have the same total weight. With one rare row in a thousand, nearly all
    bins of equal size would have no rare row. Rows with the same score are in the same bin.
    """
    if counts.scores[0] > 1 or counts.scores[-1] < 0:
        return None
    n_rows, bins, brier = counts.n_cases + counts.n_others, [], 0.0
    for start, stop in pairwise([0, *_edges(counts), counts.scores.size]):
        if start < stop:
            cases, others = (
                np.diff(total[start:stop], prepend=total[start - 1] if start else 0)
                for total in (counts.found, counts.false_alarms)
            )
            scores, n, hits = counts.scores[start:stop], int(cases.sum() + others.sum()), int(cases.sum())
            brier += float(np.sum(cases * (1 - scores) ** 2 + others * scores**2))
            mean = float(np.sum(scores * (cases + others)) / n)
            bins.append(ScoreBin(n, mean, hits / n, share_interval(hits, n)))
    prevalence = counts.n_cases / n_rows
    return Calibration(
        bins=tuple(reversed(bins)),
        brier=brier / n_rows,
        brier_of_prevalence=prevalence * (1 - prevalence),
        mean_score=sum(one.n_rows * one.mean_score for one in bins) / n_rows,
        calibration_error=sum(one.n_rows * abs(one.mean_score - one.share) for one in bins) / n_rows,
    )


def _edges(counts: Tally) -> list[int]:
    """The first positions of the bins after the first one. A score is in the bin that half of its weight reaches."""
    reached = counts.recall
    reached += counts.false_alarm_rate
    reached[1:] += reached[:-1].copy()
    edges: list[int] = np.searchsorted(reached, 4 * np.arange(1, MOST_BINS) / MOST_BINS).tolist()
    return edges
