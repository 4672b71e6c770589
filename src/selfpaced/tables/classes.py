"""The smallest class whole, and a pool for every larger one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from selfpaced.pools.keys import Ids
from selfpaced.pools.memory import MemoryPool
from selfpaced.pools.rows import Rows
from selfpaced.tables.labels import Labels
from selfpaced.tables.memory import InMemoryTable


@dataclass(frozen=True)
class ClassSplit:
    """Algorithm 1's P and N: the minority's rows, and the pools with the number of the class that each holds."""

    minority_class: int
    minority: Rows
    majority_classes: tuple[int, ...]
    pools: tuple[MemoryPool, ...]


def split_classes(table: InMemoryTable, labels: Labels, seed: int, n_threads: int) -> ClassSplit:
    """Of equally small classes the last is the minority: with two balanced classes, the usual positive one."""
    n_classes = labels.classes.size
    minority_class = n_classes - 1 - int(labels.counts[::-1].argmin())
    majority_classes = tuple(number for number in range(n_classes) if number != minority_class)
    return ClassSplit(
        minority_class,
        table.rows(_ids(labels, minority_class)),
        majority_classes,
        tuple(MemoryPool(table, _ids(labels, number), number, seed, n_threads) for number in majority_classes),
    )


def _ids(labels: Labels, class_number: int) -> Ids:
    # Four bytes a row while they suffice.
    return np.flatnonzero(labels.codes == class_number).astype(np.min_scalar_type(labels.codes.size))
