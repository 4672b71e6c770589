"""Scores of tables that are read batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import TableError
from selfpaced.metrics import alerts_at_threshold, aucprc, best_threshold, short_threshold
from selfpaced.scoring import Scorer, mean_probabilities
from selfpaced.scoring.threads import over_stream
from selfpaced.tables import InMemoryTable, Labels, StreamedTable
from selfpaced.tables.streamed import StreamedBatch


@dataclass(frozen=True)
class TableEvaluation:
    """How well an ensemble does on a table.

    Attributes
    ----------
    aucprc : of the rare class; chance is n_positives / n_rows.
    threshold : the one given, or else the best one by F1 on these rows, to be judged on others.
    f1, precision, recall : at that threshold.
    best_threshold, best_f1 : the best by F1 on these rows, in few digits.
    mean_score : of all rows; for a calibrated ensemble, the share of rare rows that it expects.
    """

    n_rows: int
    n_positives: int
    aucprc: float
    threshold: float
    f1: float
    precision: float
    recall: float
    best_threshold: float
    best_f1: float
    mean_score: float


def streamed_probabilities(
    scorers: Sequence[Scorer], table: StreamedTable, n_classes: int, n_threads: int, weights: Any
) -> Iterator[tuple[StreamedBatch, NDArray[np.float64]]]:
    """Batches with the ensemble's probabilities, in order. Models with threads of their own get one batch at a time."""
    threads = min([n_threads, *(scorer.threads for scorer in scorers if scorer.threads is not None)])

    def work(batch: StreamedBatch) -> tuple[StreamedBatch, NDArray[np.float64]]:
        batch.check()
        rows = InMemoryTable(batch.features_for(scorers))
        return batch, mean_probabilities(scorers, rows, n_classes, 1, weights)

    return over_stream(work, table.batches(), threads)


def rare_rows(table: StreamedTable, classes: NDArray[Any], rare: int) -> NDArray[np.bool_]:
    """Which rows of a table are of the class that a score is about. All labels must be known to the model."""
    labels = table.labels()
    _check_evaluable(labels, classes, rare, table.roles.target)
    is_rare: NDArray[np.bool_] = np.isin(labels.codes, np.flatnonzero(labels.classes == classes[rare]))
    return is_rare


def _check_evaluable(labels: Labels, classes: NDArray[Any], rare: int, target: str | None) -> None:
    known = classes.tolist()
    unknown = [name for name in labels.names if name not in known]
    if unknown or not np.isin(classes[rare], labels.classes):
        raise TableError(
            f"The labels in column {target!r} are {labels.names}; the model knows {known}, and rows of {known[rare]!r} "
            "are needed to measure it."
        )


def evaluation(
    is_positive: NDArray[np.bool_], scores: NDArray[np.float64], threshold: float | None = None
) -> TableEvaluation:
    last = best_threshold(is_positive, scores)
    best = short_threshold(last, scores[scores < last].max(initial=-np.inf))
    threshold = best if threshold is None else threshold
    alerts = alerts_at_threshold(is_positive, scores, threshold)
    return TableEvaluation(
        n_rows=int(scores.size),
        n_positives=int(is_positive.sum()),
        aucprc=aucprc(is_positive, scores),
        threshold=threshold,
        f1=float(alerts.f1),
        precision=float(alerts.precision),
        recall=float(alerts.recall),
        best_threshold=best,
        best_f1=float(alerts_at_threshold(is_positive, scores, best).f1),
        mean_score=float(scores.mean(dtype=np.float64)),
    )
