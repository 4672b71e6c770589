"""The engine that asks the partitions of a Spark DataFrame."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from uuid import uuid4
from weakref import finalize

import numpy as np

from selfpaced.pools.blocks import Block, Tags
from selfpaced.pools.keys import Ids
from selfpaced.pools.partitioned import Answer
from selfpaced.pools.rows import Rows, RowSource

ID, CLASS, DOUBT, FAILURE = (f"__selfpaced_{tag}__" for tag in ("id", "class", "doubt", "failure"))
TAGS = (ID, CLASS, DOUBT, FAILURE)
# How many frames may be made of each other: Spark writes down the whole chain for every job, and writes deeper into its
# stack with each. At sixty it has been seen to overflow.
LONGEST_CHAIN = 40
MOST_IDS_IN_A_PLAN = 10_000
Read = Callable[[Any], RowSource]  # the features of a record batch, and what else goes with each row


class Kept:
    """A frame that the cluster keeps as long as somebody here holds this object.

    It has a name in the session: a Connect session sends how a frame is made with every question about it, and a name
    is shorter than all the models that have been folded in. Spark itself remembers it, and makes partitions again that
    are lost with an executor.
    """

    def __init__(self, frame: Any) -> None:
        name, session = f"selfpaced_{uuid4().hex}", frame.sparkSession
        frame.createOrReplaceTempView(name)
        self.frame = session.table(name).persist()
        finalize(self, _release, session, name).atexit = False


def _release(session: Any, name: str) -> None:
    with suppress(Exception):  # a session that has ended keeps nothing
        session.catalog.dropTempView(name)  # which also lets go of its rows


class SparkEngine:
    """A frame of features and tags. Every step makes another of it, with new tags; the old one is then let go.

    Where too many would hang together, the next is made of the first by all steps so far.

    Parameters
    ----------
    source : what the rows are made of, kept while they are asked.
    frame : its features and `TAGS`, of rows that no model has seen.
    read : reads the rows of a record batch.
    stacked : the rows of several blocks as one's.
    """

    def __init__(self, source: Kept, frame: Any, read: Read, stacked: Callable[[Sequence[Rows]], Rows]) -> None:
        self._source = source
        self._first = self._frame = frame
        self._read = read
        self._stacked = stacked
        self._steps: list[bytes] = []
        self._kept: list[Kept] = []

    def ask(
        self,
        question: Callable[[Block], Answer],
        merge: Callable[[Sequence[Answer]], Answer],
        *,
        features: bool,
        among: Ids | None = None,
    ) -> Answer:
        frame = self._frame if features else self._frame.select(*TAGS)
        if among is not None:
            frame = _only(frame, among)
        answer = merge(gathered(frame, _Asked(question, self._read if features else None), merge))
        del self._kept[:-1]  # the newest frame has been made whole to answer
        return answer

    def advance(self, step: Callable[..., Tags], *shared: Any) -> None:
        self._steps.append(packed((_Advanced(step, self._read), shared)))
        before, steps = self._frame, self._steps[-1:]
        if len(self._steps) % LONGEST_CHAIN == 0:
            before, steps = self._first, self._steps
        self._kept.append(Kept(before.mapInArrow(_steps(steps), before.schema)))
        self._frame = self._kept[-1].frame

    def stacked(self, parts: Sequence[Rows]) -> Rows:
        return self._stacked(parts)


def _only(frame: Any, ids: Ids) -> Any:
    """The rows with certain ids: Spark finds them much faster than it hands all rows to Python."""
    import pandas as pd
    from pyspark.sql import functions as sf

    signed = ids.astype(np.uint64).view(np.int64)
    if signed.size <= MOST_IDS_IN_A_PLAN:
        return frame.filter(sf.col(ID).isin(signed.tolist()))
    chosen = frame.sparkSession.createDataFrame(pd.DataFrame({ID: signed}))
    return frame.join(sf.broadcast(chosen), ID, "left_semi").select(*frame.columns)


def gathered(frame: Any, work: Callable[[Any], Answer], merge: Callable[[Sequence[Answer]], Answer]) -> list[Answer]:
    """One answer of each partition that has rows: `work` of its record batches, merged.

    An error is an answer, too. It is raised here as it was raised there, and not after several more attempts.
    """
    with naming_missing_packages():
        told = frame.mapInArrow(_answers(packed((work, merge))), "answer binary").collect()
    answers = [pickle.loads(row.answer) for row in told]
    for answer in answers:
        if isinstance(answer, Exception):
            raise answer
    return answers


@contextmanager
def naming_missing_packages() -> Iterator[None]:
    """An executor that lacks this package cannot even say so by itself: Spark shows where its Python gave up."""
    try:
        yield
    except Exception as error:
        missing = re.search(r"No module named '([\w.]+)'", str(error))
        if missing is None:
            raise
        raise _not_installed(missing[1]) from error


def _not_installed(package: str | None) -> ImportError:
    return ImportError(
        f"A Spark executor's Python has no module {package!r}. Install the package in the executors' environment, the "
        "same version as here.",
        name=package,
    )


def packed(work: Any) -> bytes:
    """Bytes, which an executor opens where its errors can be told: the base model's package may not be there."""
    from pyspark import cloudpickle

    return cloudpickle.dumps(work)  # type: ignore[no-any-return]


