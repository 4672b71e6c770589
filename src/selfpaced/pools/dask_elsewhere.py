"""Work that is done on the workers of a Dask cluster, side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from selfpaced.pools.dask import received

WARNS_OF_TASKS_ABOVE = "distributed.admin.large-graph-warning-threshold"


class OnDaskWorkers:
    """Sends work to workers, one piece for each of their threads. Work that is lost with a worker is done again."""

    def __init__(self, client: Any) -> None:
        self._client = client

    @property
    def n_at_once(self) -> int:
        """The number of pieces of work that the workers do at the same time."""
        n_threads: int = sum(self._client.nthreads().values())
        return max(1, n_threads)

    def __call__(self, work: Callable[[], Any]) -> Any:
        """A promise of what the work gives: `result()` waits for it, and raises what the work raised."""
        import cloudpickle
        import dask

        # Dask advises against large tasks. But data that are sent ahead of a task are lost with their worker, and
        # then the task cannot be repeated.
        with dask.config.set({WARNS_OF_TASKS_ABOVE: "1 PB"}):
            return self._client.submit(_done, cloudpickle.dumps(work), pure=False)


def _done(work: bytes) -> Any:
    return received(work)()
