"""Questions to partitions, and other work, on a Dask cluster."""

import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from selfpaced.clusters.partitions import in_order_of_ids
from selfpaced.pools import Answer, Block, Question, RowsOnDemand, Tags
from selfpaced.tables import Elsewhere

WARNS_OF_TASKS_ABOVE = "distributed.admin.large-graph-warning-threshold"


class DaskEngine:
    """Partitions as futures: the rows, which stay as they are, and their tags, which every round replaces.

    The scheduler remembers how old tags were made, so that those of a lost worker can be made again.
    """

    stacked = staticmethod(in_order_of_ids)

    def __init__(self, client: Any, rows: Sequence[Any], tags: Sequence[Any]) -> None:
        self._client = client
        self._rows = list(rows)
        self._tags = list(tags)

    def ask(self, question: Question[Answer]) -> Answer:
        rows = self._rows if question.features else [None] * len(self._rows)
        answers = self._client.map(_answer, [question] * len(rows), rows, self._tags, pure=False)
        with naming_the_cluster():
            return question.merge(self._client.gather(answers))

    def advance(self, step: Callable[..., Tags], *shared: Any) -> None:
        """What is shared is the result of a task, not scattered data: it can be made again if its worker dies."""
        every = [[send(self._client, one)] * len(self._rows) for one in shared]
        self._tags = self._client.map(_advance, [step] * len(self._rows), self._rows, self._tags, *every, pure=False)


def _answer(question: Question[Answer], rows: RowsOnDemand | None, tags: Tags) -> Answer:
    return question(Block(tags, rows))


def _advance(step: Callable[..., Tags], rows: RowsOnDemand, tags: Tags, *shared: Any) -> Tags:
    return step(Block(tags, rows), *shared)


def on_dask_workers(client: Any) -> Elsewhere:
    """Sends work to workers, one piece for each of their threads. Work that is lost with a worker is done again."""
    return Elsewhere(lambda: max(1, sum(client.nthreads().values())), lambda work: send(client, work, _work))


def _work(content: bytes) -> Any:
    return receive(content)()


def send(client: Any, thing: Any, use: Callable[[bytes], Any] | None = None) -> Any:
    """A future of an object, or of what a function makes of it. It is sent as bytes, which the scheduler need not read.

    It is a task, not scattered data: these would be lost with their worker, and the tasks that need them not repeated.
    """
    import cloudpickle
    import dask

    with dask.config.set({WARNS_OF_TASKS_ABOVE: "1 PB"}):  # Dask advises against large tasks
        return client.submit(use or receive, cloudpickle.dumps(thing), pure=False)


def receive(content: bytes) -> Any:
    """An object that was sent to a worker. The error of a missing package names the worker."""
    from distributed import get_worker

    try:
        return pickle.loads(content)
    except ImportError as error:
        raise ImportError(
            f"The Dask worker {get_worker().address} cannot read the model: {error}. Install the package in the "
            "workers' environment."
        ) from error


@contextmanager
def naming_the_cluster() -> Iterator[None]:
    """Errors of tasks say where they come from."""
    try:
        yield
    except Exception as error:
        error.add_note("Raised on a Dask worker or while sending work to it.")
        raise
