"""Questions to partitions and other work on a Spark cluster."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from threading import Lock, Thread
from typing import Any
from uuid import uuid4
from weakref import finalize

from selfpaced.clusters.spark.blobs import BlobEngine, BlobRows
from selfpaced.clusters.spark.messages import (
    Kept,
    answers,
    asked,
    naming_missing_packages,
    packed,
    settle,
    told,
    unpacked,
    without_errors,
)
from selfpaced.clusters.spark.storage import (
    Census,
    NoScratchError,
    Reading,
    Steps,
    Written,
    forget_tags,
    open_partition,
    remove_table,
    write_partition,
)
from selfpaced.pools import Answer, Block, Rows, Tags

JOBS_AT_ONCE = 8  # Spark queues those for which no core is free


class OnSparkExecutors:
    """Sends work to executors, each piece as a job of one task. Spark does again what is lost with an executor."""

    n_at_once = JOBS_AT_ONCE

    def __init__(self, session: Any) -> None:
        self._session = session
        self._waiting = ThreadPoolExecutor(JOBS_AT_ONCE, thread_name_prefix="selfpaced")

    def __call__(self, work: Callable[[], Any]) -> Future[Any]:
        """A promise of what the work gives: `result()` waits for it, and raises what the work raised."""
        return self._waiting.submit(self._result, packed(work))

    def _result(self, work: bytes) -> Any:
        import pyarrow as pa

        rows = pa.table({"work": pa.array([work], pa.large_binary())})
        return asked(self._session.createDataFrame(rows).coalesce(1), _done)[0]


def _done(batches: Iterator[Any]) -> Iterator[Any]:
    for batch in batches:
        for work in batch.column("work"):
            try:
                result = pickle.dumps(unpacked(work.as_py())())
            except Exception as error:
                result = told(error)
            yield answers([result])


WRITTEN = "written binary, facts binary"
# A partition that is not found is asked for again so often: Spark may have moved its task for a moment.
TIMES_ASKED_AGAIN = 2
# How often the rows of a table are written again within one question. Then Spark keeps them in its memory.
TIMES_WRITTEN_AGAIN = 2
TASKS_FOR_ALL = 64
KEPT_IN_MEMORY = "Spark keeps the rows in its own memory instead, and each round takes several times as long."


# The number of a task's partition, and of a row in it. Names of files would not do: Spark may have written them again.
Place = tuple[int, int]


class ScratchRows:
    """The rows of a table in scratch files, which are removed with this object.

    Parameters
    ----------
    source : Any
        A Spark DataFrame with a column `ID`.
    tell : Callable[[Any], Any]
        Asked of blocks of its rows while they are written.

    Attributes
    ----------
    frame : Any
        A frame with one row for each partition.
    attempt : int
        How often the rows have been written again.
    told : Any
        The answers to `tell`.
    census : Census
        The number of rows, and the sum of their keys.
    ended : list[str]
        Fits whose tags nobody needs any more.
    """

    def __init__(self, source: Any, tell: Callable[[Any], Any]) -> None:
        self.name = uuid4().hex
        self.attempt = 0
        self.ended: list[str] = []
        self._source = source
        self._tell = tell
        self._lock = Lock()
        self._blobs: BlobRows | None = None
        self._kept: list[Kept] = []
        # Tasks without rows, enough to reach all executors: what they have written is not known yet.
        self._reached = [source.sparkSession.range(0, TASKS_FOR_ALL, 1, TASKS_FOR_ALL)]
        remove = finalize(self, _remove, self._kept, self._reached, self.name)
        remove.atexit = False
        self._write()
        try:
            with naming_missing_packages():
                rows = self._kept[0].frame.collect()
        except BaseException:
            remove()  # errors of PySpark may hold this object for a long time
            raise
        self._reached[0] = self.frame
        written = without_errors([pickle.loads(row.written) for row in rows])
        self.told = [fact for row in rows if row.facts is not None for fact in pickle.loads(row.facts)]
        self.census = Census.summed(one.census for one in written)

    def write_again(self, attempt: int) -> None:
        """Write all rows again, if nobody has done so since an attempt."""
        with self._lock:
            if self.attempt == attempt:
                self.attempt += 1
                self._write()
                self._reached[0] = self.frame

    def as_blobs(self, reason: str) -> BlobRows:
        """The rows in Spark's memory, for executors that cannot keep files."""
        with self._lock:
            if self._blobs is None:
                warnings.warn(f"{reason} {KEPT_IN_MEMORY}", RuntimeWarning, stacklevel=2)
                self._blobs = BlobRows(self._source, self._tell)
                self.census.require(self._blobs.census)
        return self._blobs

    def _write(self) -> None:
        # With the number of the attempt, or Spark would know the frame, and serve what it has kept of it.
        work = packed((self._tell, self.name, self.attempt))
        self._kept[:] = [Kept(self._source.mapInArrow(partial(_write, work), WRITTEN))]
        self.frame = self._kept[0].frame.select("written")


def _remove(kept: list[Kept], reached: list[Any], name: str) -> None:
    """Remove the files of a table, and forget where they were.

    In a thread of its own: this one may be in the middle of a talk with Spark, which cannot be interrupted.
    """

    def remove() -> None:
        with suppress(Exception):  # a session that has ended has removed its local directories
            asked(reached[0], partial(_leave, name))

    thread = Thread(target=remove, name="selfpaced: remove scratch files")
    thread.start()
    thread.join()
    kept.clear()


