"""The smallest class whole, and a pool for every larger one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from selfpaced.algorithms.pool import MajorityPool
from selfpaced.pools.memory import MemoryPool
from selfpaced.pools.rows import Rows
from selfpaced.tables.labels import Labels
from selfpaced.tables.memory import InMemoryTable


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
