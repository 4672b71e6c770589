"""Questions to partitions, and other work, on a Spark cluster."""

from __future__ import annotations

import gc
import pickle
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from threading import Lock, Thread
from typing import Any
from uuid import uuid4
from weakref import finalize

from pyspark import TaskContext, cloudpickle

from selfpaced.clusters.partitions import in_order_of_ids
from selfpaced.clusters.spark import storage
from selfpaced.clusters.spark.storage import Census, Steps
from selfpaced.exceptions import TableError, pa
from selfpaced.pools import Answer, Question, Tags

# A partition that is not found is asked for again so often: Spark may have moved its task for a moment.
TIMES_ASKED_AGAIN = 2
# How often the rows of a table are written again within one question.
TIMES_WRITTEN_AGAIN = 2
TASKS_FOR_ALL = 64

# The number of a task's partition, and of a row in it. Names of files would not do: Spark may have written them again.
Place = tuple[int, int]


def pack(work: Any) -> bytes:
    """Bytes, which an executor loads where it can report errors: the base model's package may be missing there."""
    return cloudpickle.dumps(work)  # type: ignore[no-any-return]


def pack_error(error: Exception) -> bytes:
    """An error as an answer to the driver; a `RuntimeError` with its text if it cannot be pickled."""
    if isinstance(error, ModuleNotFoundError):
        error = _not_installed(error.name)
    error.add_note("Raised on a Spark executor.")
    try:
        content = pickle.dumps(error)
        pickle.loads(content)
    except Exception:
        content = pickle.dumps(RuntimeError(f"{type(error).__name__} on a Spark executor: {error}"))
    return content


def _not_installed(package: str | None) -> ImportError:
    return ImportError(
        f"A Spark executor's Python has no module {package!r}. Install the package in the executors' environment, the "
        "same version as here.",
        name=package,
    )


@contextmanager
def naming_missing_packages() -> Iterator[None]:
    """An executor without this package cannot report that itself: the package is named in the error of Spark."""
    try:
        yield
    except Exception as error:
        missing = re.search(r"No module named '([\w.]+)'", str(error))
        if missing is None:
            raise
        raise _not_installed(missing[1]) from error


def ask_executors(frame: Any, work: Callable[[Iterator[Any]], Iterator[Any]]) -> list[Any]:
    """Everything that `work` answers for the partitions. An error is raised as it was raised there.

    Executors return errors as answers. If they raised them, Spark would try again several times.
    """
    with naming_missing_packages():
        rows = frame.mapInArrow(work, "answer binary").collect()
    return raise_errors([pickle.loads(row.answer) for row in rows])


def raise_errors(answers: list[Any]) -> list[Any]:
    """The answers of executors, if none of them is an error."""
    for answer in answers:
        if isinstance(answer, Exception):
            try:
                raise answer
            finally:
                del answer, answers  # or the error would hold itself, and with it everything that led here
    return answers


_n_modules_frozen = 0


def freeze_imports() -> None:
    """Exclude all that a Python worker has imported from the garbage collection after every task.

    With pandas and a base model's package loaded, the collection takes most of the time of a small task.
    """
    global _n_modules_frozen
    if len(sys.modules) > _n_modules_frozen:
        gc.collect()
        gc.freeze()
        _n_modules_frozen = len(sys.modules)


class Kept:
    """A frame that the cluster keeps as long as this object exists.

    It has a name in the session: a Connect session sends how a frame is made with every question about it, and a name
    is shorter. Spark itself remembers it, and computes partitions again that are lost with an executor.
    """

    def __init__(self, frame: Any) -> None:
        name, session = f"selfpaced_{uuid4().hex}", frame.sparkSession
        frame.createOrReplaceTempView(name)
        self.frame = session.table(name).persist()
        finalize(self, _release, session, name).atexit = False


def _release(session: Any, name: str) -> None:
    with suppress(Exception):  # a session that has ended keeps nothing
        session.catalog.dropTempView(name)  # which also drops its rows


class StoredRows:
    """The rows of a DataFrame with a column `ID`, in files of the executors, which are removed with this object.

    `frame` has one row for each partition. `facts` are the results of `facts_of` for blocks of the rows, and `census`
    is the number of rows with the sum of their keys.
    """

    def __init__(self, source: Any, facts_of: Callable[[Any, str], Any]) -> None:
        self.name = uuid4().hex
        self.attempt = 0  # how often the rows have been written again
        self.ended: list[str] = []  # fits that have ended, whose tags can be removed
        self._source = source
        self._facts_of = facts_of
        self._lock = Lock()
        self._kept: list[Kept] = []
        # Tasks without rows, enough to reach all executors: what they have written is not known yet.
        self._everywhere = source.sparkSession.range(0, TASKS_FOR_ALL, 1, TASKS_FOR_ALL)
        self._reached = [self._everywhere]
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
        written = raise_errors([pickle.loads(row.written) for row in rows])
        self.facts = [fact for row in rows if row.facts is not None for fact in pickle.loads(row.facts)]
        self.census = Census.summed(one.census for one in written)

    def write_again(self, attempt: int) -> None:
        """Write all rows again, unless that has been done since an attempt."""
        with self._lock:
            if self.attempt == attempt:
                self.attempt += 1
                self._write()
                self._reached[0] = self._everywhere  # an executor without partitions may have files of an old attempt

    def _write(self) -> None:
        # With the number of the attempt, or Spark would know the frame, and serve what it has kept of it.
        work = pack((self._facts_of, self.name, self.attempt))
        self._kept[:] = [Kept(self._source.mapInArrow(partial(_write, work), "written binary, facts binary"))]
        self.frame = self._kept[0].frame.select("written")