class ScratchEngine:
    """Asks the rows of a table. Steps travel with the next question, and are taken by the same job.

    Parameters
    ----------
    rows : ScratchRows
        The table.
    reading : Reading
        How its rows are read.
    stacked : Callable[[Sequence[Rows]], Rows]
        The rows of several blocks as one's.
    """

    def __init__(self, rows: ScratchRows, reading: Reading, stacked: Callable[[Sequence[Rows]], Rows]) -> None:
        self._rows = rows
        self._reading = reading
        self._stacked = stacked
        self._fit = uuid4().hex
        self._steps: list[bytes] = []
        self._n_done = 0
        self._blobs: BlobEngine | None = None
        finalize(self, rows.ended.append, self._fit).atexit = False

    def ask(
        self,
        question: Callable[[Block], Answer],
        merge: Callable[[Sequence[Answer]], Answer],
        *,
        features: bool,
    ) -> Answer:
        if self._blobs is None:
            try:
                found = self._found(packed((self._reading, question, merge)), features=features)
                self._n_done = len(self._steps)
                return merge([one.answer for one in found])
            except NoScratchError as error:
                blobs = self._rows.as_blobs(str(error))
                self._blobs = BlobEngine(blobs, self._reading, self._stacked, self._steps)
        return self._blobs.ask(question, merge, features=features)

    def advance(self, step: Callable[..., Tags], *shared: Any) -> None:
        if self._blobs is None:
            self._steps.append(packed((step, shared)))
        else:
            self._blobs.advance(step, *shared)

    def stacked(self, parts: Sequence[Rows]) -> Rows:
        return self._stacked(parts)

    def _found(self, work: bytes, *, features: bool) -> Sequence[_Told]:
        """The answers of all partitions, of some perhaps after their rows have been written again."""
        for _ in range(1 + TIMES_WRITTEN_AGAIN):
            attempt = self._rows.attempt
            heard = self._heard(work, features=features)
            if heard is not None:
                self._rows.census.require(Census.summed(one.census for one in heard))
                return heard
            self._rows.write_again(attempt)
        raise NoScratchError(
            "Spark's executors do not find the rows that they wrote to their local directories. If nobody removes "
            "files there, set spark.locality.wait to some seconds: tasks then wait for the executor with their rows."
        )

    def _heard(self, work: bytes, *, features: bool) -> Sequence[_Told] | None:
        """The answers of all partitions; None if the rows of some are not found."""
        ended = tuple(self._rows.ended)
        asking = _Asking(work, self._steps_since(self._n_done), features, None, ended)
        heard: dict[Place, _Told] = {}
        for _ in range(1 + TIMES_ASKED_AGAIN):
            heard |= {one.place: one for one in asked(self._rows.frame, partial(_answer, packed(asking)))}
            missing = frozenset(place for place, one in heard.items() if one.is_missing)
            if not missing:
                del self._rows.ended[: len(ended)]
                return list(heard.values())
            asking = _Asking(work, self._steps_since(0), features, missing, ())
        return None

    def _steps_since(self, n_done: int) -> Steps:
        return Steps(self._fit, n_done, self._steps[n_done:])


@dataclass(frozen=True)
class _Asking:
    """A question on its way to the executors.

    Attributes
    ----------
    work : bytes
        How rows are read, the question, and how answers are merged.
    only : frozenset[Place] | None
        The partitions that are asked; None for all.
    ended : tuple[str, ...]
        Fits whose tags are removed.
    """

    work: bytes
    steps: Steps
    features: bool
    only: frozenset[Place] | None
    ended: tuple[str, ...]


@dataclass(frozen=True)
class _Told:
    """The answer of a partition."""

    place: Place
    census: Census
    answer: Any
    is_missing: bool = False


def _number_of_partition() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return int(context.partitionId())


def _write(work: bytes, batches: Iterator[Any]) -> Iterator[Any]:
    """Write the rows of a partition, and tell where. An error is told by whoever asks."""
    import pyarrow as pa

    facts = None
    try:
        tell, table, attempt = unpacked(work)
        done = write_partition(batches, tell, table, attempt, _number_of_partition())
        if done is None:
            return
        written, facts = map(pickle.dumps, done)
    except Exception as error:
        written = told(error)
    settle()
    yield pa.record_batch({"written": pa.array([written], pa.binary()), "facts": pa.array([facts], pa.binary())})


def _answer(asking: bytes, batches: Iterator[Any]) -> Iterator[Any]:
    try:
        content = [pickle.dumps(one) for one in _answers(pickle.loads(asking), batches)]
    except Exception as error:
        content = [told(error)]
    if content:
        yield answers(content)


def _answers(asking: _Asking, batches: Iterator[Any]) -> Iterator[_Told]:
    number = _number_of_partition()
    for position, written in enumerate(_partitions(batches)):
        place = (number, position)
        if asking.only is None or place in asking.only:
            for fit in asking.ended:
                forget_tags(written.path, fit)
            reading, question, merge = unpacked(asking.work)
            partition = open_partition(written, reading, asking.steps)
            if partition is None:
                yield _Told(place, written.census, None, is_missing=True)
            else:
                parts = partition.answer(question, features=asking.features)
                yield _Told(place, written.census, merge(parts))


def _partitions(batches: Iterator[Any]) -> Iterator[Written]:
    for batch in batches:
        for content in batch.column(0).to_pylist():
            written = pickle.loads(content)
            if isinstance(written, Exception):
                raise written
            yield written


def _leave(table: str, batches: Iterator[Any]) -> Iterator[Any]:
    """Remove the files of a table."""
    for _ in batches:
        remove_table(table)
    yield from ()
