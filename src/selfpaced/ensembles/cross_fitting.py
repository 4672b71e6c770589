"""Honest probabilities: what members say of rows that they have not been trained on.

A row that a member has not seen is scored by the member. For a row that it has seen, copies stand in: each is trained
on the member's rows without a part of them, and scores that part. So every row gets a probability from all members,
and none from a model that knew its label. Only the few rows of the training sets are fitted again; no pool is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.ensembles.members import MemberFactory
from selfpaced.pools.keys import Keys, row_keys
from selfpaced.pools.reserved_rounds import FOLDS_ROUND
from selfpaced.pools.rows import Rows
from selfpaced.scoring import mean_probabilities, scorer_of, scorers_of
from selfpaced.scoring.scorer import chunks_for, probabilities_by
from selfpaced.scoring.threads import over_chunks
from selfpaced.tables import InMemoryTable

Floats = NDArray[np.float64]

N_FOLDS = 5
# Where a class has many rows, a copy that lacks a third of them is as good as one that lacks a fifth.
N_FOLDS_OF_MANY, MANY_ROWS = 3, 1000


@dataclass(frozen=True)
class HonestScores:
    """The probabilities that copies of one member give to its own training rows, by row id."""

    ids: NDArray[np.integer]
    probabilities: Floats


@dataclass(frozen=True)
class CrossFitted:
    """A member with what its copies say of the rows it was trained on."""

    model: Any
    scores: HonestScores

    def honest_probabilities(self, own: Floats, ids: NDArray[np.integer]) -> Floats:
        """What the member says of some rows; of those that it has seen, what its copies say. Changes `own`."""
        _, seen, here = np.intersect1d(ids, self.scores.ids, assume_unique=True, return_indices=True)
        own[seen] = self.scores.probabilities[here]
        return own


def cross_fit(
    factory: MemberFactory, number: int, rows: Rows, y: NDArray[np.integer], seed: int, n_threads: int
) -> HonestScores:
    """Train copies of member `number` on all parts of its training rows but one, and score that one."""
    part_of = folds(rows.ids, y, seed, number)
    table = InMemoryTable(rows.features, rows.metadata)
    probabilities = np.empty((len(rows), int(y.max()) + 1))
    copies_at_once = n_threads if factory.trains_side_by_side(number, rows.features) else 1

    def score(part: int) -> None:
        learnt, left_out = table.rows(np.flatnonzero(part_of != part)), np.flatnonzero(part_of == part)
        copy = factory.fit(number, learnt.features, y[learnt.ids], learnt.metadata)
        asked, threads = InMemoryTable(table.take(left_out)), 1 if copies_at_once > 1 else n_threads
        probabilities[left_out] = probabilities_of(copy, asked, probabilities.shape[1], threads)

    n_parts = int(part_of.max()) + 1
    over_chunks(lambda start, stop: score(start), n_parts, 1, copies_at_once)
    return HonestScores(rows.ids, probabilities)


def cross_fit_all(
    factory: MemberFactory,
    members: Sequence[Any],
    training_sets: Iterable[tuple[Rows, NDArray[np.intp]]],
    seed: int,
    n_threads: int,
    first_number: int,
) -> list[CrossFitted]:
    """The members of a finished ensemble with honest scores of their training rows. A training set is rows and classes.

    `first_number` is the number that the first member had for the factory: 0, or 1 after a warm-up.
    """
    return [
        CrossFitted(member, cross_fit(factory, number, rows, y, seed, n_threads))
        for number, (member, (rows, y)) in enumerate(zip(members, training_sets, strict=True), start=first_number)
    ]


def folds(ids: NDArray[np.integer], y: NDArray[np.integer], seed: int, number: int) -> NDArray[np.intp]:
    """A part for each row: at random by its id, and all parts with equally many rows of each class.

    >>> folds(np.arange(6), np.array([0, 0, 0, 0, 1, 1]), seed=0, number=1).tolist()
    [0, 1, 0, 1, 0, 1]
    """
    n_smallest = int(np.unique(y, return_counts=True)[1].min())
    n_folds = N_FOLDS_OF_MANY if n_smallest >= MANY_ROWS else min(N_FOLDS, n_smallest)
    if n_folds < 2:
        raise ValueError(
            "Rows are left out to see what the others say of them, and a member has been given only one row of a "
            "class. Raise ratio, or calibrate on rows of their own: model.calibrate(X, y)."
        )
    return stratified_parts(row_keys(ids.astype(np.uint64), seed, FOLDS_ROUND + number), y, n_folds)


def stratified_parts(keys: Keys, y: NDArray[np.integer], n_parts: int) -> NDArray[np.intp]:
    """A part for each row, by the order of the keys in its class: all parts have equally many rows of each class."""
    by_class_and_key = np.lexsort((keys, y))
    part_of = np.empty(y.size, dtype=np.intp)
    part_of[by_class_and_key] = np.arange(y.size) - np.searchsorted(np.sort(y), np.sort(y))
    return part_of % n_parts


def honest_means(
    members: Sequence[CrossFitted], table: InMemoryTable, ids: NDArray[np.integer], n_classes: int, n_threads: int
) -> Floats:
    """The mean over members for the rows of a table, honest for those that members have seen."""
    sums = np.zeros((table.n_rows, n_classes))
    scorers = scorers_of([member.model for member in members], table.n_rows)

    def work(start: int, stop: int) -> None:
        answers = probabilities_by(scorers, table.span(start, stop))
        for member, own in zip(members, answers, strict=True):
            sums[start:stop] += member.honest_probabilities(np.array(own, dtype=np.float64), ids[start:stop])

    over_chunks(work, table.n_rows, *chunks_for(scorers, table.bytes_per_row, n_threads))
    return sums / len(members)


def probabilities_of(model: Any, table: InMemoryTable, n_classes: int, n_threads: int) -> Floats:
    return mean_probabilities([scorer_of(model, table.n_rows)], table, n_classes, n_threads)
