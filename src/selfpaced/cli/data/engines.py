"""Commands on a cluster."""

from __future__ import annotations

import re
import socket
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from selfpaced.cli.commands.predict import Predicted
from selfpaced.cli.commands.train import (
    ROWS_COUNTED,
    ROWS_SAMPLED,
    Trainable,
    TrainOutcome,
    calibration_for,
    check_enough,
    chosen,
    metrics_of_cluster,
    model_for,
    request_of,
    tell_judgement,
    tell_leaks,
)
from selfpaced.cli.data.cautions import Leak, by_column, find_leaks, kept_warnings
from selfpaced.cli.data.deciding import rule_of
from selfpaced.cli.data.opening import check_output
from selfpaced.cli.data.request import TrainRequest, check_options
from selfpaced.cli.output import RoundLines, Talk, recipes_of
from selfpaced.cli.parser import engine_of
from selfpaced.clusters import PartitionedTable, cluster_scores, hold_out, sample_rows, worker_model
from selfpaced.clusters.dask import ON_A_CLUSTER, PARQUET, Piece, frame_of_pieces, import_dask, parquet_pieces
from selfpaced.ensembles import AveragingEnsemble
from selfpaced.ensembles.auto import columns_of
from selfpaced.ensembles.fitting import Stopwatch
from selfpaced.exceptions import TableError
from selfpaced.monitoring import Reference, make_reference
from selfpaced.persistence import save_model
from selfpaced.predicting import TableEvaluation, evaluation, score_columns
from selfpaced.storage import located, private_folder, whole_file, write_whole
from selfpaced.tables import ClassCounts, SplitPlan, TableOptions, stack
from selfpaced.tables.sources import lake_of, open_table, refuse_taken
from selfpaced.thresholds import ThresholdChoice

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
class ClusterColumns:
    """The columns of a table that are not features."""

    target: str
    id: str | None = None
    group: str | None = None
    exclude: Sequence[str] = ()


class Cluster(Protocol):
    """A cluster that answers."""

    name: str

    def open(self, data: str, columns: ClusterColumns) -> PartitionedTable:
        """The table in some files that the cluster sees."""


class OnDask:
    """A Dask cluster, by a client of it."""

    name = "Dask"

    def __init__(self, client: Any) -> None:
        self.client = client

    def open(self, data: str, columns: ClusterColumns) -> PartitionedTable:
        frame = frame_of_pieces(parquet_pieces(data))
        return _opened(frame, columns, client=self.client)


class OnSpark:
    """A Spark cluster, by a session of it."""

    name = "Spark"

    def __init__(self, session: Any) -> None:
        self.session = session

    def open(self, data: str, columns: ClusterColumns) -> PartitionedTable:
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


def _opened(frame: Any, columns: ClusterColumns, **others: Any) -> PartitionedTable:
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


@dataclass(frozen=True)
class TrainedOnCluster(TrainOutcome):
    """A model that was trained on a cluster, and its quality on the held-out rows.

    Attributes
    ----------
    table : PartitionedTable
        The table with all its rows.
    leaks, choice, unmet, warnings, phases
        As `Trained` has them.
    reference : Reference | None
        The distribution of the held-out rows, for monitoring; None if it was not asked for.
    """

    request: TrainRequest
    model: Trainable
    table: PartitionedTable
    scores: NDArray[np.float64]
    evaluation: TableEvaluation
    leaks: list[Leak]
    choice: ThresholdChoice | None
    unmet: str | None
    warnings: list[str]
    phases: dict[str, float]
    reference: Reference | None

    @property
    def labels(self) -> ClassCounts:
        """The labels of all rows."""
        return self.table.labels()


def train_on_cluster(request: TrainRequest, engine: EngineChoice, *, keeps_reference: bool = True) -> TrainedOnCluster:
    """Open, divide, fit and score, all where the rows are."""
    check_options(request)
    rule_of(request.rule, None)  # refuses a wrong rule before an hour of work
    if not 0 < request.holdout < 1:
        raise TableError(f"--holdout must be between 0 and 1; got {request.holdout}.")
    with cluster_of(engine) as cluster:
        return _trained(request, cluster, keeps_reference)


