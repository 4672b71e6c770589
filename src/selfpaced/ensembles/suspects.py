"""The rows whose labels are doubtful, by an ensemble."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length

from selfpaced.rounds import Round
from selfpaced.tables import ClassCounts, Labels

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Suspects:
    """Rows whose labels are doubtful, the most doubtful first.

    Attributes
    ----------
    rows : NDArray[np.intp]
        The positions of the rows.
    labels : NDArray[Any]
        The labels of the rows.
    likelier : NDArray[Any]
        The most probable of the other labels.
    doubts : Floats
        The probability that the label is wrong, at the true shares of the classes.
    cross_fitted : bool
        Whether the ensemble was trained on these rows, and each was judged by models that had not seen it. Otherwise
        the ensemble itself judged them as other rows.
    """

    rows: NDArray[np.intp]
    labels: NDArray[Any]
    likelier: NDArray[Any]
    doubts: Floats
    cross_fitted: bool

    def __len__(self) -> int:
        return int(self.rows.size)


def own_probabilities(probabilities: Floats, labels: Labels) -> Floats:
    """The probability of each row's own class."""
    own: Floats = probabilities[np.arange(labels.codes.size), labels.codes]
    return own


def most_doubted(probabilities: Floats, labels: Labels, n: int, label: Any, cross_fitted: bool) -> Suspects:
    """The `n` rows with the smallest probabilities of their own classes, among those of one label if it is given."""
    own = own_probabilities(probabilities, labels)
    candidates = np.arange(own.size) if label is None else np.flatnonzero(labels.classes[labels.codes] == label)
    if not candidates.size:
        raise ValueError(f"No row has the label {label!r}. The labels are {labels.names}.")
    rows = candidates[np.argsort(own[candidates], kind="stable")[:n]]
    numbers, others = labels.codes[rows], probabilities[rows]
    others[np.arange(rows.size), numbers] = -1
    likelier = labels.classes[others.argmax(axis=1)]
    return Suspects(rows, labels.classes[numbers], likelier, np.clip(1 - own[rows], 0, 1), cross_fitted)


def places_of_training_rows(
    rounds: Sequence[Round], labels: Labels, class_counts: NDArray[np.int64], ids: Any = None
) -> list[NDArray[np.intp]] | None:
    """The positions of the training rows of each round among the rows with these labels; None if they are other rows.

    They are the rows of the fit if the rare rows have the same positions. With `ids`, the ids replace the positions.
    """
    n_rows, rare = labels.codes.size, ClassCounts(labels.classes, class_counts).rarest
    if any(each.ids is None for each in rounds) or not np.array_equal(labels.counts, class_counts):
        return None
    names = np.arange(n_rows, dtype=np.uint64) if ids is None else np.asarray(ids).astype(np.uint64)
    check_consistent_length(labels.codes, names)
    order = np.argsort(names, kind="stable")
    rare_ids = np.sort(names[labels.codes == rare])
    places = []
    for seen in (each.ids for each in rounds if each.ids is not None):
        found = order[np.minimum(np.searchsorted(names, seen, sorter=order), n_rows - 1)]
        if not (np.array_equal(names[found], seen) and np.array_equal(np.sort(seen[: rare_ids.size]), rare_ids)):
            return None
        places.append(found)
    return places
