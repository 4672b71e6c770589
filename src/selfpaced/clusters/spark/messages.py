"""How the driver and the executors of Spark talk."""

from __future__ import annotations

import gc
import pickle
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from uuid import uuid4
from weakref import finalize

# What an executor does with the record batches of a partition.
OnBatches = Callable[[Iterator[Any]], Iterator[Any]]


ANSWER = "answer binary"


class Kept:
    """A frame that the cluster keeps as long as somebody here holds this object.

    It has a name in the session: a Connect session sends how a frame is made with every question about it, and a name
    is shorter. Spark itself remembers it, and makes partitions again that are lost with an executor.
    """

    def __init__(self, frame: Any) -> None:
        name, session = f"selfpaced_{uuid4().hex}", frame.sparkSession
        frame.createOrReplaceTempView(name)
        self.frame = session.table(name).persist()
        finalize(self, _release, session, name).atexit = False


def _release(session: Any, name: str) -> None:
    with suppress(Exception):  # a session that has ended keeps nothing
        session.catalog.dropTempView(name)  # which also lets go of its rows


def asked(frame: Any, work: OnBatches) -> list[Any]:
    """What executors tell: everything that `work` makes of the partitions. An error is raised as it was raised there.

    Executors tell errors as answers. If they raised them, Spark would try again several times.
    """
    with naming_missing_packages():
        told = frame.mapInArrow(work, ANSWER).collect()
    return without_errors([pickle.loads(row.answer) for row in told])


def without_errors(answers: list[Any]) -> list[Any]:
    """What executors tell. The first error is raised."""
    for answer in answers:
        if isinstance(answer, Exception):
            try:
                raise answer
            finally:
                del answer, answers  # or the error would hold itself, and with it everything that led here
    return answers


_n_modules_settled = 0


def settle() -> None:
    """Spare a Python worker the search of all that it has imported, which it makes after every task, for garbage.

    With pandas and a base model's package loaded, the search is most of the time of a small task.
    """
    global _n_modules_settled
    if len(sys.modules) > _n_modules_settled:
        gc.collect()
        gc.freeze()
        _n_modules_settled = len(sys.modules)


def answers(told: Sequence[bytes]) -> Any:
    """Answers of an executor as a record batch."""
    import pyarrow as pa

    settle()
    return pa.record_batch({"answer": pa.array(told, pa.binary())})


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


def told(error: Exception) -> bytes:
    """An error on its way to the driver; in plain words if it cannot travel."""
    error.add_note("This happened on a Spark executor.")
    try:
        content = pickle.dumps(error)
        pickle.loads(content)
    except Exception:
        content = pickle.dumps(RuntimeError(f"{type(error).__name__} on a Spark executor: {error}"))
    return content
