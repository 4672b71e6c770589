"""What all ensembles share that average the probabilities of their members: everything after the fit."""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from selfpaced.calibration import BEST_METHOD, FITTED_MAPS, Calibrator, fit_calibrator
from selfpaced.ensembles.checks import (
    check_features,
    check_jobs,
    check_known_labels,
    check_present,
    check_share,
    warn_of_few_rows,
)
from selfpaced.ensembles.metadata import check_weights
from selfpaced.ensembles.streaming import TableEvaluation, evaluation, rare_rows, streamed_probabilities
from selfpaced.exceptions import TableError
from selfpaced.scoring import (
    Scorer,
    Spread,
    mean_probabilities,
    probability_spread,
    scorer_of,
    staged_probabilities,
)
from selfpaced.tables import (
    ClassCounts,
    InMemoryTable,
    StreamedTable,
    as_trained,
    is_frame,
    open_like,
    polars_as_arrow,
    schema_of,
)
from selfpaced.tables.streamed import StreamedBatch
from selfpaced.tables.writing import batch_of, refuse_own_source, refuse_taken, write_batches

if TYPE_CHECKING:
    from selfpaced.report import Report

# Packages whose models know the categories of pandas frames, and stumble over those of polars.
PANDAS_READERS = {"catboost", "lightgbm", "xgboost"}


