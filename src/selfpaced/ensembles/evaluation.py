"""The AUCPRC of a growing ensemble on the rows of the eval_set."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score

from selfpaced.scoring import scorer_of
from selfpaced.scoring.averaging import add_probabilities
from selfpaced.tables import InMemoryTable, Labels


class EvalSet:
    """Rows with labels, and the sum of the probabilities that the members so far gave them."""

    def __init__(self, table: InMemoryTable, labels: Labels, minority_class: int, n_threads: int) -> None:
        self._table = table
        self._labels = labels
        self._minority_class = minority_class
        self._n_threads = n_threads
        self._sums = np.zeros((table.n_rows, labels.classes.size))
        self._n_members = 0

    def score_with(self, model: Any) -> float:
        """AUCPRC after one more member: of the rarer class, or the mean over all classes if there are more than two."""
        add_probabilities([scorer_of(model, self._table.n_rows)], self._table, self._sums, self._n_threads)
        self._n_members += 1
        means = self._sums / self._n_members
        if self._labels.classes.size == 2:
            is_minority = self._labels.codes == self._minority_class
            return float(average_precision_score(is_minority, means[:, self._minority_class]))
        present = np.flatnonzero(self._labels.counts)
        one_hot = self._labels.codes[:, np.newaxis] == present
        return float(average_precision_score(one_hot, means[:, present]))


def eval_set_of(given: Any) -> tuple[Any, Any]:
    """The pair of features and labels that a user gave."""
    if not isinstance(given, tuple | list) or len(given) != 2 or isinstance(given[0], tuple):
        raise ValueError(
            "eval_set must be one pair (X, y) of features and labels, not a list of pairs; "
            f"got a {type(given).__name__} of length {len(given)}."
        )
    return given[0], given[1]
