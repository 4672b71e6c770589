"""Clusters in the place of this machine: connecting, opening tables, training data, and writing scores."""

from __future__ import annotations

import re
import socket
from argparse import Namespace
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from selfpaced.cli.columns import Floats, Mask
from selfpaced.cli.commands.predict import Predicted
from selfpaced.cli.commands.train import OpenData, check_enough
from selfpaced.cli.opening import TableFacts, excluded
from selfpaced.cli.request import TrainRequest
from selfpaced.cli.splitting import TrainingData, check_share
from selfpaced.clusters import ON_A_CLUSTER, PartitionedTable, cluster_scores, hold_out, sample_rows, worker_model
from selfpaced.clusters.dask import PARQUET, Piece, frame_of_pieces, import_dask, parquet_pieces
from selfpaced.exceptions import TableError
from selfpaced.persistence import DataRecord
from selfpaced.predicting import score_columns
from selfpaced.storage import located, private_folder, whole_file, write_whole
from selfpaced.tables import Progress, SplitPlan, stack
from selfpaced.tables.sources import lake_of, open_table, refuse_taken

SECONDS_TO_ANSWER = 20
_MASTER = re.compile(r"(?:spark|sc)://([^/:;,]+):(\d+)")


def cluster_of(options: Namespace) -> AbstractContextManager[OnDask | OnSpark]:
    return on_dask(options.scheduler) if options.engine == "dask" else on_spark(options.master)


@contextmanager
def data_on_cluster(options: Namespace) -> Iterator[OpenData]:
    """What opens and splits rows on the cluster that was asked for."""
    check_share(options.holdout)
    with cluster_of(options) as cluster:
        yield partial(_training_data, cluster)


def _training_data(cluster: OnDask | OnSpark, request: TrainRequest, progress: Progress | None) -> TrainingData:
    """The table in some files that the cluster sees, split by a hash of its rows."""
    source = str(request.source)
    with cluster.naming_the_data(source):
        frame = cluster.frame(source)
        exclude = excluded(request.exclude, list(frame.columns))
        roles: dict[str, Any] = {"target": request.target, "id_column": request.id, "group_column": request.group}
        table = open_table(frame, **roles, exclude=exclude, **cluster.options)
    assert isinstance(table, PartitionedTable)
    assert table.schema is not None
    check_enough(table.labels(), request.target)
    train, test = hold_out(table, request.holdout, request.seed)
    n_train, n_rows = (int(some.labels().counts.sum()) for some in (train, table))
    data = DataRecord((source,), n_rows, None, {name: None for name in frame.columns if name not in exclude})
    return ClusterData(train, test, TableFacts(table.labels(), table.schema, n_train, data=data))


@dataclass(frozen=True)
class ClusterData(TrainingData):
    """Rows on a cluster. The scores of all test rows come to this machine, and samples of rows."""

    def scores(self, model: Any) -> tuple[Mask, Floats]:
        return cluster_scores(model, self.test)

    def rare_and_others(self, model: Any, n_others: int, seed: int) -> tuple[Any, Mask]:
        split = self.train.split(SplitPlan(seed, 1, n_others, 0, lambda n_read, n_rows: None))
        drawn = (pool.draw([min(n_others, pool.n_rows)], 0) for pool in split.pools.values())
        rows = stack([split.minority, *drawn])
        return rows.features, np.arange(len(rows)) < len(split.minority)

    def some_test_rows(self, n_rows: int, seed: int) -> Any:
        return sample_rows(self.test, n_rows, seed).features


class OnDask:
    def __init__(self, client: Any) -> None:
        self.client = client
        self.options: dict[str, Any] = {"client": client}

    def frame(self, data: str) -> Any:
        return frame_of_pieces(parquet_pieces(data))

    def naming_the_data(self, data: str) -> AbstractContextManager[None]:
        return nullcontext()


class OnSpark:
    def __init__(self, session: Any) -> None:
        self.session = session
        self.options: dict[str, Any] = {}

    def frame(self, data: str) -> Any:
        """A table of the session's catalog, by its name, or Parquet files."""
        if _is_name(data):
            if not self.session.catalog.tableExists(data):
                raise TableError(f"The Spark session has no table {data!r}. Parquet files are named by their path.")
            return self.session.table(data)
        lake = None
        with suppress(ImportError, OSError, ValueError):  # a URL that Spark alone knows
            lake = lake_of(data)
        if lake is not None:
            raise TableError(
                f"{data} is the folder of a {lake}, and its files also hold rows that have been deleted or replaced. "
                "Give the name of the table in the session's catalog."
            )
        return self.session.read.parquet(data)

    @contextmanager
    def naming_the_data(self, data: str) -> Iterator[None]:
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


