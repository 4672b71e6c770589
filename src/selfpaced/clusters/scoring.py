"""Scores of rows on a cluster, and the rows that are held out to be scored."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.clusters.partitions import ROWS_AT_ONCE, PartitionedTable
from selfpaced.ensembles import predicting_in_one_thread as worker_model
from selfpaced.exceptions import TableError
from selfpaced.pools import LARGEST_KEY, NO_CLASS, Block, Engine, Question, Rows, RowsUnder, Tags, mix, row_keys
from selfpaced.tables import ClassCounts, InMemoryTable

Floats = NDArray[np.float64]
# Ids, whether the rows are of the class that the score is about, and scores.
Scored = tuple[NDArray[Any], NDArray[np.bool_], Floats]


def scores_of_rows(model: Any, rows: Any) -> tuple[Floats, Floats]:
    """The scores of all classes before and after the calibration.

    The rows are a frame or an array of the user, or an `InMemoryTable` whose features have the types of the model.
    """
    raw = model.model_.means(rows, 1)
    return raw, model.model_.calibrated(raw)


@dataclass(frozen=True)
class ScoreRows(Question[Scored]):
    """A question: the scores of the rows that have a class, by a model that was trained on the same table."""

    features = True
    model: Any

    def __call__(self, block: Block) -> Scored:
        column = self.model.trained_on_.score_column
        own = np.flatnonzero(block.tags.classes != NO_CLASS)
        scores = np.empty(own.size)
        for start in range(0, own.size, ROWS_AT_ONCE):
            some = slice(start, start + ROWS_AT_ONCE)
            rows = InMemoryTable(block.take(own[some]).features)
            scores[some] = scores_of_rows(self.model, rows)[1][:, column]
        return block.tags.ids[own], block.tags.classes[own] == column, scores

    @staticmethod
    def merge(parts: Sequence[Scored]) -> Scored:
        ids, is_rare, scores = (np.concatenate(each) for each in zip(*parts, strict=True))
        return ids, is_rare, scores


def cluster_scores(model: Any, table: PartitionedTable) -> tuple[NDArray[np.bool_], Floats]:
    """Whether each row is of the class that the score is about, and its score, in the order of the ids.

    The model must have been trained on a part of the same table: rows are read by the schema of the table. Seventeen
    bytes of each row are sent to this process.
    """
    ids, is_rare, scores = table.begin().ask(ScoreRows(worker_model(model)))
    order = np.argsort(ids, kind="stable")
    return is_rare[order], scores[order]


# Rows are held out by other keys than those they are drawn by.
HOLDING_OUT, LOOKING_AT = mix(0, 1), mix(0, 2)


def _largest_key_of(share: float) -> int:
    return min(int(share * 2**64), LARGEST_KEY)


@dataclass(frozen=True)
class KeepSide:
    """A step that drops the rows on the other side of a hold-out.

    About a share of all rows is held out, by the hash of the id, or of the group of a row.
    """

    share: float
    seed: int
    by_group: bool
    held_out: bool

    def __call__(self, block: Block) -> Tags:
        hashed = block.take(np.arange(block.tags.ids.size)).groups if self.by_group else block.tags.ids
        assert hashed is not None
        is_held_out = row_keys(hashed, mix(self.seed, HOLDING_OUT), 0) < np.uint64(_largest_key_of(self.share))
        classes = np.where(is_held_out == self.held_out, block.tags.classes, np.uint8(NO_CLASS))
        return replace(block.tags, classes=classes)


@dataclass(frozen=True)
class CountClasses(Question[NDArray[np.int64]]):
    """A question: how many rows each class has."""

    n_classes: int

    def __call__(self, block: Block) -> NDArray[np.int64]:
        return np.bincount(block.tags.classes, minlength=NO_CLASS + 1)[: self.n_classes]

    @staticmethod
    def merge(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        total: NDArray[np.int64] = np.sum(parts, axis=0, dtype=np.int64)
        return total


def hold_out(table: PartitionedTable, share: float, seed: int) -> tuple[PartitionedTable, PartitionedTable]:
    """The rows to train on, and those held out: whole groups, if the table has groups."""
    by_group = table.roles.group_column is not None
    train, test = (_one_side(table, KeepSide(share, seed, by_group, held_out)) for held_out in (False, True))
    return train, test


def _one_side(table: PartitionedTable, side: KeepSide) -> PartitionedTable:
    begin = partial(_begin_after, table.begin, side)
    labels = table.class_counts
    counts = begin().ask(CountClasses(labels.classes.size))
    if not counts.all():
        name, which = labels.names[int(np.argmin(counts))], "held out" if side.held_out else "left to train on"
        raise TableError(
            f"No row of the class {name!r} is {which}, of {labels.counts[np.argmin(counts)]:,}. Hold out another share."
        )
    return replace(table, begin=begin, class_counts=ClassCounts(labels.classes, counts))


def _begin_after(begin: Callable[[], Engine], step: Callable[[Block], Tags]) -> Engine:
    engine = begin()
    engine.advance(step)
    return engine


@dataclass(frozen=True)
class SampleRows(Question[Sequence[Rows]]):
    """A question: the rows whose keys are not above a limit."""

    features = True
    merge = staticmethod(RowsUnder.merge)
    limit: int
    seed: int

    def __call__(self, block: Block) -> Sequence[Rows]:
        keys = row_keys(block.tags.ids, mix(self.seed, LOOKING_AT), 0)
        return [block.take(np.flatnonzero((keys <= np.uint64(self.limit)) & (block.tags.classes != NO_CLASS)))]


def sample_rows(table: PartitionedTable, n_rows: int, seed: int) -> Rows:
    """About this many rows of a table, of all classes, sorted by id."""
    share = min(n_rows / int(table.class_counts.counts.sum()), 1.0)
    engine = table.begin()
    return engine.stacked(engine.ask(SampleRows(_largest_key_of(share), seed)))
