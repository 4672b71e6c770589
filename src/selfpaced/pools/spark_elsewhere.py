"""Work that is done on the executors of a Spark cluster, side by side."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from selfpaced.pools.spark import answers, asked, packed, told, unpacked

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
