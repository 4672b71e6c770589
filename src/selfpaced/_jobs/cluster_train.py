"""Training a model on a table on a cluster, and judging it on held-out rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from selfpaced._jobs.engines import Cluster, Columns, EngineChoice, cluster_of
from selfpaced._jobs.leakage import Leak, by_column, find_leaks
from selfpaced._jobs.making import Trainable, model_for
from selfpaced._jobs.outcome import Outcome
from selfpaced._jobs.request import TrainRequest, check_options
from selfpaced._jobs.rules import rule_of
from selfpaced._jobs.train import (
    ROWS_COUNTED,
    ROWS_SAMPLED,
    calibration_for,
    check_enough,
    chosen,
)
from selfpaced._jobs.warned import kept_warnings
from selfpaced.bases import columns_of
from selfpaced.ensembles.cluster_scoring import cluster_scores
from selfpaced.ensembles.table_scoring import TableEvaluation, evaluation
from selfpaced.ensembles.timing import Stopwatch
from selfpaced.exceptions import TableError
from selfpaced.monitoring import Reference, reference_of
from selfpaced.tables import ClassCounts, PartitionedTable, SplitPlan, stack
from selfpaced.tables.holding_out import divided, some_rows
from selfpaced.thresholds import ThresholdChoice


@dataclass(frozen=True)
class TrainedOnCluster(Outcome):
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
        columns = Columns(request.target, request.id, request.group, request.exclude)
        table = cluster.open(str(request.source), columns)
        check_enough(table.labels(), request.target)
        train, test = divided(table, request.holdout, request.seed)
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
    return reference_of(some_rows(test, ROWS_COUNTED, seed).features, scores, threshold=threshold)
