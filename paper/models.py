"""The base models of the paper, by the names in its tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Any, Self

import numpy as np
from lightgbm import LGBMClassifier, early_stopping
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from paper.datasets import Split

ROUNDS_WITHOUT_GAIN = 5
MOST_WATCHED = 200_000  # common validation rows


@dataclass(frozen=True)
class Validation:
    """The rows that early stopping watches, and how much each counts."""

    X: Any
    y: Any
    weight: Any = None

    @classmethod
    def of(cls, split: Split) -> Self:
        """All validation rows; of very many common ones every n-th, which then counts for n.

        To sort a million scores after every round of every member would take longer than all fits.
        """
        X, y = split.X_valid, split.y_valid
        common = np.flatnonzero(y == 0)
        every = ceil(len(common) / MOST_WATCHED)
        if every <= 1:
            return cls(X, y)
        watched = np.sort(np.concatenate([np.flatnonzero(y != 0), common[::every]]))
        return cls(X[watched], y[watched], np.where(y[watched] == 0, float(every), 1.0))

    def __deepcopy__(self, memo: Any) -> Self:
        return self  # every clone of a model watches the same rows; a copy each would only cost memory


class EarlyStoppingGBDT(ClassifierMixin, BaseEstimator):
    """LightGBM that stops when the validation rows gain no more, as a base model like any other."""

    def __init__(self, validation: Validation, n_estimators: int = 10, random_state: int | None = None) -> None:
        self.validation = validation
        self.n_estimators = n_estimators
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        self.model_ = LGBMClassifier(
            n_estimators=self.n_estimators, random_state=self.random_state, n_jobs=1, verbosity=-1
        ).fit(
            X,
            y,
            sample_weight=sample_weight,
            eval_X=(self.validation.X,),
            eval_y=(self.validation.y,),
            eval_sample_weight=None if self.validation.weight is None else [self.validation.weight],
            eval_metric="average_precision",
            callbacks=[early_stopping(ROUNDS_WITHOUT_GAIN, first_metric_only=True, verbose=False)],
        )
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X: Any) -> Any:
        return self.model_.predict_proba(X)

    def predict(self, X: Any) -> Any:
        return self.model_.predict(X)


MODELS: dict[str, Callable[[Split], Any]] = {
    "KNN": lambda split: KNeighborsClassifier(n_neighbors=5),
    "DT": lambda split: DecisionTreeClassifier(max_depth=10),
    "C4.5": lambda split: DecisionTreeClassifier(),
    "LR": lambda split: LogisticRegression(max_iter=1000),
    # The paper trains its own with PyTorch and does not say how. With these steps it comes near the Bayes value.
    "MLP": lambda split: make_pipeline(
        StandardScaler(),
        MLPClassifier(hidden_layer_sizes=(128,), learning_rate_init=0.01, n_iter_no_change=30, max_iter=500),
    ),
    # Its decision function ranks; the probabilities of SVC would take a cross-validation more.
    "SVM": lambda split: SVC(C=1000),
    "AdaBoost10": lambda split: AdaBoostClassifier(DecisionTreeClassifier(max_depth=10), n_estimators=10),
    "Bagging10": lambda split: BaggingClassifier(n_estimators=10),
    "RandForest10": lambda split: RandomForestClassifier(n_estimators=10),
    "GBDT10": lambda split: EarlyStoppingGBDT(Validation.of(split)),
}
