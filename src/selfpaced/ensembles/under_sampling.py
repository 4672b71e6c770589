"""Ensembles that under-sample majority pools: what they share, under-bagging and BalanceCascade."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any, Self

from joblib import effective_n_jobs

from selfpaced.algorithms import balance_cascade, under_bagging
from selfpaced.calibration import check_method
from selfpaced.callbacks import Callback, CallbackList
from selfpaced.ensembles import checks
from selfpaced.ensembles.checkpoint import Checkpoint, checkpoint_folder, identity_of_fit, stored_seed
from selfpaced.ensembles.fit import Algorithm, Fit, Notes
from selfpaced.ensembles.pools import weighting_named
from selfpaced.ensembles.suspects import DoubtingEnsemble
from selfpaced.model import check_features, readable
from selfpaced.tables import LabelledTable, Table


class UnderSamplingEnsemble(DoubtingEnsemble):
    """An ensemble whose members see all minority rows and as many rows drawn from each larger class.

    Parameters
    ----------
    ratio : float, default=1.0
        Rows drawn from each larger class per minority row.
    callbacks : Callback or list of Callback, default=None
        Callbacks during the fit; see `selfpaced.callbacks`.

    Attributes
    ----------
    rounds_ : list of Round
        Notes of each round (`selfpaced.callbacks.Round`). All rows of a class are in one bin.
    """

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
        fit, notes = self._as_fit(), Notes(CallbackList(self.callbacks), eval_set=eval_set)
        X = check_features(self, X, reset=True)
        labels = checks.check_labels(y, X)
        per_row, for_all = checks.split_by_row(
            checks.fit_metadata(self, fit.bases, labels, fit_params), len(labels.codes)
        )
        rows = readable(X, fit.bases, per_row | checks.check_groups(groups, labels))
        table = LabelledTable(rows, labels, roles=checks.roles_with(groups))
        return self._keep(replace(fit, arguments=for_all).run(table, notes), labels)

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
        checks.check_table(table)
        if allow and checkpoint is None:
            raise ValueError(f"allow={allow!r} needs a checkpoint. Name its folder: checkpoint='...'.")
        folder = checkpoint_folder(checkpoint)
        fit = self._as_fit(stored_seed(folder) if self.random_state is None else None)
        if table.roles.weight_column is not None:
            checks.check_takes_weights(fit.bases, "the table has sample weights")
        kept = Checkpoint(folder, None if folder is None else identity_of_fit(self, fit.seed, table), allow)
        model = fit.run(table, Notes(CallbackList(self.callbacks), kept, eval_set))
        return self._keep(model, table.labels())

    def _as_fit(self, seed: int | None = None) -> Fit:
        """The parameters, all checked before a row is read. A seed takes precedence over `random_state`."""
        n_members = checks.check_whole("n_estimators", self.n_estimators)
        optional = self.get_params(deep=False)  # some of the ensembles have these parameters
        weighting = weighting_named(optional.get("weighting"))
        bases = checks.check_classifiers(self._bases())
        if weighting is not None:
            checks.check_takes_weights(bases, f"weighting={optional['weighting']!r} weights the rows that are drawn")
        return Fit(
            n_members,
            self._algorithm(n_members),
            checks.check_positive("ratio", self.ratio),
            checks.check_seed(self.random_state) if seed is None else seed,
            bases,
            self._first_round,
            effective_n_jobs(checks.check_jobs(self.n_jobs)),
            check_method(optional.get("calibration")),
            weighting,
            self._members_are_independent,
        )


@checks.with_inherited_entries
class UnderBaggingClassifier(UnderSamplingEnsemble):
    """Under-bagging: members trained on all rare rows and as many common rows drawn at random.

    Each member sees a small random part of the common rows, regardless of what the other members learned. This is
    fast, but misses most of the few common rows that look rare. All draws are without replacement.

    Parameters
    ----------
    estimator : classifier, default=DecisionTreeClassifier()
        The base model, as in `SelfPacedEnsembleClassifier`.

    See Also
    --------
    SelfPacedEnsembleClassifier : Draws common rows by their hardness.
    EasyEnsembleClassifier : Under-bagging with AdaBoost members.

    References
    ----------
    R. Barandela, R. M. Valdovinos, J. S. Sánchez. New applications of ensembles of classifiers. Pattern Analysis and
    Applications, 2003.

    Examples
    --------
    >>> from selfpaced import UnderBaggingClassifier
    >>> from selfpaced.datasets import make_checkerboard
    >>> X, y = make_checkerboard(n_minority=100, n_majority=1000, random_state=0)
    >>> model = UnderBaggingClassifier(random_state=0).fit(X, y)
    >>> len(model.estimators_), model.rounds_[0].n_rows
    (10, 200)
    """

    _members_are_independent = True

    def _algorithm(self, n_members: int) -> Algorithm:
        return partial(under_bagging, n_models=n_members)


@checks.with_inherited_entries
class BalanceCascadeClassifier(UnderSamplingEnsemble):
    """BalanceCascade: under-bagging that drops the common rows which the ensemble already classifies well.

    Each member is trained on all rare rows and as many common rows drawn at random from those that are left. After
    each round only the hardest common rows are kept, by the mean probability of the members so far. Among equally hard
    rows the choice is random. Every round keeps the same share, so that the last member is trained on the hardest
    rows. Where classes overlap, the hardest rows are noise.

    In the article, rows are dropped that the newest member classifies well at its own threshold. Here the mean of all
    members so far decides, as in the comparison published with Self-paced Ensemble.

    Parameters
    ----------
    estimator : classifier, default=DecisionTreeClassifier()
        The base model, as in `SelfPacedEnsembleClassifier`. The article uses AdaBoost.

    See Also
    --------
    SelfPacedEnsembleClassifier : Draws from all hardness bins.
    UnderBaggingClassifier : Draws from all common rows at random.

    References
    ----------
    X.-Y. Liu, J. Wu, Z.-H. Zhou. Exploratory Undersampling for Class-Imbalance Learning. IEEE Transactions on Systems,
    Man, and Cybernetics, 2009.

    Examples
    --------
    >>> from selfpaced import BalanceCascadeClassifier
    >>> from selfpaced.datasets import make_checkerboard
    >>> X, y = make_checkerboard(n_minority=100, n_majority=1000, random_state=0)
    >>> model = BalanceCascadeClassifier(random_state=0).fit(X, y)
    >>> [int(round.counts[0]) for round in model.rounds_]
    [1000, 774, 599, 464, 359, 278, 215, 167, 129, 100]
    """

    def _algorithm(self, n_members: int) -> Algorithm:
        return partial(balance_cascade, n_models=n_members)