def _trained(request: TrainRequest, cluster: Cluster, keeps_reference: bool) -> TrainedOnCluster:
    stopwatch = Stopwatch()
    with stopwatch.running("opening"):
        columns = ClusterColumns(request.target, request.id, request.group, request.exclude)
        table = cluster.open(str(request.source), columns)
        check_enough(table.labels(), request.target)
        train, test = hold_out(table, request.holdout, request.seed)
    model = model_for(request, columns_of(None, table.schema), calibration_for(request, train))
    with kept_warnings() as warned_of, stopwatch.running("training"):
        model.fit_table(train, checkpoint=request.checkpoint)
    with stopwatch.running("scoring held-out rows"):
        is_rare, scores = cluster_scores(model, test)
    with stopwatch.running("looking for leakage"):
        leaks = _leaks(train, request.seed)
    with stopwatch.running("choosing a threshold"):
        choice, unmet = chosen(is_rare, scores, rule_of(request.rule, None), None)
        judged = evaluation(is_rare, scores, None if choice is None else choice.threshold)
    reference = _reference(test, scores, judged.threshold, request.seed) if keeps_reference else None
    found = (scores, judged, leaks, choice, unmet, warned_of, stopwatch.phases(), reference)
    return TrainedOnCluster(request, model, table, *found)


def _leaks(table: PartitionedTable, seed: int) -> list[Leak]:
    """Search for leakage in the rare rows and in a sample of the others."""
    split = table.split(SplitPlan(seed, 1, ROWS_SAMPLED, 0, lambda n_read, n_rows: None))
    rows = stack([split.minority, *(pool.draw([min(ROWS_SAMPLED, pool.n_rows)], 0) for pool in split.pools.values())])
    leaks = find_leaks(rows.features, np.arange(len(rows)) < len(split.minority), seed)
    columns = () if table.schema is None else table.schema.columns
    return by_column(leaks, {column.name: column.source for column in columns})


def _reference(test: PartitionedTable, scores: NDArray[np.float64], threshold: float, seed: int) -> Reference:
    return make_reference(sample_rows(test, ROWS_COUNTED, seed).features, scores, threshold=threshold)


DONE = "_SUCCESS"  # as Spark marks a folder that is complete


@dataclass(frozen=True)
class ClusterScoring:
    """What is written: the columns to keep, and alerts at or above a threshold, if there is one."""

    keep: Sequence[str]
    threshold: float | None


def predict_on_cluster(
    model: AveragingEnsemble, engine: EngineChoice, data: str, output: str, scoring: ClusterScoring
) -> Predicted:
    """Write the scores to a folder of Parquet files, a file for each partition, and count them."""
    if model.trained_on_.schema is None:
        raise TableError(
            "The model was trained without feature names, which scoring on a cluster needs. Train it on a table."
        )
    no_scores = score_columns(model.trained_on_, np.empty((0, len(model.classes_))), scoring.threshold)
    refuse_taken(tuple(scoring.keep), no_scores)
    with cluster_of(engine) as cluster:
        work = _on_dask if isinstance(cluster, OnDask) else _on_spark
        n_rows, n_alerts, total = work(model, cluster, data, output, scoring)
    expected = None if model.calibrator_ is None else total
    return Predicted(n_rows, None if scoring.threshold is None else n_alerts, expected)


def _on_dask(
    model: AveragingEnsemble, cluster: OnDask, data: str, output: str, scoring: ClusterScoring
) -> tuple[int, int, float]:
    from selfpaced.clusters.dask import naming_the_cluster, send

    _make_folder(output)
    pieces = parquet_pieces(data)
    work = partial(_scored_piece, output=output, scoring=scoring)
    sent = send(cluster.client, worker_model(model))
    with naming_the_cluster():
        futures = cluster.client.map(work, pieces, range(len(pieces)), [sent] * len(pieces), pure=False)
        counts = cluster.client.gather(futures)
    write_whole(f"{output.rstrip('/')}/{DONE}", b"", TableError)
    n_rows, n_alerts, total = (sum(each) for each in zip(*counts, strict=True))
    return n_rows, n_alerts, total


def _make_folder(output: str) -> None:
    """Refuse a folder with files in it: it would hold more than these scores."""
    place = located(output)
    if isinstance(place, Path):
        place.mkdir(parents=True, exist_ok=True)
    if private_folder(output).names("*"):
        raise TableError(f"{output} already contains files. Name a new folder.")


