"""The rows of a partition on a Spark executor: blocks of columns as models read them, and the tags of all rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from selfpaced.exceptions import TableError
from selfpaced.pools.blocks import Block, Tags
from selfpaced.pools.keys import row_keys
from selfpaced.pools.rows import RowSource

ID, CLASS = "__selfpaced_id__", "__selfpaced_class__"


class Reading(Protocol):
    """How record batches of a frame are read. It travels to the executors."""

    def prepared(self, batch: Any) -> Any:
        """The rows of a record batch as models read them, with the columns `ID` and `CLASS`."""

    def rows(self, batch: Any) -> RowSource:
        """Features and metadata of rows that are prepared."""


@dataclass(frozen=True)
class Census:
    """How many rows there are, and the sum of their ids' keys: the same for the same rows in any order."""

    n_rows: int
    key_sum: int

    @classmethod
    def of(cls, signed_ids: Any) -> Census:
        keys = row_keys(signed_ids.view(np.uint64), 0, 0)
        return cls(keys.size, int(np.add.reduce(keys, dtype=np.uint64)))

    @classmethod
    def summed(cls, parts: Iterable[Census]) -> Census:
        parts = list(parts)
        return cls(sum(part.n_rows for part in parts), sum(part.key_sum for part in parts) % 2**64)

    def require(self, found: Census) -> None:
        """Refuse rows that are not those of the beginning."""
        if self != found:
            raise TableError(
                f"The DataFrame had {self.n_rows} rows when it was opened. Spark has computed parts of it again since "
                f"then, and now there are {found.n_rows} rows, or rows with other ids. Write the DataFrame to files "
                "first, or make its ids and its rows the same whenever they are computed."
            )


class Partition:
    """The rows of one partition, or of a part of it.

    Parameters
    ----------
    batches : Sequence[Any]
        Record batches that are prepared; each is a block.
    tags : Any, default=None
        What `save` wrote after some steps; None for rows that no model has seen.
    """

    def __init__(self, batches: Sequence[Any], reading: Reading, tags: Any = None) -> None:
        self._batches = batches
        self._reading = reading
        self._tags = [_first_tags(batch) for batch in batches]
        if tags is not None:
            self._restore(tags)

    @cached_property
    def _rows(self) -> list[RowSource]:
        return [self._reading.rows(batch) for batch in self._batches]

    def save(self, sink: Any) -> None:
        """Write the tags that steps change."""
        for tags in self._tags:
            sink.write(tags.doubt_sum.tobytes())
        for tags in self._tags:
            sink.write(tags.classes.tobytes())

    def _restore(self, content: Any) -> None:
        n_rows = sum(tags.ids.size for tags in self._tags)
        doubts = np.frombuffer(content, np.float32, n_rows)
        classes = np.frombuffer(content, np.uint8, n_rows, offset=doubts.nbytes)
        ends = np.cumsum([tags.ids.size for tags in self._tags])[:-1]
        parts = zip(self._tags, np.split(classes, ends), np.split(doubts, ends), strict=True)
        self._tags = [Tags(tags.ids, of_classes, of_doubts) for tags, of_classes, of_doubts in parts]

    def advance(self, step: Callable[..., Tags], shared: Sequence[Any]) -> None:
        blocks = zip(self._tags, self._rows, strict=True)
        self._tags = [step(Block(tags, rows), *shared) for tags, rows in blocks]

    def answer(self, question: Callable[[Block], Any], *, features: bool) -> list[Any]:
        """The answers of all blocks."""
        rows: Sequence[RowSource | None] = self._rows if features else [None] * len(self._tags)
        return [question(Block(*both)) for both in zip(self._tags, rows, strict=True)]


def _first_tags(batch: Any) -> Tags:
    ids, classes = (batch.column(name).to_numpy() for name in (ID, CLASS))
    return Tags(ids, classes, np.zeros(ids.size, dtype=np.float32))


def in_blocks(batches: Iterable[Any], block_bytes: int) -> Iterator[Any]:
    """The rows of many small record batches in fewer of about so many bytes."""
    waiting: list[Any] = []
    n_bytes = 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            n_bytes += batch.nbytes
        if n_bytes >= block_bytes:
            yield _joined(waiting)
            waiting, n_bytes = [], 0
    if waiting:
        yield _joined(waiting)


def _joined(batches: Sequence[Any]) -> Any:
    import pyarrow as pa

    return pa.concat_batches(batches)