def _remove(kept: list[Kept], reached: list[Any], name: str) -> None:
    """Remove the files of a table, and forget where they were.

    In a thread of its own: this one may be in the middle of a call to Spark, which cannot be interrupted.
    """

    def remove() -> None:
        with suppress(Exception):  # a session that has ended has removed its local directories
            ask_executors(reached[0], partial(_remove_files, name))

    thread = Thread(target=remove, name="selfpaced: remove scratch files")
    thread.start()
    thread.join()
    kept.clear()


class SparkEngine:
    """Asks the rows of a table. Steps are sent with the next question, and are taken by the same job."""

    stacked = staticmethod(in_order_of_ids)

    def __init__(self, rows: StoredRows, reading: Any) -> None:
        self._rows = rows
        self._reading = reading  # `PreparedBatches` of the table
        self._fit = uuid4().hex
        self._steps: list[bytes] = []
        self._n_done = 0
        finalize(self, rows.ended.append, self._fit).atexit = False

    def ask(self, question: Question[Answer]) -> Answer:
        """Ask all partitions, of some perhaps after their rows have been written again."""
        work = pack((self._reading, question))
        for _ in range(1 + TIMES_WRITTEN_AGAIN):
            attempt = self._rows.attempt
            answers = self._ask(work)
            if answers is not None:
                self._rows.census.require(Census.summed(one.census for one in answers))
                self._n_done = len(self._steps)
                return question.merge([one.content for one in answers])
            self._rows.write_again(attempt)
        raise TableError(
            "Spark's executors do not find the rows that they wrote to their local directories. If nobody removes "
            "files there, set spark.locality.wait to some seconds: tasks then wait for the executor with their rows."
        )

    def advance(self, step: Callable[..., Tags], *shared: Any) -> None:
        self._steps.append(pack((step, shared)))

    def _ask(self, work: bytes) -> Sequence[PartitionAnswer] | None:
        """The answers of all partitions; None if the rows of some are not found."""
        ended = tuple(self._rows.ended)
        question = PackedQuestion(work, Steps(self._fit, self._n_done, self._steps[self._n_done :]), None, ended)
        answers: dict[Place, PartitionAnswer] = {}
        for _ in range(1 + TIMES_ASKED_AGAIN):
            found = ask_executors(self._rows.frame, partial(_answer, pack(question)))
            answers |= {one.place: one for one in found}
            missing = frozenset(place for place, one in answers.items() if one.is_missing)
            if not missing:
                del self._rows.ended[: len(ended)]
                return list(answers.values())
            question = PackedQuestion(work, Steps(self._fit, 0, self._steps), missing, ())
        return None


@dataclass(frozen=True)
class PackedQuestion:
    """A question that is sent to the executors."""

    work: bytes  # how rows are read, and the question
    steps: Steps
    only: frozenset[Place] | None  # the partitions that are asked; None for all
    ended: tuple[str, ...]  # fits whose tags are removed


@dataclass(frozen=True)
class PartitionAnswer:
    """The answer of a partition."""

    place: Place
    census: Census
    content: Any = None
    is_missing: bool = False


def _partition_number() -> int:
    """The number of the partition that this task works on."""
    context = TaskContext.get()
    assert context is not None
    return int(context.partitionId())


def _write(work: bytes, batches: Iterator[Any]) -> Iterator[Any]:
    """Write a partition and yield its location. Errors are stored, and raised by the next question."""
    facts = None
    try:
        facts_of, table, attempt = pickle.loads(work)
        done = storage.write_partition(batches, facts_of, table, attempt, _partition_number())
        if done is None:
            return
        written, facts = map(pickle.dumps, done)
    except Exception as error:
        written = pack_error(error)
    freeze_imports()
    yield pa.record_batch({"written": pa.array([written], pa.binary()), "facts": pa.array([facts], pa.binary())})


def _answer(question: bytes, batches: Iterator[Any]) -> Iterator[Any]:
    try:
        content = [pickle.dumps(one) for one in _answers(pickle.loads(question), batches)]
    except Exception as error:
        content = [pack_error(error)]
    if content:
        freeze_imports()
        yield pa.record_batch({"answer": pa.array(content, pa.binary())})


def _answers(asked: PackedQuestion, batches: Iterator[Any]) -> Iterator[PartitionAnswer]:
    number = _partition_number()
    contents = [content for batch in batches for content in batch.column(0).to_pylist()]
    for position, written in enumerate(raise_errors(list(map(pickle.loads, contents)))):
        place = (number, position)
        if asked.only is not None and place not in asked.only:
            continue
        for fit in asked.ended:
            storage.forget_tags(written.path, fit)
        reading, question = pickle.loads(asked.work)
        partition = storage.open_partition(written, reading, asked.steps)
        if partition is None:
            yield PartitionAnswer(place, written.census, is_missing=True)
        else:
            yield PartitionAnswer(place, written.census, question.merge(partition.answers(question)))


def _remove_files(table: str, batches: Iterator[Any]) -> Iterator[Any]:
    for _ in batches:
        storage.remove_table(table)
    yield from ()
