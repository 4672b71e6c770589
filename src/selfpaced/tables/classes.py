"""The smallest class whole, and a pool for every larger one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from selfpaced.algorithms.pool import MajorityPool
from selfpaced.pools.keys import Ids
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
    """Of equally small classes the last is the minority: with two balanced classes, the usual positive one."""
    n_classes = labels.classes.size
    minority_class = n_classes - 1 - int(labels.counts[::-1].argmin())
    pools = {
        number: MemoryPool(table, _ids(labels, number), number, seed, n_threads)
        for number in range(n_classes)
        if number != minority_class
    }
    minority = table.rows(_ids(labels, minority_class))
    return ClassSplit(labels.names, labels.counts.tolist(), minority_class, minority, pools)


def _ids(labels: Labels, class_number: int) -> Ids:
    # Four bytes a row while they suffice.
    return np.flatnonzero(labels.codes == class_number).astype(np.min_scalar_type(labels.codes.size))
