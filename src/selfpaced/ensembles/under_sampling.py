"""The base class of all ensembles that under-sample majority pools."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import Any, Self

from selfpaced.calibration import check_method
from selfpaced.callbacks import Callback, CallbackList, FitPlan
from selfpaced.ensembles.checks import (
    check_classes,
    check_classifiers,
    check_features,
    check_groups,
    check_known_labels,
    check_labels,
    check_positive,
    check_present,
    check_seed,
    check_table,
    check_takes_weights,
    check_whole,
    fit_metadata,
    roles_with,
    split_by_row,
    warn_of_few_rows,
)
from selfpaced.ensembles.fitting.checkpoint import Checkpoint, checkpoint_folder, identity_of_fit, stored_seed
from selfpaced.ensembles.fitting.cross_fitting import needs_copies
from selfpaced.ensembles.fitting.members import MemberFactory
from selfpaced.ensembles.fitting.pools import weighting_named
from selfpaced.ensembles.fitting.training import Algorithm, EvalSet, Settings, Training, eval_set_of, rows_to_draw
from selfpaced.ensembles.suspects import DoubtingEnsemble
from selfpaced.model import readable_rows
from selfpaced.tables import ClassCounts, LabelledTable, Schema, SplitPlan, Table, not_numbers


@contextmanager
def hinting_at_columns(schema: Schema | None, features: Any) -> Iterator[None]:
    """Add the columns that are not numbers to errors of base models: they may be the cause."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if schema is None and (others := not_numbers(features)):
            error.add_note(
                f"The columns {others} do not hold numbers. If the base model cannot read them, encode them first, or "
                "use AutoSelfPacedClassifier, which reads strings, categories and dates."
            )
        names = [column.name for column in schema.columns if column.categories is not None] if schema else []
        if names:
            error.add_note(
                f"The columns {names} hold strings, which the base model gets as pandas categories. If it cannot read "
                "them, exclude these columns, or choose another base model, such as LightGBM or HistGradientBoosting."
            )
        raise