def _is_name(data: str) -> bool:
    """
    >>> [_is_name(data) for data in ("shop.payments", "payments.parquet", "rows/", "s3a://bucket/rows")]
    [True, False, False, False]
    """
    return re.fullmatch(r"\w+(\.\w+){0,2}", data) is not None and not data.lower().endswith(PARQUET)


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
        try:
            client.wait_for_workers(1, timeout=SECONDS_TO_ANSWER)
        except TimeoutError as error:
            found = f"The Dask scheduler at {address} has no workers. Start some: dask worker {address}"
            raise TableError(found) from error
        yield OnDask(client)
    finally:
        client.close()


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


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


DONE = "_SUCCESS"  # as Spark marks a folder that is complete
Counts = tuple[int, int, float]  # of rows and alerts, and the sum of the scores


def predict_on_cluster(options: Namespace, model: Any, keep: list[str], threshold: float | None) -> Predicted:
    """Write the scores to a folder of Parquet files, a file for each partition, and count them.

    The columns to keep are written beside the scores, and alerts at or above the threshold, if there is one.
    """
    if model.trained_on_.schema is None:
        raise TableError(
            "The model was trained without feature names, which scoring on a cluster needs. Train it on a table."
        )
    no_scores = score_columns(model.trained_on_, np.empty((0, len(model.classes_))), threshold)
    refuse_taken(tuple(keep), no_scores)
    with cluster_of(options) as cluster:
        work: Any = _on_dask if isinstance(cluster, OnDask) else _on_spark
        n_rows, n_alerts, total = work(model, cluster, options, keep, threshold)
    expected = None if model.calibrator_ is None else total
    return Predicted(n_rows, None if threshold is None else n_alerts, expected)


def _on_dask(model: Any, cluster: OnDask, options: Namespace, keep: list[str], threshold: float | None) -> Counts:
    from selfpaced.clusters.dask import naming_the_cluster, send

    output = options.output
    place = located(output)
    if isinstance(place, Path):
        place.mkdir(parents=True, exist_ok=True)
    if private_folder(output).names("*"):  # it would hold more than these scores
        raise TableError(f"{output} already contains files. Name a new folder.")
    pieces = parquet_pieces(options.data)
    work = partial(_scored_piece, output=output, keep=keep, threshold=threshold)
    sent = send(cluster.client, worker_model(model))
    with naming_the_cluster():
        futures = cluster.client.map(work, pieces, range(len(pieces)), [sent] * len(pieces), pure=False)
        counts = cluster.client.gather(futures)
    write_whole(f"{output.rstrip('/')}/{DONE}", b"", TableError)
    n_rows, n_alerts, total = (sum(each) for each in zip(*counts, strict=True))
    return n_rows, n_alerts, total


def _scored_piece(
    piece: Piece, number: int, model: Any, output: str, keep: list[str], threshold: float | None
) -> Counts:
    """What a worker does: read, score and write the rows of a piece, and count them."""
    import pandas as pd

    assert model.trained_on_.schema is not None
    rows = piece.read(list(dict.fromkeys([*model.trained_on_.schema.sources, *keep])))
    probabilities = model.predict_proba(rows)
    added = score_columns(model.trained_on_, probabilities, threshold)
    frame = pd.concat([rows[keep], pd.DataFrame(added, index=rows.index)], axis=1)
    with whole_file(f"{output.rstrip('/')}/part-{number:05}.parquet", TableError) as temporary:
        frame.to_parquet(temporary, index=False)
    scores = probabilities[:, model.trained_on_.score_column]
    n_alerts = 0 if threshold is None else int(np.sum(added["alert"]))
    return len(rows), n_alerts, float(scores.sum())


def _on_spark(model: Any, cluster: OnSpark, options: Namespace, keep: list[str], threshold: float | None) -> Counts:
    from pyspark.errors import AnalysisException
    from pyspark.ml.functions import vector_to_array
    from pyspark.sql import functions as sf

    from selfpaced.clusters.spark import SparkEnsembleModel, column

    trained_on, output = model.trained_on_, options.output
    with cluster.naming_the_data(options.data):
        frame = cluster.frame(options.data)
        scored = SparkEnsembleModel(model).setFeaturesCol(trained_on.schema.sources).transform(frame)
        found = vector_to_array(sf.col("probability"))
        score = found[trained_on.score_column]
        columns = [column(name) for name in keep]
        if len(trained_on.classes) == 2:
            columns.append(score.alias("score"))
        else:
            columns += [found[number].alias(f"score_{label}") for number, label in enumerate(trained_on.classes)]
        if threshold is not None:
            columns.append((score >= threshold).alias("alert"))
        chosen = scored.select(*columns)
    try:
        chosen.write.mode("error").parquet(output)
    except AnalysisException as error:
        if "PATH_ALREADY_EXISTS" not in str(error):
            raise
        raise TableError(f"{output} already exists. Name a new folder.") from error
    written = cluster.session.read.parquet(output)
    label = trained_on.classes[trained_on.score_column]
    name = "score" if len(trained_on.classes) == 2 else f"score_{label}"
    alerts = sf.count_if(sf.col("alert")) if threshold is not None else sf.lit(0)
    n_rows, n_alerts, total = written.agg(sf.count("*"), alerts, sf.sum(column(name))).first()
    return n_rows, n_alerts, total or 0.0
