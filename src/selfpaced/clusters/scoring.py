"""What a fitted ensemble says of the rows of a table on a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.clusters.partitions import PartitionedTable
from selfpaced.ensembles import predicting_in_one_thread
from selfpaced.pools import NO_CLASS, Block
from selfpaced.tables import InMemoryTable

ROWS_AT_ONCE = 2**16
# Ids, whether the rows are of the class that the score is about, and scores.
Scored = tuple[NDArray[Any], NDArray[np.bool_], NDArray[np.float64]]


class ScoresOf:
    """A question: the scores of the rows that have a class, by a model that was trained on the same table."""

    def __init__(self, model: Any) -> None:
        self._model = travelling(model)

    def __call__(self, block: Block) -> Scored:
        column, model = self._model.trained_on_.score_column, self._model.model_
        own = np.flatnonzero(block.tags.classes != NO_CLASS)
        scores = np.empty(own.size)
        for start in range(0, own.size, ROWS_AT_ONCE):
            some = slice(start, start + ROWS_AT_ONCE)
            scores[some] = model.probabilities(InMemoryTable(block.take(own[some]).features))[:, column]
        return block.tags.ids[own], block.tags.classes[own] == column, scores

    @staticmethod
    def merge(parts: Sequence[Scored]) -> Scored:
        ids, is_rare, scores = (np.concatenate(each) for each in zip(*parts, strict=True))
        return ids, is_rare, scores


def travelling(model: Any) -> Any:
    """A copy of an ensemble for workers, where each task keeps to one thread: others work beside it."""
    return predicting_in_one_thread(model)


def cluster_scores(model: Any, table: PartitionedTable) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Whether each row is of the class that the score is about, and its score, in the order of the ids.

    The model must have been trained on a part of the same table: rows are read by the schema of the table. Seventeen
    bytes of each row come to this process.
    """
    ids, is_rare, scores = table.begin().ask(ScoresOf(model), ScoresOf.merge, features=True)
    order = np.argsort(ids, kind="stable")
    return is_rare[order], scores[order]