def _scored_piece(
    piece: Piece, number: int, model: AveragingEnsemble, output: str, scoring: ClusterScoring
) -> tuple[int, int, float]:
    """What a worker does: read, score and write the rows of a piece, and count them."""
    import pandas as pd

    assert model.trained_on_.schema is not None
    rows = piece.read(list(dict.fromkeys([*model.trained_on_.schema.sources, *scoring.keep])))
    probabilities = model.predict_proba(rows)
    added = score_columns(model.trained_on_, probabilities, scoring.threshold)
    frame = pd.concat([rows[list(scoring.keep)], pd.DataFrame(added, index=rows.index)], axis=1)
    with whole_file(f"{output.rstrip('/')}/part-{number:05}.parquet", TableError) as temporary:
        frame.to_parquet(temporary, index=False)
    scores = probabilities[:, model.trained_on_.score_column]
    n_alerts = 0 if scoring.threshold is None else int(np.sum(added["alert"]))
    return len(rows), n_alerts, float(scores.sum())


def _on_spark(
    model: AveragingEnsemble, cluster: OnSpark, data: str, output: str, scoring: ClusterScoring
) -> tuple[int, int, float]:
    from pyspark.errors import AnalysisException
    from pyspark.ml.functions import vector_to_array
    from pyspark.sql import functions as sf

    from selfpaced.clusters.spark import SparkEnsembleModel, column

    trained_on: Any = model.trained_on_
    with naming_the_data(data):
        frame = cluster.frame(data)
        scored = SparkEnsembleModel(model).setFeaturesCol(trained_on.schema.sources).transform(frame)
        found = vector_to_array(sf.col("probability"))
        score = found[trained_on.score_column]
        columns = [column(name) for name in scoring.keep]
        if len(trained_on.classes) == 2:
            columns.append(score.alias("score"))
        else:
            columns += [found[number].alias(f"score_{label}") for number, label in enumerate(trained_on.classes)]
        if scoring.threshold is not None:
            columns.append((score >= scoring.threshold).alias("alert"))
        chosen = scored.select(*columns)
    try:
        chosen.write.mode("error").parquet(output)
    except AnalysisException as error:
        if "PATH_ALREADY_EXISTS" not in str(error):
            raise
        raise TableError(f"{output} already exists. Name a new folder.") from error
    return _counted(cluster.session.read.parquet(output), trained_on)


def _counted(written: Any, trained_on: Any) -> tuple[int, int, float]:
    from pyspark.sql import functions as sf

    from selfpaced.clusters.spark import column

    label = trained_on.classes[trained_on.score_column]
    score = "score" if len(trained_on.classes) == 2 else f"score_{label}"
    alerts = sf.count_if(sf.col("alert")) if "alert" in written.columns else sf.lit(0)
    n_rows, n_alerts, total = written.agg(sf.count("*"), alerts, sf.sum(column(score))).first()
    return n_rows, n_alerts, total or 0.0


def run_on_a_cluster(options: Namespace) -> None:
    talk = Talk(options)
    output = check_output(options.output, [".skops"])
    request = request_of(options, [] if options.quiet or options.json else [RoundLines()])
    trained = train_on_cluster(request, engine_of(options), keeps_reference=not options.no_reference)
    _tell_cluster(talk, trained)
    metrics = metrics_of_cluster(trained, options.engine)
    save_model(trained.model, output, metrics=metrics, reference=trained.reference)
    talk.say(f"\nThe model is in {output}. Score rows: selfpaced predict {output} DATA -o scores --engine ...")
    recipes = [asdict(one) for one in recipes_of(trained.model)]
    talk.result({"model": str(output), "report": None, **metrics, "recipes": recipes})


def _tell_cluster(talk: Talk, trained: TrainedOnCluster) -> None:
    counts = ", ".join(f"{count:,} of {name!r}" for name, count in trained.counts.items())
    assert trained.table.schema is not None
    talk.say(f"{sum(trained.counts.values()):,} rows: {counts}. {len(trained.table.schema.columns)} features.")
    tell_leaks(talk, trained.leaks)
    tell_judgement(talk, trained)
