"""The engine for Spark executors without a usable disk: Spark keeps blocks of rows as binary values, with their tags.

Every step makes another frame, which holds the rows once more with new tags; the old one is then dropped. This takes
several times as long as scratch files, and twice the memory.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import Any

from selfpaced.clusters.spark.messages import (
    Kept,
    answers,
    asked,
    naming_missing_packages,
    packed,
    told,
    unpacked,
    without_errors,
)
from selfpaced.clusters.spark.storage import ID, Census, Partition, Reading, in_blocks
from selfpaced.pools import Answer, Block, Rows, Tags

# How many frames may be made of each other: Spark writes down the whole chain for every job, and writes deeper into its
# stack with each. At fifty-two it has been seen to overflow.
LONGEST_CHAIN = 25
BLOCK_BYTES = 2**23
# Spark cannot hand over more to Python at once.
MOST_BYTES = 2**30
COLUMNS = ("rows", "tags", "facts", "failure")
BLOBS = ", ".join(f"{name} binary" for name in COLUMNS)


class BlobRows:
    """The rows of a table as binary values.

    Parameters
    ----------
    source : Any
        A Spark DataFrame with a column `ID`.
    tell : Callable[[Any], Any]
        Asked of blocks of its rows.

    Attributes
    ----------
    told : Any
        The answers to `tell`.
    census : Census
        The number of rows, and the sum of their keys.
    """

    def __init__(self, source: Any, tell: Callable[[Any], Any]) -> None:
        self.kept = Kept(source.mapInArrow(partial(_pack, packed(tell)), BLOBS))
        with naming_missing_packages():
            rows = self.kept.frame.select("facts", "failure").collect()
        without_errors([pickle.loads(row.failure) for row in rows if row.failure is not None])
        facts = [pickle.loads(row.facts) for row in rows]
        self.told = [fact for fact, _ in facts]
        self.census = Census.summed(census for _, census in facts)


class BlobEngine:
    """Asks the rows of a table. Where too many frames would hang together, the next is made of the first by all steps.

    Parameters
    ----------
    rows : BlobRows
        The table.
    reading : Reading
        How its rows are read.
    stacked : Callable[[Sequence[Rows]], Rows]
        The rows of several blocks as one's.
    steps : Sequence[bytes], default=()
        What has been done to the tags elsewhere, packed.
    """

    def __init__(
        self,
        rows: BlobRows,
        reading: Reading,
        stacked: Callable[[Sequence[Rows]], Rows],
        steps: Sequence[bytes] = (),
    ) -> None:
        self._rows = rows
        self._reading = reading
        self._stacked = stacked
        self._frame = rows.kept.frame
        self._steps = list(steps)
        self._kept: list[Kept] = []
        self._n_chained = 0
        if steps:
            self._make(rows.kept.frame, self._steps)

    def ask(
        self,
        question: Callable[[Block], Answer],
        merge: Callable[[Sequence[Answer]], Answer],
        *,
        features: bool,
    ) -> Answer:
        work = packed((self._reading, question, merge, features))
        found = asked(self._frame, partial(_answer, work))
        del self._kept[:-1]  # the newest frame has been made whole to answer
        self._rows.census.require(Census.summed(one.census for one in found))
        return merge([one.answer for one in found])

    def advance(self, step: Callable[..., Tags], *shared: Any) -> None:
        self._steps.append(packed((step, shared)))
        self._n_chained += 1
        if self._n_chained < LONGEST_CHAIN:
            self._make(self._frame, self._steps[-1:])
        else:
            self._n_chained = 0
            self._make(self._rows.kept.frame, self._steps)

    def stacked(self, parts: Sequence[Rows]) -> Rows:
        return self._stacked(parts)

    def _make(self, before: Any, steps: Sequence[bytes]) -> None:
        """The next frame: one before it after some steps."""
        work = packed((self._reading, list(steps)))
        self._kept.append(Kept(before.mapInArrow(partial(_advance, work), BLOBS)))
        self._frame = self._kept[-1].frame


@dataclass(frozen=True)
class _ToldBlobs:
    """The answer of a partition."""

    census: Census
    answer: Any


def _pack(tell: bytes, batches: Iterator[Any]) -> Iterator[Any]:
    n_bytes = 0
    try:
        tells = unpacked(tell)
        for block in in_blocks(batches, BLOCK_BYTES):
            facts = tells(block), Census.of(block.column(ID).to_numpy())
            n_bytes += block.nbytes
            if n_bytes > MOST_BYTES:
                raise ValueError(
                    f"A partition has more than {MOST_BYTES} bytes, and Spark's executors have no disk to write them "
                    "to. Give them local directories that they can write to, or make more partitions of the DataFrame."
                )
            yield _blob(rows=_as_bytes(block), facts=pickle.dumps(facts))
    except Exception as error:
        yield _blob(failure=told(error))


def _blob(**values: bytes) -> Any:
    import pyarrow as pa

    return pa.record_batch({name: pa.array([values.get(name)], pa.binary()) for name in COLUMNS})


def _as_bytes(batch: Any) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def _advance(work: bytes, batches: Iterator[Any]) -> Iterator[Any]:
    opened: Any = None
    for blob in _blobs(batches):
        try:
            if opened is None:
                reading, steps = unpacked(work)
                opened = reading, [unpacked(step) for step in steps]
            partition = _opened(blob, opened[0])
            for step, shared in opened[1]:
                partition.advance(step, shared)
            sink = BytesIO()
            partition.save(sink)
            blob = _with_value(blob, "tags", sink.getvalue())
        except Exception as error:
            blob = _with_value(blob, "failure", told(error))
        yield blob


def _answer(work: bytes, batches: Iterator[Any]) -> Iterator[Any]:
    try:
        reading, question, merge, features = unpacked(work)
        census, found = [], []
        for blob in _blobs(batches):
            census.append(pickle.loads(_value(blob, "facts"))[1])
            found += _opened(blob, reading).answer(question, features=features)
        content = [pickle.dumps(_ToldBlobs(Census.summed(census), merge(found)))] if found else []
    except Exception as error:
        content = [told(error)]
    if content:
        yield answers(content)


def _blobs(batches: Iterator[Any]) -> Iterator[Any]:
    """Record batches of one row each."""
    for batch in batches:
        yield from (batch.slice(position, 1) for position in range(batch.num_rows))


def _value(blob: Any, name: str) -> Any:
    return blob.column(name)[0].as_buffer()  # None for no value


def _with_value(blob: Any, name: str, value: bytes) -> Any:
    import pyarrow as pa

    return blob.set_column(COLUMNS.index(name), name, pa.array([value], pa.binary()))


def _opened(blob: Any, reading: Reading) -> Partition:
    import pyarrow as pa

    failure = _value(blob, "failure")
    if failure is not None:
        raise pickle.loads(failure)
    batches = [reading.prepared(batch) for batch in pa.ipc.open_stream(_value(blob, "rows"))]
    return Partition(batches, reading, _value(blob, "tags"))
