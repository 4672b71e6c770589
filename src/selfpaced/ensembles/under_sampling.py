"""What all ensembles on under-sampled majority pools share as scikit-learn estimators."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from selfpaced.callbacks import CallbackList
from selfpaced.ensembles.checks import (
    check_classifier,
    check_features,
    check_jobs,
    check_known_labels,
    check_labels,
    check_positive,
    check_seed,
    check_whole,
)
from selfpaced.ensembles.evaluation import EvalSet
from selfpaced.ensembles.members import MemberFactory
from selfpaced.ensembles.metadata import fit_metadata, split_by_row
from selfpaced.ensembles.training import Algorithm, Training, rows_to_draw
from selfpaced.scoring import mean_probabilities, scorer_of, staged_probabilities
from selfpaced.tables import InMemoryTable, Labels, polars_as_arrow, split_classes

# Packages whose models know the categories of pandas frames, and stumble over those of polars.
PANDAS_READERS = {"catboost", "lightgbm", "xgboost"}


class UnderSamplingEnsemble(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """An ensemble whose members see all minority rows and as many rows drawn from each larger class."""

    estimator: Any
    n_estimators: Any
    ratio: Any
    n_jobs: Any
    random_state: Any
    callbacks: Any

    # 0 if the algorithm begins with a warm-up, a model that is no member.
    _first_round = 1

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
        n_members = check_whole("n_estimators", self.n_estimators)
        algorithm = self._algorithm(n_members)
        ratio = check_positive("ratio", self.ratio)
        callbacks = CallbackList(self.callbacks)
        seed = check_seed(self.random_state)

        base = check_classifier(self._base())
        X = check_features(self, X, reset=True)
        labels = check_labels(y, X)
        per_row, for_all = split_by_row(fit_metadata(self, base, X, fit_params), len(labels.codes))
        split = split_classes(self._table(X, per_row), labels, seed, self._n_threads())
        held_out = self._open_eval_set(eval_set, labels, split.minority_class)

        training = Training(split, MemberFactory(base, seed, for_all), held_out, callbacks, self._first_round)
        self.estimators_, self.rounds_ = training.run(algorithm, n_members, rows_to_draw(ratio, split))
        self.classes_ = labels.classes
        self.minority_class_ = labels.classes[split.minority_class]
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The mean of the members' probabilities, one column for each of `classes_`.

        Members are trained on balanced rows: the probabilities rank well, and are far above the true share of the
        minority.
        """
        table = self._open(X)
        scorers = [scorer_of(member, table.n_rows) for member in self.estimators_]
        return mean_probabilities(scorers, table, len(self.classes_), self._n_threads())

    def staged_predict_proba(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Yield the probabilities of the first member, of the first two together, and so on."""
        table = self._open(X)
        scorers = [scorer_of(member, table.n_rows) for member in self.estimators_]
        return staged_probabilities(scorers, table, len(self.classes_), self._n_threads())

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """The logarithm of `predict_proba`; minus infinity where that is 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class; with two classes a threshold of 0.5, which is rarely the one to act on."""
        most_probable = self.predict_proba(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[most_probable]
        return labels

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The mean of the members' importances, each scaled to add up to 1. Only where members have them."""
        check_is_fitted(self)
        importances = np.array([member.feature_importances_ for member in self.estimators_], dtype=np.float64)
        totals = importances.sum(axis=1, keepdims=True)
        scaled: NDArray[np.float64] = (importances / np.where(totals > 0, totals, 1)).mean(axis=0)
        return scaled

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

    def _base(self) -> Any:
        return DecisionTreeClassifier() if self.estimator is None else self.estimator

    def _n_threads(self) -> int:
        return int(effective_n_jobs(check_jobs(self.n_jobs)))

    def _table(self, X: Any, metadata: dict[str, Any] | None = None) -> InMemoryTable:
        packages = {kind.__module__.partition(".")[0] for kind in type(self._base()).__mro__}
        return InMemoryTable(polars_as_arrow(X) if packages & PANDAS_READERS else X, metadata)

    def _open(self, X: Any) -> InMemoryTable:
        check_is_fitted(self)
        return self._table(check_features(self, X, reset=False))

    def _open_eval_set(self, eval_set: Any, labels: Labels, minority_class: int) -> EvalSet | None:
        if eval_set is None:
            return None
        if not isinstance(eval_set, tuple | list) or len(eval_set) != 2 or isinstance(eval_set[0], tuple):
            raise ValueError(
                "eval_set must be one pair (X, y) of features and labels, not a list of pairs; "
                f"got a {type(eval_set).__name__} of length {len(eval_set)}."
            )
        X = check_features(self, eval_set[0], reset=False)
        known = check_known_labels(eval_set[1], X, labels.classes, minority_class)
        return EvalSet(self._table(X), known, minority_class, self._n_threads())