class UnderSamplingEnsemble(DoubtingEnsemble):
    """An ensemble whose members see all minority rows and as many rows drawn from each larger class."""

    # Whether a member can be trained before the ones before it are there.
    _members_are_independent = False

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

    def fit(
        self, X: Any, y: Any, *, eval_set: tuple[Any, Any] | None = None, groups: Any = None, **fit_params: Any
    ) -> Self:
        """Train the ensemble.

        Parameters
        ----------
        X : {ndarray, memory map, CSR matrix, pandas or polars DataFrame, pyarrow Table} of shape (n_rows, n_features)
            Features. The base model gets frames as frames (pyarrow tables as pandas frames), with names, types and
            categories. Only the drawn rows are copied.
        y : array-like of shape (n_rows,)
            Labels of any type. The rarest class is the minority.
        eval_set : tuple (X, y), default=None
            Held-out rows, as for `predict_proba`. After each round the ensemble so far is scored on them, by AUCPRC.
        groups : array-like of shape (n_rows,), default=None
            The group of each row, such as a card or a customer. It is not a feature. The calibration judges every row
            by models that have not seen its group.
        **fit_params : metadata for the base model's `fit`
            `sample_weight`, if the base model accepts it. Other metadata need metadata routing.

        Returns
        -------
        self : estimator
            The fitted ensemble.
        """
        settings = self._settings()
        X = check_features(self, X, reset=True)
        labels = check_labels(y, X)
        per_row, for_all = split_by_row(fit_metadata(self, settings.bases, labels, fit_params), len(labels.codes))
        rows = readable_rows(self, X, per_row | check_groups(groups, labels))
        table = LabelledTable(rows, labels, roles=roles_with(groups))
        return self._train(settings, table, eval_set, Checkpoint(None, {}), for_all)

    def fit_table(
        self,
        table: Table,
        *,
        eval_set: tuple[Any, Any] | None = None,
        checkpoint: str | PathLike[str] | None = None,
        allow: str | Sequence[str] = (),
    ) -> Self:
        """Train the ensemble on rows that need not fit into memory: the same members as `fit` on the same rows.

        The rows of the minority class are loaded. The larger classes stay in their files or on their cluster, and are
        read once each round. Five bytes for each of their rows are kept in memory.

        Parameters
        ----------
        table : Table
            What `selfpaced.open_table` returns.
        eval_set : tuple (X, y), default=None
            Held-out rows in memory, as for `predict_proba`. After each round the ensemble so far is scored on them, by
            AUCPRC.
        checkpoint : path or URL, default=None
            A folder that keeps every finished round, in files that only you can read and that run nothing when they are
            loaded. The same call after a crash continues with the rounds that are missing and ends with the same model.
            A folder of a fit with other parameters, data or package versions is refused. Needs skops (the extra
            `models`). Behind a URL such as `s3://bucket/fit`, who can read the files is decided there.
        allow : str or list of str, default=()
            Types that the files of the checkpoint may hold besides those that `load_model` accepts, such as
            "mypackage.MyClassifier". A base model of another type is refused when its first round is saved.

        Returns
        -------
        self : estimator
            The fitted ensemble.

        Raises
        ------
        ValueError
            If `allow` is given without a checkpoint, or if a class has too few rows.
        CheckpointError
            If the checkpoint is damaged or belongs to another fit.
        """
        check_table(table)
        if allow and checkpoint is None:
            raise ValueError(f"allow={allow!r} needs a checkpoint. Name its folder: checkpoint='...'.")
        folder = checkpoint_folder(checkpoint)
        settings = self._settings(stored_seed(folder) if self.random_state is None else None)
        if table.roles.weight_column is not None:
            check_takes_weights(settings.bases, "the table has sample weights")
        kept = Checkpoint(folder, {} if folder is None else identity_of_fit(self, settings.seed, table), allow)
        return self._train(settings, table, eval_set, kept, {})

    def _train(
        self, settings: Settings, table: Table, eval_set: Any, checkpoint: Checkpoint, for_all: Mapping[str, Any]
    ) -> Self:
        """Train on any table: every fit ends here. `for_all` are arguments of `fit` that all base models get."""
        labels = check_classes(table.labels(), table.roles.labels_are_in)
        n_draw = rows_to_draw(settings.ratio, labels, stacklevel=4)
        with settings.callbacks.during(self._told(settings, labels, eval_set)):
            n_threads, on_rows = self._n_threads(), settings.callbacks.on_rows_read
            split = table.split(SplitPlan(settings.seed, n_threads, n_draw, self._first_round, on_rows))
            check_features(self, split.minority.features, reset=True)
            held_out = self._open_eval_set(eval_set, table, labels)
            factory = MemberFactory(settings.bases, settings.seed, for_all, n_threads)
            training = Training(split, factory, held_out, settings, self._first_round, checkpoint, n_threads)
            with hinting_at_columns(table.schema, split.minority.features):
                outcome = training.run(n_draw)
        self.estimators_, self.rounds_, self.calibrator_ = outcome.members, outcome.rounds, outcome.calibrator
        self.calibration_ = settings.calibration
        self._remember(labels, table.roles, table.schema, table.snapshot, split.minority.features)
        if needs_copies(settings.calibration):
            warn_of_few_rows(labels, stacklevel=4)
        return self

    def _told(self, settings: Settings, labels: ClassCounts, eval_set: Any) -> FitPlan:
        """The information for callbacks at the beginning of a fit."""
        n_rows, n_minority = int(labels.counts.sum()), int(labels.counts[labels.rarest])
        calibrates = needs_copies(settings.calibration)
        return FitPlan(settings.n_members, n_rows, n_minority, eval_set is not None, self._first_round, calibrates)

    def _settings(self, seed: int | None = None) -> Settings:
        """Check all parameters before a single row is read. A given seed takes precedence over `random_state`."""
        n_members = check_whole("n_estimators", self.n_estimators)
        optional = self.get_params(deep=False)  # some of the ensembles have these parameters
        weighting = weighting_named(optional.get("weighting"))
        bases = check_classifiers(self._bases())
        if weighting is not None:
            check_takes_weights(bases, f"weighting={optional['weighting']!r} weights the rows that are drawn")
        return Settings(
            n_members,
            self._algorithm(n_members),
            check_positive("ratio", self.ratio),
            CallbackList(self.callbacks),
            check_seed(self.random_state) if seed is None else seed,
            bases,
            check_method(optional.get("calibration")),
            weighting,
            self._members_are_independent,
        )

    def _open_eval_set(self, eval_set: Any, table: Table, labels: ClassCounts) -> EvalSet | None:
        if eval_set is None:
            return None
        X, y = eval_set_of(eval_set)
        known = check_known_labels(y, X, labels.classes, "The eval_set")
        check_present(known, labels.rarest, "The eval_set", "scored on")
        rows = readable_rows(self, self._features(X, table.schema, reset=False))
        return EvalSet(rows, known, labels.rarest, self._n_threads())
