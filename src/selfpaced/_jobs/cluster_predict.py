"""Scoring a table on a cluster: each machine scores and writes its own rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from selfpaced._jobs.engines import EngineChoice, OnDask, OnSpark, cluster_of, naming_the_data
from selfpaced._jobs.predict import Predicted
from selfpaced.ensembles.averaging import AveragingEnsemble
from selfpaced.ensembles.cluster_scoring import travelling
from selfpaced.ensembles.table_scoring import score_columns
from selfpaced.exceptions import TableError
from selfpaced.private_folders import private_folder
from selfpaced.remote_files import located
from selfpaced.tables.dask_files import Piece, parquet_pieces
from selfpaced.tables.writing import refuse_taken
from selfpaced.whole_files import whole_file, write_whole

DONE = "_SUCCESS"  # as Spark marks a folder that is complete


@dataclass(frozen=True)
class Scoring:
    """What is written: the columns to keep, and alerts at or above a threshold, if there is one."""

    keep: Sequence[str]
    threshold: float | None


def predict_on_cluster(
    model: AveragingEnsemble, engine: EngineChoice, data: str, output: str, scoring: Scoring
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
    model: AveragingEnsemble, cluster: OnDask, data: str, output: str, scoring: Scoring
) -> tuple[int, int, float]:
    from selfpaced.pools.dask import naming_the_cluster, send

    _make_folder(output)
    pieces = parquet_pieces(data)
    work = partial(_scored_piece, output=output, scoring=scoring)
    sent = send(cluster.client, travelling(model))
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
    piece: Piece, number: int, model: AveragingEnsemble, output: str, scoring: Scoring
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
    model: AveragingEnsemble, cluster: OnSpark, data: str, output: str, scoring: Scoring
) -> tuple[int, int, float]:
    from pyspark.errors import AnalysisException
    from pyspark.ml.functions import vector_to_array
    from pyspark.sql import functions as sf

    from selfpaced.spark.model import SparkEnsembleModel
    from selfpaced.tables.spark import column

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

    from selfpaced.tables.spark import column

    label = trained_on.classes[trained_on.score_column]
    score = "score" if len(trained_on.classes) == 2 else f"score_{label}"
    alerts = sf.count_if(sf.col("alert")) if "alert" in written.columns else sf.lit(0)
    n_rows, n_alerts, total = written.agg(sf.count("*"), alerts, sf.sum(column(score))).first()
    return n_rows, n_alerts, total or 0.0
