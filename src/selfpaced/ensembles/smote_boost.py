"""SMOTEBoost: boosting with ever more synthetic minority rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from selfpaced.algorithms.boosting import Floats
from selfpaced.ensembles.boosting import BoostingEnsemble, RowsOfRound, TrainingRows
from selfpaced.ensembles.checks import check_whole
from selfpaced.ensembles.smote import Numbers, Smote, SyntheticRowsEnsemble
from selfpaced.tables import InMemoryTable, Labels


class SMOTEBoostClassifier(SyntheticRowsEnsemble, BoostingEnsemble):
    """SMOTEBoost: each member is trained on all rows, weighted by boosting, and on the synthetic rare rows so far.

    The first member sees the real rows only. Every round after it adds as many new synthetic rows as there are rare
    ones, each on the line between a rare row and one of its nearest rare neighbours. Weights live on the real rows; a
    synthetic row weighs as much as the average real one.

    With more than two classes every class but the largest grows in each round by as many rows as it has. No class
    grows beyond the largest.

    X is an array or a frame (pandas, polars, pyarrow) of numbers without gaps; members see arrays.

    Parameters
    ----------
    estimator : classifier, default=DecisionTreeClassifier()
        The base model. Its `fit` must take `sample_weight`. Its labels are the class numbers 0, 1, ...
    n_estimators : int, default=10
        Members of the ensemble. After a model that is no better than chance on all real rows, which is no member, the
        weights of the rows start over. Two such models in a row end the training.
    k_neighbors : int, default=5
        Neighbours among which SMOTE chooses; fewer if the class has fewer.
    learning_rate : float, default=1.0
        Factor of what each member counts, and so of how far the weights of the rows move in a round.
    n_jobs : int, default=None
        Threads for scoring rows; None is 1 and -1 is all cores. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of SMOTE and of every `random_state` inside the base model. The same number gives the same members.

    Attributes
    ----------
    estimators_ : list of the fitted members.
    estimator_weights_ : what each member counts in the mean of the probabilities.
    n_training_rows_ : list of the number of rows, real and synthetic, that each member was trained on.
    classes_ : the labels, sorted.
    minority_class_ : the label of the rarest class.
    class_counts_ : rows of each of `classes_` in the training data.
    n_features_in_ : number of features.
    feature_names_in_ : their names, if X had names.
    feature_importances_ : mean importance of each feature, weighted as the members are, if they have importances.

    Notes
    -----
    SMOTE is imbalanced-learn's: `pip install 'selfpaced[smote]'`.

    A row's loss is its doubt, the probability given to the classes it does not belong to. For two classes this is
    AdaBoost.M2 as the paper uses it; for more, see `selfpaced.algorithms.boosting`. A member without any loss, such as
    a fully grown tree, does not end the training: it counts much, the rows keep their weights, and the next member
    differs by its new rows.

    References
    ----------
    N. V. Chawla, A. Lazarevic, L. O. Hall, K. W. Bowyer. SMOTEBoost: Improving Prediction of the Minority Class in
    Boosting. PKDD 2003.

    Examples
    --------
    >>> from selfpaced import SMOTEBoostClassifier
    >>> from selfpaced.datasets import make_checkerboard
    >>> from sklearn.metrics import average_precision_score
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = make_checkerboard(random_state=0)
    >>> X_test, y_test = make_checkerboard(random_state=1)
    >>> model = SMOTEBoostClassifier(DecisionTreeClassifier(max_depth=10), random_state=0).fit(X, y)
    >>> average_precision_score(y_test, model.predict_proba(X_test)[:, 1]) > 0.4
    True
    >>> model.n_training_rows_[:3]
    [11000, 12000, 13000]
    """

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        k_neighbors: int = 5,
        learning_rate: float = 1.0,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.k_neighbors = k_neighbors
        self.learning_rate = learning_rate
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _rows_of_round(self, table: InMemoryTable, labels: Labels, seed: int) -> RowsOfRound:
        smote = Smote(check_whole("k_neighbors", self.k_neighbors), seed)
        return _GrowingRows(table.span(0, table.n_rows), labels, smote)


class _GrowingRows:
    """All real rows, and the synthetic ones of this round and those before it."""

    def __init__(self, real: Numbers, labels: Labels, smote: Smote) -> None:
        self._real = real
        self._labels = labels
        self._smote = smote
        self._features = real
        self._y = labels.codes
        self._counts = labels.counts.copy()

    def __call__(self, number: int, weights: Floats) -> TrainingRows:
        if number > 0:
            self._grow(number)
        synthetic = np.full(self._y.size - weights.size, weights.mean())
        return TrainingRows(self._features, self._y, np.concatenate([weights, synthetic]), {})

    def _grow(self, number: int) -> None:
        room = self._labels.counts.max() - self._counts
        n_new = np.minimum(self._labels.counts, room)
        blocks = [
            self._smote.new_rows(self._real[self._labels.ids(class_number)], n, number, class_number)
            for class_number, n in enumerate(n_new.tolist())
            if n
        ]
        self._features = np.concatenate([self._features, *blocks])
        self._y = np.concatenate([self._y, np.repeat(np.arange(n_new.size, dtype=self._y.dtype), n_new)])
        self._counts += n_new
