"""How the ensemble learned, round by round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.report.about import eval_scores_of, rounds_of
from selfpaced.report.facts import HardnessBins, Learning, RoundFacts
from selfpaced.rounds import BinNotes, Round

MOST_BINS_SHOWN = 40


def learning_facts(model: Any, stage_scores: Sequence[float] | None) -> Learning | None:
    """The rounds of an ensemble with the AUCPRC after each member; None if nothing is known.

    `stage_scores` are measured on the rows of the report. Without them the report shows the scores on the eval_set.
    """
    notes = rounds_of(model)
    scores = list(stage_scores or eval_scores_of(model))
    if not notes and not scores:
        return None
    drawn_class = _largest_class(notes)
    n_warm_ups = sum(note.number == 0 for note in notes)
    by_round: list[float | None] = [None] * n_warm_ups + scores
    rounds = tuple(
        RoundFacts(
            note.number,
            note.alpha,
            note.n_rows,
            by_round[place] if place < len(by_round) else None,
            _bins(note.bins.get(drawn_class)),
        )
        for place, note in enumerate(notes)
    )
    label = None if drawn_class is None else str(drawn_class)
    return Learning(rounds, label, "these rows" if stage_scores else "the eval_set of the fit")


def _largest_class(notes: Sequence[Round]) -> Any:
    """The class that most rows are drawn from, if there are bins at all."""
    bins = notes[-1].bins if notes else {}
    return max(bins, key=lambda label: bins[label].counts.sum(), default=None)


def _bins(notes: BinNotes | None) -> HardnessBins | None:
    """At most 40 bins, neighbours taken together where there are more."""
    if notes is None:
        return None
    starts = np.unique(np.linspace(0, notes.counts.size, MOST_BINS_SHOWN, endpoint=False).astype(np.intp))
    counts, drawn = (np.add.reduceat(values, starts) for values in (notes.counts, notes.quota))
    total = np.add.reduceat(np.where(notes.counts > 0, notes.counts * np.nan_to_num(notes.mean_hardness), 0.0), starts)
    return HardnessBins(tuple(counts.tolist()), tuple(drawn.tolist()), _means(total, counts))


def _means(totals: NDArray[np.float64], counts: NDArray[np.int64]) -> tuple[float | None, ...]:
    return tuple(round(float(total / count), 6) if count else None for total, count in zip(totals, counts, strict=True))