def unpacked(work: bytes) -> Any:
    try:
        return pickle.loads(work)
    except ModuleNotFoundError as error:
        raise _not_installed(error.name) from error


def _answers(work: bytes) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def answers(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        try:
            each, merge = unpacked(work)
            found = [each(batch) for batch in batches if batch.num_rows]
            told = [pickle.dumps(merge(found))] if found else []
        except Exception as error:
            told = [_told(error)]
        if told:
            yield pa.record_batch({"answer": pa.array(told, pa.binary())})

    return answers


def _steps(works: Sequence[bytes]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    works = list(works)

    def steps(batches: Iterator[Any]) -> Iterator[Any]:
        opened: list[Any] = []
        for batch in batches:
            try:
                opened = opened or [unpacked(work) for work in works]
                for each, shared in opened:
                    batch = each(batch, *shared)
            except Exception as error:
                batch = _failed(batch, error)
            yield batch

    return steps


class _Asked:
    """A question about the blocks of record batches."""

    def __init__(self, question: Callable[[Block], Any], read: Read | None) -> None:
        self._question = question
        self._read = read

    def __call__(self, batch: Any) -> Any:
        return self._question(_block(batch, self._read))


class _Advanced:
    """A step that gives record batches new tags."""

    def __init__(self, step: Callable[..., Tags], read: Read) -> None:
        self._step = step
        self._read = read

    def __call__(self, batch: Any, *shared: Any) -> Any:
        import pyarrow as pa

        tags = self._step(_block(batch, self._read), *shared)
        batch = _with_column(batch, CLASS, pa.array(tags.classes.astype(np.int16)))
        return _with_column(batch, DOUBT, pa.array(tags.doubt_sum))


def _block(batch: Any, read: Read | None) -> Block:
    failures = batch.column(FAILURE).drop_null()
    if len(failures):
        raise pickle.loads(failures[0].as_py())
    ids = batch.column(ID).to_numpy().view(np.uint64)  # Spark's numbers are signed: the same bits
    tags = Tags(ids, batch.column(CLASS).to_numpy().astype(np.uint8), batch.column(DOUBT).to_numpy())
    return Block(tags, None if read is None else read(batch))


def _failed(batch: Any, error: Exception) -> Any:
    """The batch with an error to be told by whoever asks next. Raised at once, Spark would only show it as text."""
    import pyarrow as pa

    return _with_column(batch, FAILURE, pa.array([_told(error), *[None] * (batch.num_rows - 1)], pa.binary()))


def _with_column(batch: Any, name: str, values: Any) -> Any:
    return batch.set_column(batch.schema.get_field_index(name), name, values)


def _told(error: Exception) -> bytes:
    """An error on its way to the driver; in plain words if it cannot travel."""
    error.add_note("This happened on a Spark executor.")
    try:
        told = pickle.dumps(error)
        pickle.loads(told)
    except Exception:
        told = pickle.dumps(RuntimeError(f"{type(error).__name__} on a Spark executor: {error}"))
    return told
