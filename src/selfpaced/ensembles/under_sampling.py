"""What all ensembles on under-sampled majority pools share as scikit-learn estimators."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

from numpy.typing import NDArray

from selfpaced.calibration import check_method
from selfpaced.callbacks import Callback, CallbackList, FitPlan
from selfpaced.ensembles.calibrating import needs_copies
from selfpaced.ensembles.checkpoint import Checkpoint, stored_seed, told
from selfpaced.ensembles.checks import (
    check_classes,
    check_classifier,
    check_features,
    check_known_labels,
    check_labels,
    check_positive,
    check_present,
    check_seed,
    check_table,
    check_whole,
    warn_of_few_rows,
)
from selfpaced.ensembles.doubting import DoubtingEnsemble
from selfpaced.ensembles.evaluation import EvalSet
from selfpaced.ensembles.members import MemberFactory
from selfpaced.ensembles.metadata import check_takes_weights, fit_metadata, split_by_row
from selfpaced.ensembles.training import Algorithm, Training, rows_to_draw
from selfpaced.tables import (
    ArrayTable,
    ClassCounts,
    ClassSplit,
    PartitionedTable,
    StreamedTable,
    split_classes,
    split_partitions,
    split_stream,
)
from selfpaced.tables.schema import Schema

Table = ArrayTable | PartitionedTable | StreamedTable


@dataclass(frozen=True)
class _Plan:
    """The parameters of a fit, checked."""

    n_members: int
    algorithm: Algorithm
    ratio: float
    callbacks: CallbackList
    seed: int
    base: Any
    calibration: str | None


@contextmanager
def hinting_at_words(schema: Schema | None) -> Iterator[None]:
    """Errors of base models, with the columns of words that may be at the bottom of them."""
    try:
        yield
    except (TypeError, ValueError) as error:
        words = [column.name for column in schema.columns if column.categories is not None] if schema else []
        if words:
            error.add_note(
                f"The columns {words} hold words, which reach the base model as pandas categories. If it cannot read "
                "them, exclude them or take one that can, such as LightGBM or HistGradientBoosting."
            )
        raise


class UnderSamplingEnsemble(DoubtingEnsemble):
    """An ensemble whose members see all minority rows and as many rows drawn from each larger class."""

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        ratio: float = 1.0,
        n_jobs: int | None = None,
        random_state: Any = None,
        callbacks: Sequence[Callback] | Callback | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.ratio = ratio
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.callbacks = callbacks

    @abstractmethod
    def _algorithm(self, n_members: int) -> Algorithm:
        """Check the parameters of the algorithm; return it, ready to run on (pools, rows to draw, fit)."""

    def fit(self, X: Any, y: Any, *, eval_set: tuple[Any, Any] | None = None, **fit_params: Any) -> Self:
        """Train the ensemble.

        Parameters
        ----------
        X : {ndarray, memory map, CSR matrix, pandas or polars DataFrame, pyarrow Table} of shape (n_rows, n_features)
            Features. Frames reach the base model as frames (pyarrow tables as pandas frames), so that it finds its
            columns by name and categories by type. Nothing is copied but the rows that are drawn.
        y : array-like of shape (n_rows,)
            Labels of any kind. The rarest class is the minority.
        eval_set : tuple (X, y), optional
            Rows not trained on. After each round the ensemble so far is scored on them, by AUCPRC.
        **fit_params : metadata for the base model's `fit`
            `sample_weight`, if the base model takes it. Anything else with metadata routing enabled.

        Returns
        -------
        self
        """
        return self._fit_in_memory(self._plan(), X, y, eval_set, Checkpoint(None, {}), fit_params)

    def _fit_in_memory(
        self, plan: _Plan, X: Any, y: Any, eval_set: Any, checkpoint: Checkpoint, fit_params: dict[str, Any]
    ) -> Self:
        X = check_features(self, X, reset=True)
        labels = check_labels(y, X)
        per_row, for_all = split_by_row(fit_metadata(self, plan.base, X, fit_params), len(labels.codes))
        split = split_classes(self._table(X, per_row), labels, plan.seed, self._n_threads())
        n_draw = rows_to_draw(plan.ratio, labels, stacklevel=4)
        with plan.callbacks.during(self._told(plan, labels, eval_set)):
            return self._train(plan, split, labels, n_draw, for_all, eval_set, checkpoint)

    def fit_table(self, table: Table, *, eval_set: tuple[Any, Any] | None = None, checkpoint: Any = None) -> Self:
        """Train the ensemble on rows that need not fit into memory: the same members as `fit` on the same rows.

        The minority's rows come in whole. The larger classes stay where they are, in files or on a cluster, and are
        read once each round; of a row of theirs five bytes are remembered.

        Parameters
        ----------
        table : what `selfpaced.open_table` gives
        eval_set : tuple (X, y), optional
            Rows not trained on, in memory. After each round the ensemble so far is scored on them, by AUCPRC.
        checkpoint : path of a folder, optional
            Every finished round is kept there. The same call after a crash goes on with the rounds that are missing
            and ends with the same model. The files are pickles: load only your own. Not for tables on a cluster.

        Returns
        -------
        self
        """
        check_table(table)
        plan = self._plan(stored_seed(checkpoint) if self.random_state is None else None)
        kept = Checkpoint(checkpoint, {} if checkpoint is None else self._facts(plan, table))
        if isinstance(table, ArrayTable):
            return self._fit_in_memory(plan, table.features, table.labels, eval_set, kept, {})
        if isinstance(table, PartitionedTable):
            return self._fit_partitions(plan, table, eval_set, kept)
        return self._fit_stream(plan, table, eval_set, kept)

    def _fit_stream(self, plan: _Plan, table: StreamedTable, eval_set: Any, checkpoint: Checkpoint) -> Self:
        labels = check_classes(table.labels(), f"Column {table.roles.target!r}")
        n_draw = rows_to_draw(plan.ratio, labels, stacklevel=4)
        on_rows = plan.callbacks.on_rows_read
        with plan.callbacks.during(self._told(plan, labels, eval_set)):
            split = split_stream(table, labels, plan.seed, self._n_threads(), (n_draw, self._first_round), on_rows)
            self._train_by_schema(plan, table.schema, split, labels, n_draw, eval_set, checkpoint)
        self.schema_, self.target_ = table.schema, table.roles.target
        if table.positive is not None:
            self.positive_ = table.positive
        return self

    def _fit_partitions(self, plan: _Plan, table: PartitionedTable, eval_set: Any, checkpoint: Checkpoint) -> Self:
        labels = check_classes(table.labels, table.where)
        n_draw = rows_to_draw(plan.ratio, labels, stacklevel=4)
        with plan.callbacks.during(self._told(plan, labels, eval_set)):
            split = split_partitions(table, labels, plan.seed)
            self._train_by_schema(plan, table.schema, split, labels, n_draw, eval_set, checkpoint)
        if table.schema is not None:
            self.schema_ = table.schema
        if table.target is not None:
            self.target_ = table.target
        return self

    def _train_by_schema(
        self,
        plan: _Plan,
        schema: Schema | None,
        split: ClassSplit,
        labels: ClassCounts,
        n_draw: int,
        eval_set: Any,
        checkpoint: Checkpoint,
    ) -> None:
        check_features(self, split.minority.features, reset=True)
        if "sample_weight" in split.minority.metadata:
            check_takes_weights(plan.base)
        with hinting_at_words(schema):
            self._train(plan, split, labels, n_draw, {}, eval_set, checkpoint)

    def _told(self, plan: _Plan, labels: ClassCounts, eval_set: Any) -> FitPlan:
        """What callbacks are told at the beginning."""
        n_rows, n_minority = int(labels.counts.sum()), int(labels.counts[labels.rarest])
        calibrates = needs_copies(plan.calibration)
        return FitPlan(plan.n_members, n_rows, n_minority, eval_set is not None, self._first_round, calibrates)

    def _facts(self, plan: _Plan, table: Table) -> dict[str, Any]:
        """What a model depends on, for the checkpoint of a fit: the parameters, the seed and the data."""
        parameters = {
            f"parameter {name}": told(value)
            for name, value in self.get_params().items()
            if name not in ("callbacks", "n_jobs", "random_state")
        }
        return {"kind": type(self).__name__, **parameters, "seed": plan.seed, **table.facts()}

    def _plan(self, seed: int | None = None) -> _Plan:
        """Look at all parameters before a single row is read. A seed given goes before that of `random_state`."""
        n_members = check_whole("n_estimators", self.n_estimators)
        return _Plan(
            n_members,
            self._algorithm(n_members),
            check_positive("ratio", self.ratio),
            CallbackList(self.callbacks),
            check_seed(self.random_state) if seed is None else seed,
            check_classifier(self._base()),
            check_method(getattr(self, "calibration", None)),
        )

    def _train(
        self,
        plan: _Plan,
        split: ClassSplit,
        labels: ClassCounts,
        n_draw: int,
        for_all: dict[str, Any],
        eval_set: Any,
        checkpoint: Checkpoint,
    ) -> Self:
        for name in ("schema_", "target_", "positive_"):  # of an earlier fit, of other rows
            if hasattr(self, name):
                delattr(self, name)
        held_out = self._open_eval_set(eval_set, labels.classes, split.minority_class)
        factory = MemberFactory(plan.base, plan.seed, for_all)
        training = Training(
            split,
            factory,
            held_out,
            plan.callbacks,
            self._first_round,
            checkpoint,
            plan.calibration,
            plan.seed,
            self._n_threads(),
        )
        outcome = training.run(plan.algorithm, plan.n_members, n_draw)
        self.estimators_, self.rounds_, self.calibrator_ = outcome.members, outcome.rounds, outcome.calibrator
        self._remember_classes(labels)
        if needs_copies(plan.calibration):
            warn_of_few_rows(labels, stacklevel=5)
        return self

    def _open_eval_set(self, eval_set: Any, classes: NDArray[Any], minority_class: int) -> EvalSet | None:
        if eval_set is None:
            return None
        if not isinstance(eval_set, tuple | list) or len(eval_set) != 2 or isinstance(eval_set[0], tuple):
            raise ValueError(
                "eval_set must be one pair (X, y) of features and labels, not a list of pairs; "
                f"got a {type(eval_set).__name__} of length {len(eval_set)}."
            )
        X = check_features(self, eval_set[0], reset=False)
        known = check_known_labels(eval_set[1], X, classes, "The eval_set")
        check_present(known, minority_class, "The eval_set", "scored on")
        return EvalSet(self._table(X), known, minority_class, self._n_threads())
