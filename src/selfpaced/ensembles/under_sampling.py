"""What all ensembles on under-sampled majority pools share as scikit-learn estimators."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

from selfpaced.callbacks import Callback, CallbackList
from selfpaced.ensembles.averaging import AveragingEnsemble
from selfpaced.ensembles.checks import (
    check_classifier,
    check_features,
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
from selfpaced.tables import Labels, split_classes


class UnderSamplingEnsemble(AveragingEnsemble):
    """An ensemble whose members see all minority rows and as many rows drawn from each larger class."""

    # 0 if the algorithm begins with a warm-up, a model that is no member.
    _first_round = 1

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