class AveragingEnsemble(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """An ensemble whose probabilities are the mean of its members'. A subclass brings `fit`."""

    estimator: Any
    n_estimators: Any
    n_jobs: Any
    random_state: Any
    calibrator_: Calibrator | None

    def __sklearn_is_fitted__(self) -> bool:
        """A fit that was interrupted has remembered the features, and has no members."""
        return hasattr(self, "estimators_")

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The mean of the members' probabilities, one column for each of `classes_`.

        Members that are trained on balanced rows give probabilities that rank well, and are far above the true share
        of the minority. Of an ensemble that is calibrated, they are the mean as its calibration maps it.
        """
        return self._calibrated(self._means(self._open(X)))

    def _means(self, table: InMemoryTable) -> NDArray[np.float64]:
        """The mean of the members' probabilities as they are."""
        scorers = [scorer_of(member, table.n_rows) for member in self.estimators_]
        return mean_probabilities(scorers, table, len(self.classes_), self._n_threads(), self._member_weights())

    def _calibrated(self, means: NDArray[np.float64]) -> NDArray[np.float64]:
        """The means as the calibration maps them, if there is one."""
        calibrator = getattr(self, "calibrator_", None)  # boosting and SMOTE have one only once they are calibrated
        return means if calibrator is None else calibrator(means)

    def calibrate(self, X: Any, y: Any, method: str = BEST_METHOD, *, sample_weight: Any = None) -> Self:
        """Make the probabilities true by rows that the ensemble was not trained on, in place of any calibration it has.

        For an ensemble that is fitted already, of any kind, loaded ones too: with rows set aside, or with recent ones
        when the share of the rare class has changed. The ensemble itself is changed, not a copy.

        Parameters
        ----------
        X, y : rows with all classes among them, in the shares in which they will come.
        method : {"isotonic", "beta", "sigmoid"}, as for `SelfPacedEnsembleClassifier(calibration=...)`.
        sample_weight : how many rows each row stands for.

        Returns
        -------
        self

        Examples
        --------
        >>> from selfpaced import UnderBaggingClassifier
        >>> from selfpaced.datasets import make_checkerboard
        >>> model = UnderBaggingClassifier(random_state=0).fit(*make_checkerboard(random_state=0))
        >>> X, y = make_checkerboard(random_state=1)
        >>> bool(model.predict_proba(X)[:, 1].mean() > 3 * y.mean())
        True
        >>> bool(abs(model.calibrate(X, y).predict_proba(X)[:, 1].mean() - y.mean()) < 0.005)
        True
        """
        if method not in FITTED_MAPS:
            raise ValueError(f"method must be one of {sorted(FITTED_MAPS)}; got {method!r}.")
        table = self._open(X)
        labels = check_known_labels(y, X, self.classes_)
        for number in range(labels.classes.size):
            check_present(labels, number, "y", "calibrated by")
        means = self._means(table)
        if (means == means[0]).all():
            raise ValueError("All rows get the same score from the ensemble: there is nothing to calibrate.")
        weights = np.ones(labels.codes.size) if sample_weight is None else check_weights(sample_weight, X)
        if weights.min() < 0 or np.bincount(labels.codes, weights).min() == 0:
            raise ValueError("sample_weight must be numbers >= 0, and some of every class above 0.")
        warn_of_few_rows(labels, stacklevel=3)
        self.calibrator_ = fit_calibrator(
            method, means, labels.codes, weights.astype(np.float64), self._minority_number()
        )
        return self

    def staged_predict_proba(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Yield the probabilities of the first member, of the first two together, and so on."""
        table = self._open(X)
        scorers = [scorer_of(member, table.n_rows) for member in self.estimators_]
        stages = staged_probabilities(scorers, table, len(self.classes_), self._n_threads(), self._member_weights())
        return map(self._calibrated, stages)

    def predict_proba_spread(self, X: Any, share: float = 0.8) -> Spread:
        """How far the members are apart: the range in which the middle share of their probabilities lies.

        A wide spread says that the answer hangs on which common rows a member happened to see. A narrow one says that
        the members agree, not that they are right: it is **no confidence interval**, and all of them may err alike.
        `docs/guide/explaining.md` has how often the true probability was found in it.

        Parameters
        ----------
        X : rows in memory, as for `predict_proba`.
        share : the share of the members in the middle, above 0 and at most 1, which is from the lowest to the highest.

        Returns
        -------
        Spread(low, high) : arrays as `predict_proba` gives. They are the quantiles (1 - share) / 2 and (1 + share) / 2
            of the members' probabilities, in which members of boosting ensembles count by their weights. Of a
            calibrated ensemble, each member's probabilities as the calibration maps them.

        Examples
        --------
        >>> from selfpaced import SelfPacedEnsembleClassifier
        >>> from selfpaced.datasets import make_checkerboard
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> X, y = make_checkerboard(random_state=0)
        >>> model = SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=5), random_state=0).fit(X, y)
        >>> low, high = model.predict_proba_spread([[1, 0], [0.5, 0]])  # amid a rare field; on an edge
        >>> (high - low)[:, 1].round(1).tolist()
        [0.1, 0.8]
        """
        table = self._open(X)
        scorers, n_classes = self._member_scorers(table.n_rows), len(self.classes_)
        weights = self._member_weights()
        return probability_spread(scorers, table, n_classes, self._n_threads(), check_share(share), weights)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """The logarithm of `predict_proba`; minus infinity where that is 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class; with two classes a threshold of 0.5, which is rarely the one to act on."""
        most_probable = self.predict_proba(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[most_probable]
        return labels

    def predict_table(
        self,
        source: Any,
        output: Any,
        *,
        keep: Sequence[str] = (),
        threshold: float | None = None,
        columns: Sequence[str] | None = None,
        filter: Any = None,
        batch_rows: int = 2**16,
        cache: Any = None,
        progress: Callable[[int, int | None], None] | None = None,
        on_scores: Callable[[NDArray[np.float64]], None] | None = None,
    ) -> Path:
        """Score files batch by batch and write the scores to a file, in the order of the rows.

        Parameters
        ----------
        source : path, glob pattern, folder or list of these, as for `open_table`, or what that gave.
        output : a Parquet or CSV file, by its ending. It appears when all rows are scored, or not at all.
        keep : columns of the source that go along with the scores, such as ids.
        threshold : adds a column `alert`: whether the score of the rare class is not below it.
        columns : the features, for a model that was trained without names.
        filter, cache : as for `open_table`.
        batch_rows : rows that are decoded and scored at once.
        progress : called after each batch with the rows scored and the rows to score, None if a filter decides.
        on_scores : called with the scores of the rare class in each batch, to count them as they pass.

        Returns
        -------
        The path of the output. For two classes its column `score` is the probability of `minority_class_`, or of the
        label that `open_table` was given as `positive`; for more there is a column `score_LABEL` for each label.
        """
        table = self._open_like(source, columns, keep=keep, filter=filter, batch_rows=batch_rows, cache=cache)
        refuse_own_source(output, [path for file in table.files for path in (file.path, file.data)])
        refuse_taken(table.roles.keep, self._score_columns(np.empty((0, len(self.classes_))), threshold))

        def scored() -> Iterator[Any]:
            for batch, probabilities in self._streamed_probabilities(table, progress):
                if on_scores is not None:
                    on_scores(probabilities[:, self._rare_class()])
                yield batch_of(batch.kept() | self._score_columns(probabilities, threshold))

        return write_batches(scored(), output)

    def evaluate_table(
        self,
        source: Any,
        *,
        target: str | None = None,
        threshold: float | None = None,
        columns: Sequence[str] | None = None,
        filter: Any = None,
        batch_rows: int = 2**16,
        cache: Any = None,
        progress: Callable[[int, int | None], None] | None = None,
    ) -> TableEvaluation:
        """Score files batch by batch and compare with their labels. Of a row its label and its score are remembered.

        `target` is the column of labels; by default the one that `fit_table` had. `threshold` is the one to judge
        alerts by; by default the best by F1 on these rows, which flatters.
        """
        target = getattr(self, "target_", None) if target is None else target
        if target is None:
            raise ValueError("Which column holds the labels? evaluate_table(source, target='...')")
        options = {"positive": getattr(self, "positive_", None), "filter": filter, "cache": cache}
        table = self._open_like(source, columns, target=target, batch_rows=batch_rows, **options)
        return evaluation(self.rare_rows(table), self._scores_of(table, progress), threshold)

    def rare_rows(self, table: StreamedTable) -> NDArray[np.bool_]:
        """Which rows of a table that was opened with a target are of the class that `score_table` is about."""
        check_is_fitted(self)
        return rare_rows(table, self.classes_, self._rare_class())

    def score_table(
        self,
        source: Any,
        *,
        columns: Sequence[str] | None = None,
        filter: Any = None,
        batch_rows: int = 2**16,
        cache: Any = None,
        progress: Callable[[int, int | None], None] | None = None,
    ) -> NDArray[np.float64]:
        """The probability of the rare class for every row of some files, in order. Other options as `predict_table`."""
        table = self._open_like(source, columns, filter=filter, batch_rows=batch_rows, cache=cache)
        return self._scores_of(table, progress)

    def _scores_of(
        self, table: StreamedTable, progress: Callable[[int, int | None], None] | None
    ) -> NDArray[np.float64]:
        rare = self._rare_class()
        # In all their digits: a threshold that is chosen by rounded scores is missed by rows that round up to it.
        parts = [scores[:, rare].copy() for _, scores in self._streamed_probabilities(table, progress)]
        return np.concatenate(parts) if parts else np.empty(0)

    def report(self, X: Any, y: Any, **options: Any) -> Report:
        """A page on how well the ensemble does on rows it was not trained on; in a notebook it shows itself.

        The options are those of `selfpaced.report.make_report`, among them `threshold`, `costs`, `ids` and `X_train`.

        >>> from selfpaced import UnderBaggingClassifier
        >>> from selfpaced.datasets import make_checkerboard
        >>> X, y = make_checkerboard(random_state=0)
        >>> report = UnderBaggingClassifier(random_state=0).fit(X, y).report(*make_checkerboard(random_state=1))
        >>> report.facts.n_rows, report.facts.n_cases
        (11000, 1000)
        """
        from selfpaced.report import make_report  # the room above, whose door opens only when it is knocked at

        return make_report(self, X, y, **options)

    def _open_like(self, source: Any, columns: Sequence[str] | None, **options: Any) -> StreamedTable:
        """Files with the features that the model was trained with."""
        check_is_fitted(self)
        if isinstance(source, StreamedTable):
            return self._refuse_other_schema(source)
        names = getattr(self, "feature_names_in_", columns)
        schema = getattr(self, "schema_", None) or schema_of(source, names)
        if len(schema.names) != self.n_features_in_:
            raise TableError(
                f"The model was trained on {self.n_features_in_} features without names, and the files have "
                f"{len(schema.names)} columns, {schema.names}: name the features with columns=, in their order."
            )
        return open_like(source, schema, **options)

    def _refuse_other_schema(self, table: StreamedTable) -> StreamedTable:
        if table.schema.names != list(getattr(self, "feature_names_in_", [])):
            raise TableError(
                f"The table has the features {table.schema.names}; the model was trained with "
                f"{list(getattr(self, 'feature_names_in_', []))}. Open it by its path, for its columns to be found."
            )
        return table

    def _minority_number(self) -> int:
        """The number of the rarest class."""
        number: int = self.classes_.tolist().index(self.minority_class_)
        return number

    def _rare_class(self) -> int:
        """The number of the class whose probability is the score."""
        classes: list[Any] = self.classes_.tolist()
        if not hasattr(self, "positive_"):
            return self._minority_number()
        return classes.index(self.positive_) if self.positive_ in classes else classes.index(True)

    def _streamed_probabilities(
        self, table: StreamedTable, progress: Callable[[int, int | None], None] | None
    ) -> Iterator[tuple[StreamedBatch, NDArray[np.float64]]]:
        scorers = [scorer_of(member, table.batch_rows) for member in self.estimators_]
        n_threads, weights = self._n_threads(), self._member_weights()
        for batch, scores in streamed_probabilities(scorers, table, len(self.classes_), n_threads, weights):
            yield batch, self._calibrated(scores)
            if progress is not None:
                progress(batch.stop, table.n_rows)

    def _score_columns(self, probabilities: NDArray[np.float64], threshold: float | None) -> dict[str, Any]:
        rare = probabilities[:, self._rare_class()]
        alerts = {} if threshold is None else {"alert": rare >= threshold}
        if len(self.classes_) == 2:
            return {"score": rare} | alerts
        scores = {f"score_{label}": probabilities[:, number] for number, label in enumerate(self.classes_)}
        return scores | alerts

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The mean of the members' importances, each scaled to add up to 1. Only where members have them."""
        check_is_fitted(self)
        importances = np.array([member.feature_importances_ for member in self.estimators_], dtype=np.float64)
        totals = importances.sum(axis=1, keepdims=True)
        scaled = importances / np.where(totals > 0, totals, 1)
        mean: NDArray[np.float64] = np.average(scaled, axis=0, weights=self._member_weights())
        return mean

    def get_metadata_routing(self) -> MetadataRouter:
        """The metadata that `fit` consumes itself and passes on to the base model."""
        passed_on = MethodMapping().add(caller="fit", callee="fit")
        return (
            MetadataRouter(owner=type(self).__name__)
            .add_self_request(self)
            .add(estimator=self._base(), method_mapping=passed_on)
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        base = get_tags(self._base()).input_tags
        tags.input_tags.sparse = base.sparse
        tags.input_tags.allow_nan = base.allow_nan
        return tags

    def _remember_classes(self, labels: ClassCounts) -> None:
        self.classes_ = labels.classes
        self.class_counts_ = labels.counts
        self.minority_class_ = labels.classes[labels.rarest]

    def _member_weights(self) -> NDArray[np.float64] | None:
        """How much each member counts in a mean; None if all count the same."""
        return None

    def _member_scorers(self, n_rows: int) -> list[Scorer]:
        """The road to each member's own probabilities, on the scale of the ensemble's."""
        return [scorer_of(member, n_rows).then(self._calibrated) for member in self.estimators_]

    def _base(self) -> Any:
        return DecisionTreeClassifier() if self.estimator is None else self.estimator

    def _n_threads(self) -> int:
        return int(effective_n_jobs(check_jobs(self.n_jobs)))

    def _table(self, X: Any, metadata: dict[str, Any] | None = None) -> InMemoryTable:
        packages = {kind.__module__.partition(".")[0] for kind in type(self._base()).__mro__}
        return InMemoryTable(polars_as_arrow(X) if packages & PANDAS_READERS else X, metadata)

    def _open(self, X: Any) -> InMemoryTable:
        check_is_fitted(self)
        return self._table(self._features(X, reset=False))

    def _features(self, X: Any, *, reset: bool) -> Any:
        schema = None if reset else getattr(self, "schema_", None)
        return check_features(self, as_trained(schema, X) if schema is not None and is_frame(X) else X, reset=reset)
