"""Honest scores of training rows by cross-fitted copies, and the calibration by them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.algorithms import HARDNESS, MajorityPool
from selfpaced.calibration import FITTED_MAPS, Calibrator, PriorCorrection, fit_calibrator
from selfpaced.ensembles.members import MemberFactory
from selfpaced.ensembles.pools import Weighting
from selfpaced.pools import CALIBRATION_SAMPLE_ROUND, FOLDS_ROUND, Keys, Rows, row_keys
from selfpaced.scoring import chunks_for, mean_probabilities, over_chunks, probabilities_by, scorer_of, scorers_of
from selfpaced.tables import ClassSplit, InMemoryTable, stack


def stratified_parts(keys: Keys, y: NDArray[np.integer], n_parts: int) -> NDArray[np.intp]:
    """A part for each row, by the order of the keys in its class: all parts have equally many rows of each class."""
    by_class_and_key = np.lexsort((keys, y))
    part_of = np.empty(y.size, dtype=np.intp)
    part_of[by_class_and_key] = np.arange(y.size) - np.searchsorted(np.sort(y), np.sort(y))
    return part_of % n_parts


def parts_of_groups(
    groups: NDArray[np.uint64], y: NDArray[np.integer], seed: int, round_number: int, n_parts: int
) -> NDArray[np.intp]:
    """A part for each row, the same for all rows of a group: all parts have equally many groups with rare rows.

    >>> groups = np.array([5, 5, 6, 6, 7, 8], dtype=np.uint64)
    >>> parts_of_groups(groups, np.array([0, 1, 0, 1, 0, 0]), seed=0, round_number=1, n_parts=2).tolist()
    [0, 0, 1, 1, 0, 1]
    """
    names, group_of = np.unique(groups, return_inverse=True)
    # A group belongs to the rarest of the classes of its rows.
    by_size = np.argsort(np.argsort(np.bincount(y)))
    rank = np.full(names.size, by_size.size)
    np.minimum.at(rank, group_of, by_size[y])
    parts: NDArray[np.intp] = stratified_parts(row_keys(names, seed, round_number), rank, n_parts)[group_of]
    return parts


Floats = NDArray[np.float64]

# The number of parts of a training set, by the rows of its smallest class. With many rows, a copy without a third or
# half of them is as good as one without a fifth.
N_FOLDS = {0: 5, 1000: 3, 10_000: 2}


@dataclass(frozen=True)
class GroupCopies:
    """The copies of a member, each trained without some groups."""

    groups: NDArray[np.uint64]  # the groups that the member was trained on, sorted
    parts: NDArray[np.intp]  # the number of the copy that has not seen each of them
    models: list[Any]

    def numbers_for(self, groups: NDArray[np.uint64]) -> NDArray[np.intp]:
        """The number of the copy that each row is to be scored by; -1 for rows of groups new to the member."""
        places = np.minimum(np.searchsorted(self.groups, groups), self.groups.size - 1)
        numbers: NDArray[np.intp] = np.where(self.groups[places] == groups, self.parts[places], -1)
        return numbers


@dataclass(frozen=True)
class HonestScores:
    """The probabilities that copies of one member give to its own training rows, by row id.

    `copies` are kept if the rows have groups.
    """

    ids: NDArray[np.integer]
    probabilities: Floats
    copies: GroupCopies | None = None


@dataclass(frozen=True)
class CrossFitted:
    """A member, with the probabilities of its training rows by its copies."""

    model: Any
    scores: HonestScores

    def honest_probabilities(self, own: Floats, table: InMemoryTable, ids: NDArray[np.integer], start: int) -> Floats:
        """The member's probabilities of some rows; for rows or groups that it has seen, those of its copies.

        Changes `own`, which has the member's probabilities for rows of a table from `start` on. `ids` are those of all
        rows.
        """
        stop, copies = start + len(own), self.scores.copies
        if copies is None:
            _, seen, here = np.intersect1d(ids[start:stop], self.scores.ids, assume_unique=True, return_indices=True)
            own[seen] = self.scores.probabilities[here]
            return own
        assert table.groups is not None  # the fit had groups, and so have all rows that it asks about
        numbers = copies.numbers_for(table.groups[start:stop])
        for number, copy in enumerate(copies.models):
            some = np.flatnonzero(numbers == number)
            if some.size:
                own[some] = probabilities_of(copy, InMemoryTable(table.take(start + some)), own.shape[1], n_threads=1)
        return own


def cross_fit(
    factory: MemberFactory, number: int, rows: Rows, y: NDArray[np.integer], seed: int, n_threads: int
) -> HonestScores:
    """Train copies of member `number` on all parts of its training rows but one, and score that one."""
    part_of = folds(rows.ids, y, seed, number, rows.groups)
    table = InMemoryTable(rows.features, rows.metadata)
    probabilities = np.empty((len(rows), int(y.max()) + 1))
    n_parts = int(part_of.max()) + 1
    at_once = factory.copies_at_once(number, rows.features, n_parts, n_threads)

    def scored_by_copy(part: int) -> Any:
        learnt, left_out = table.rows(np.flatnonzero(part_of != part)), np.flatnonzero(part_of == part)
        copy = factory.fit(number, learnt.features, y[learnt.ids], learnt.arguments, beside_others=at_once > 1)
        asked, threads = InMemoryTable(table.take(left_out)), 1 if at_once > 1 else n_threads
        probabilities[left_out] = probabilities_of(copy, asked, probabilities.shape[1], threads)
        return None if rows.groups is None else copy

    copies = over_chunks(lambda start, stop: scored_by_copy(start), n_parts, 1, at_once)
    if rows.groups is None:
        return HonestScores(rows.ids, probabilities)
    groups, first = np.unique(rows.groups, return_index=True)
    return HonestScores(rows.ids, probabilities, GroupCopies(groups, part_of[first], copies))


def folds(
    ids: NDArray[np.integer],
    y: NDArray[np.integer],
    seed: int,
    number: int,
    groups: NDArray[np.uint64] | None = None,
) -> NDArray[np.intp]:
    """A part for each row: at random by its id, and all parts with equally many rows of each class.

    Rows of one group are in one part, and all parts have equally many groups with rare rows.

    >>> folds(np.arange(6), np.array([0, 0, 0, 0, 1, 1]), seed=0, number=1).tolist()
    [0, 1, 0, 1, 0, 1]
    """
    n_smallest = int(np.unique(y, return_counts=True)[1].min())
    n_folds = min(n_smallest, *(n for least, n in N_FOLDS.items() if n_smallest >= least))
    if n_folds < 2:
        raise ValueError(
            "Cross-fitting needs at least two rows of each class in a member's training set, but one class has only "
            "one. Increase ratio, or calibrate by other rows: model.recalibrated(X, y)."
        )
    if groups is None:
        return stratified_parts(row_keys(ids.astype(np.uint64), seed, FOLDS_ROUND + number), y, n_folds)
    n_folds = min(n_folds, _fewest_values(groups, y))
    parts = parts_of_groups(groups, y, seed, FOLDS_ROUND + number, n_folds)
    _fewest_values(parts, y)
    return parts


def _fewest_values(groups_or_parts: NDArray[Any], y: NDArray[np.integer]) -> int:
    """The number of groups or parts of the class with the fewest: at least 2.

    A copy without the only part that has rows of a class would not know the class.
    """
    found = {int(number): np.unique(groups_or_parts[y == number]).size for number in np.unique(y)}
    number = min(found, key=lambda each: found[each])
    if found[number] < 2:
        raise ValueError(
            f"The rows of class number {number} in a member's training set are in too few groups. Cross-fitting holds "
            "out whole groups, and no row of the class would be left. Give smaller groups, omit groups, or set "
            "calibration=None."
        )
    return found[number]


def honest_means(
    members: Sequence[CrossFitted], table: InMemoryTable, ids: NDArray[np.integer], n_classes: int, n_threads: int
) -> Floats:
    """The mean over members for the rows of a table, cross-fitted for rows that members have seen."""
    sums = np.zeros((table.n_rows, n_classes))
    scorers = scorers_of([member.model for member in members])

    def work(start: int, stop: int) -> None:
        answers = probabilities_by(scorers, table.span(start, stop))
        for member, own in zip(members, answers, strict=True):
            sums[start:stop] += member.honest_probabilities(np.array(own, dtype=np.float64), table, ids, start)

    over_chunks(work, table.n_rows, *chunks_for(scorers, table.bytes_per_row, n_threads))
    return sums / len(members)


def probabilities_of(model: Any, table: InMemoryTable, n_classes: int, n_threads: int) -> Floats:
    return mean_probabilities([scorer_of(model)], table, n_classes, n_threads)


N_BINS = 20
MOST_ROWS_OF_A_BIN = 2**12


def needs_copies(method: str | None) -> bool:
    """Whether a method needs cross-fitted scores of rows."""
    return method in FITTED_MAPS


def prior_correction(
    counts: Sequence[int], minority_class: int, n_draw: int, weighting: Weighting | None = None
) -> PriorCorrection:
    """The factor by which each class was under-sampled, as far as weights do not compensate for it.

    >>> prior_correction([1000, 10], minority_class=1, n_draw=10).factors.tolist()
    [100.0, 1.0]
    >>> prior_correction([1000, 10], minority_class=1, n_draw=10, weighting=Weighting(0.5)).factors.tolist()
    [10.0, 1.0]
    """
    rows = np.array(counts, dtype=np.float64)
    drawn = np.minimum(rows, n_draw)
    drawn[minority_class] = rows[minority_class]
    return PriorCorrection((rows / drawn) ** (1.0 if weighting is None else 1 - weighting.power))


def fitted_calibrator(
    method: str,
    split: ClassSplit,
    pools: Mapping[int, MajorityPool[Rows]],
    members: Sequence[CrossFitted],
    n_threads: int,
) -> Calibrator:
    """The map of a method that needs rows. The pools have scored all models of the fit."""
    blocks = {split.minority_class: split.minority}
    for number, pool in pools.items():
        bins = pool.cut(HARDNESS["absolute"], N_BINS)
        quota = np.minimum(bins.counts, MOST_ROWS_OF_A_BIN).tolist()
        blocks[number] = pool.draw(quota, CALIBRATION_SAMPLE_ROUND)
    classes = np.repeat(list(blocks), [len(block) for block in blocks.values()])
    weights = np.concatenate([_weights(block) for block in blocks.values()])
    rows = stack(list(blocks.values()))
    del blocks  # the rows are in memory once while they are scored
    table = InMemoryTable(rows.features, rows.metadata)
    means = honest_means(members, table, rows.ids, len(split.counts), n_threads)
    return fit_calibrator(method, means, classes, weights, split.minority_class)


def _weights(rows: Rows) -> Floats:
    """How much each row counts: its own weight, times the number of rows that it stands for."""
    own = np.asarray(rows.metadata.get("sample_weight", np.ones(len(rows))), dtype=np.float64)
    return own if rows.stands_for is None else rows.stands_for * own
