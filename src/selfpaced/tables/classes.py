"""The smallest class whole, and a pool for every larger one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from selfpaced.algorithms.pool import MajorityPool
from selfpaced.pools.memory import MemoryPool
from selfpaced.pools.rows import Rows
from selfpaced.pools.streamed import Stream, StreamedPool
from selfpaced.tables.labels import Labels
from selfpaced.tables.memory import InMemoryTable
from selfpaced.tables.streamed import StreamedTable


@dataclass(frozen=True)
class ClassSplit:
    """Algorithm 1's P and N: the minority's rows, and a pool for every larger class, by class number.

    Attributes
    ----------
    names : the labels of all classes, in the order of their numbers.
    counts : how many rows each class has.
    """

    names: Sequence[Any]
    counts: Sequence[int]
    minority_class: int
    minority: Rows
    pools: Mapping[int, MajorityPool[Rows]]


def split_classes(table: InMemoryTable, labels: Labels, seed: int, n_threads: int) -> ClassSplit:
    """The rarest class is the minority."""
    pools = {
        number: MemoryPool(table, labels.ids(number), number, seed, n_threads)
        for number in range(labels.classes.size)
        if number != labels.rarest
    }
    minority = table.rows(labels.ids(labels.rarest))
    return ClassSplit(labels.names, labels.counts.tolist(), labels.rarest, minority, pools)


def split_stream(table: StreamedTable, labels: Labels, seed: int, n_threads: int) -> ClassSplit:
    """The same for a table that is read from start to end: one pass brings the minority in whole."""
    larger = [number for number in range(labels.classes.size) if number != labels.rarest]
    doubts = np.zeros(labels.codes.size, dtype=np.float32)
    stream = Stream(table, labels.codes, seed, n_threads, doubts)
    minority = stream.whole_class(labels.rarest)
    counts = labels.counts.tolist()
    pools = {number: StreamedPool(stream, number, larger, counts[number]) for number in larger}
    return ClassSplit(labels.names, counts, labels.rarest, minority, pools)
