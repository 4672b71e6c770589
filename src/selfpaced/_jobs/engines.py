"""Clusters that a command works on: how they are reached, and the tables that they open."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from selfpaced.exceptions import TableError
from selfpaced.tables import PartitionedTable, open_table
from selfpaced.tables.dask import import_dask
from selfpaced.tables.dask_files import ON_A_CLUSTER, PARQUET, frame_of_pieces, parquet_pieces
from selfpaced.tables.lakes import lake_of
from selfpaced.tables.options import TableOptions

DASK, SPARK = "dask", "spark"
ENGINES = (DASK, SPARK)
SECONDS_TO_ANSWER = 20
_MASTER = re.compile(r"(?:spark|sc)://([^/:;,]+):(\d+)")


@dataclass(frozen=True)
class EngineChoice:
    """The engine that was asked for, and the address of its scheduler or master; None for the one that is around."""

    name: str
    address: str | None


@dataclass(frozen=True)
class Columns:
    """The columns of a table that are not features."""

    target: str
    id: str | None = None
    group: str | None = None
    exclude: Sequence[str] = ()


class Cluster(Protocol):
    """A cluster that answers."""

    name: str

    def open(self, data: str, columns: Columns) -> PartitionedTable:
        """The table in some files that the cluster sees."""


class OnDask:
    """A Dask cluster, by a client of it."""

    name = "Dask"

    def __init__(self, client: Any) -> None:
        self.client = client

    def open(self, data: str, columns: Columns) -> PartitionedTable:
        frame = frame_of_pieces(parquet_pieces(data))
        return _opened(frame, columns, client=self.client)


class OnSpark:
    """A Spark cluster, by a session of it."""

    name = "Spark"

    def __init__(self, session: Any) -> None:
        self.session = session

    def open(self, data: str, columns: Columns) -> PartitionedTable:
        with naming_the_data(data):
            return _opened(self.frame(data), columns)

    def frame(self, data: str) -> Any:
        """A table of the session's catalog, by its name, or Parquet files."""
        if _is_name(data):
            if not self.session.catalog.tableExists(data):
                raise TableError(f"The Spark session has no table {data!r}. Parquet files are named by their path.")
            return self.session.table(data)
        lake = _lake_of(data)
        if lake is not None:
            raise TableError(
                f"{data} is the folder of a {lake}, and its files also hold rows that have been deleted or replaced. "
                "Give the name of the table in the session's catalog."
            )
        return self.session.read.parquet(data)


def _is_name(data: str) -> bool:
    """
    >>> [_is_name(data) for data in ("shop.payments", "payments.parquet", "rows/", "s3a://bucket/rows")]
    [True, False, False, False]
    """
    return re.fullmatch(r"\w+(\.\w+){0,2}", data) is not None and not data.lower().endswith(PARQUET)


def _lake_of(data: str) -> str | None:
    """The kind of lake table that a folder is of, as far as this machine can see."""
    try:
        return lake_of(data)
    except (ImportError, OSError, ValueError):  # a URL that Spark alone knows
        return None


def _opened(frame: Any, columns: Columns, **others: Any) -> PartitionedTable:
    known = list(frame.columns)
    exclude = [part for name in columns.exclude for part in ([name] if name in known else name.split(","))]
    options: TableOptions = {
        "target": columns.target,
        "id": columns.id,
        "group": columns.group,
        "exclude": exclude,
        **others,  # type: ignore[typeddict-item]
    }
    table = open_table(frame, **options)
    assert isinstance(table, PartitionedTable)
    return table


@contextmanager
def cluster_of(choice: EngineChoice) -> Iterator[Any]:
    """The cluster that was asked for, or an error that says why it cannot be reached."""
    with on_dask(choice.address) if choice.name == DASK else on_spark(choice.address) as cluster:
        yield cluster


@contextmanager
def on_dask(address: str | None) -> Iterator[OnDask]:
    if address is None:
        raise TableError("--engine dask needs the address of the scheduler: --scheduler tcp://HOST:8786")
    import_dask()
    from distributed import Client

    try:
        client = Client(address, timeout=SECONDS_TO_ANSWER, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise TableError(f"No Dask scheduler answers at {address}: {error}. Start one: dask scheduler") from error
    try:
        _wait_for_workers(client, address)
        yield OnDask(client)
    finally:
        client.close()


def _wait_for_workers(client: Any, address: str) -> None:
    try:
        client.wait_for_workers(1, timeout=SECONDS_TO_ANSWER)
    except TimeoutError as error:
        raise TableError(
            f"The Dask scheduler at {address} has no workers. Start some: dask worker {address}"
        ) from error


@contextmanager
def on_spark(master: str | None) -> Iterator[OnSpark]:
    """A session with a master, or the one that `spark-submit` or the environment describes. Its own is stopped."""
    try:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise ImportError(f"Spark is not installed ({error}): pip install 'selfpaced[spark]'") from error
    _refuse_unreachable(master)
    running, builder = SparkSession.getActiveSession(), SparkSession.builder.appName("selfpaced")
    if master is not None and master.startswith("sc://"):
        builder = builder.remote(master)
    elif master is not None:
        builder = builder.master(master).config("spark.ui.showConsoleProgress", "false")  # rounds have lines
    try:
        session = builder.getOrCreate()
    except (PySparkException, OSError, RuntimeError) as error:
        where = "" if master is None else f" with {master}"
        raise TableError(
            f"No Spark session could be made{where}: {_first_line(error)} Spark needs Java, and a master that answers."
        ) from error
    try:
        yield OnSpark(session)
    finally:
        if running is None:
            session.stop()


def _refuse_unreachable(master: str | None) -> None:
    """Spark itself would try for a minute, and then show pages of Java."""
    where = None if master is None else _MASTER.match(master)
    if where is None:
        return
    try:
        socket.create_connection((where[1], int(where[2])), timeout=SECONDS_TO_ANSWER).close()
    except OSError as error:
        raise TableError(f"No Spark master answers at {master}: {error}.") from error


@contextmanager
def naming_the_data(data: str) -> Iterator[None]:
    """Spark's errors about files that it cannot find, in one sentence."""
    from pyspark.errors import AnalysisException, PySparkException

    try:
        yield
    except AnalysisException as error:
        raise TableError(f"Spark cannot read {data}: {_first_line(error)} {ON_A_CLUSTER}") from error
    except PySparkException as error:
        if not re.search("FileNotFound|FILE_NOT_EXIST|does not exist", str(error)):
            raise
        raise TableError(f"{data} is not there for a Spark executor. {ON_A_CLUSTER}") from error


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
