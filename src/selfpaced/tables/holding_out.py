"""Rows of a table on a cluster that are held out: which they are is decided where they lie, by a hash."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import TableError
from selfpaced.pools.blocks import Block, Tags
from selfpaced.pools.chunk import NO_CLASS
from selfpaced.pools.keys import LARGEST_KEY, mix, row_keys
from selfpaced.pools.partitioned import Engine, flattened
from selfpaced.pools.rows import Rows
from selfpaced.tables.labels import ClassCounts
from selfpaced.tables.partitions import PartitionedTable

# Rows are held out by other keys than those they are drawn by.
HOLDING_OUT, LOOKING_AT = mix(0, 1), mix(0, 2)


@dataclass(frozen=True)
class HeldOut:
    """Which rows are held out: about a share of all, by the hash of the id, or of the group of a row."""

    share: float
    seed: int
    by_group: bool

    def __call__(self, block: Block) -> NDArray[np.bool_]:
        hashed = self._groups(block) if self.by_group else block.tags.ids
        keys = row_keys(hashed, mix(self.seed, HOLDING_OUT), 0)
        return keys < np.uint64(min(int(self.share * 2**64), LARGEST_KEY))

    @staticmethod
    def _groups(block: Block) -> NDArray[np.uint64]:
        groups = block.take(np.arange(block.tags.ids.size)).groups
        assert groups is not None
        return groups


@dataclass(frozen=True)
class Side:
    """A step that lets go of the rows on the other side."""

    held_out: HeldOut
    is_held_out: bool

    def __call__(self, block: Block) -> Tags:
        is_here = self.held_out(block) == self.is_held_out
        return replace(block.tags, classes=np.where(is_here, block.tags.classes, np.uint8(NO_CLASS)))


@dataclass(frozen=True)
class CountClasses:
    """How many rows each class has."""

    n_classes: int

    def __call__(self, block: Block) -> NDArray[np.int64]:
        return np.bincount(block.tags.classes, minlength=NO_CLASS + 1)[: self.n_classes]

    @staticmethod
    def merge(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        total: NDArray[np.int64] = np.sum(parts, axis=0, dtype=np.int64)
        return total


@dataclass(frozen=True)
class SomeRows:
    """The rows of a side whose keys are not above a limit: a sample."""

    limit: int
    seed: int

    def __call__(self, block: Block) -> list[Rows]:
        keys = row_keys(block.tags.ids, mix(self.seed, LOOKING_AT), 0)
        return [block.take(np.flatnonzero((keys <= np.uint64(self.limit)) & (block.tags.classes != NO_CLASS)))]


def divided(table: PartitionedTable, share: float, seed: int) -> tuple[PartitionedTable, PartitionedTable]:
    """The rows to train on, and those held out: whole groups, if the table has groups."""
    held_out = HeldOut(share, seed, table.roles.group is not None)
    train, test = (_side(table, Side(held_out, is_held_out)) for is_held_out in (False, True))
    return train, test


def _side(table: PartitionedTable, side: Side) -> PartitionedTable:
    begin = partial(_begun, table.begin, side)
    labels = table.class_counts
    counts = begin().ask(CountClasses(labels.classes.size), CountClasses.merge, features=False)
    if not counts.all():
        name, which = labels.names[int(np.argmin(counts))], "held out" if side.is_held_out else "left to train on"
        raise TableError(
            f"No row of the class {name!r} is {which}, of {labels.counts[np.argmin(counts)]:,}. Hold out another share."
        )
    return replace(table, begin=begin, class_counts=ClassCounts(labels.classes, counts))


def _begun(begin: Callable[[], Engine], side: Side) -> Engine:
    engine = begin()
    engine.advance(side)
    return engine


def some_rows(table: PartitionedTable, n_rows: int, seed: int) -> Rows:
    """About so many rows of a table, of all classes, sorted by id."""
    share = min(n_rows / int(table.class_counts.counts.sum()), 1.0)
    engine = table.begin()
    question = SomeRows(min(int(share * 2**64), LARGEST_KEY), seed)
    return engine.stacked(engine.ask(question, flattened, features=True))
