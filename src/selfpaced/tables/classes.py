"""The smallest class whole, and a pool for every larger one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import Any

import numpy as np
from numpy.typing import NDArray

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


def split_stream(
    table: StreamedTable,
    labels: Labels,
    seed: int,
    n_threads: int,
    first_draw: tuple[int, int],
    on_batch: Callable[[int, int], None],
) -> ClassSplit:
    """The same for a table that is read from start to end.

    One pass brings the minority in whole, and the rows of the first draw: `first_draw` is its (number of rows, round).
    """
    counts = labels.counts.tolist()
    larger = {number: n for number, n in enumerate(counts) if number != labels.rarest}
    tags = _tags(labels.codes.size, table.memory_for_tags)
    stream = Stream(table, labels.codes, seed, n_threads, tags, on_batch)
    n_draw, first_round = first_draw
    minority, drawn = stream.begin(labels.rarest, larger, n_draw, first_round)
    foreseen = {number: (first_round, cutting) for number, cutting in drawn.items()}
    pools = {
        number: StreamedPool(stream, number, list(larger), n, foreseen.get(number)) for number, n in larger.items()
    }
    return ClassSplit(labels.names, counts, labels.rarest, minority, pools)


def _tags(n_rows: int, most_bytes: int) -> NDArray[np.float32]:
    """A running sum for each row: in memory, or in a file without a name, which no crash can leave behind."""
    if 4 * n_rows <= most_bytes:
        return np.zeros(n_rows, dtype=np.float32)
    with TemporaryFile() as file:
        file.truncate(4 * n_rows)
        return np.memmap(file, dtype=np.float32, mode="r+", shape=(n_rows,))
