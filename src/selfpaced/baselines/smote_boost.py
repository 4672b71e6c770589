"""SMOTEBoost: boosting with ever more synthetic minority rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from selfpaced.baselines.boosting import BoostingEnsemble, Floats, RowsOfRound, TrainingRows, TrainingTask
from selfpaced.baselines.smote import Numbers, Smote, SyntheticRowsEnsemble
from selfpaced.ensembles import check_whole
from selfpaced.tables import Labels


class SMOTEBoostClassifier(SyntheticRowsEnsemble, BoostingEnsemble):
    """SMOTEBoost: each member is trained on all rows, weighted by boosting, and on the synthetic rare rows so far.

    The first member sees the real rows only. Every further round adds as many new synthetic rows as there are rare
    rows, each on the line between a rare row and one of its nearest rare neighbours. Boosting weights the real rows; a
    synthetic row has the mean weight of the real rows.

    With more than two classes, every class except the largest grows in each round by the number of its real rows. No
    class grows beyond the largest.

    X is an array or a frame (pandas, polars, pyarrow) of numbers without missing values; members see arrays.

    Parameters
    ----------
    estimator : classifier, default=DecisionTreeClassifier()
        The base model. Its `fit` must accept `sample_weight`. It sees the labels as class numbers 0, 1, ...
    n_estimators : int, default=10
        The number of members. A model that is not better than chance on all real rows does not become a member, and
        the weights of the rows are reset. Two such models in a row end the training.
    k_neighbors : int, default=5
        The number of neighbours among which SMOTE chooses; fewer if the class has fewer rows.
    learning_rate : float, default=1.0
        A factor of the weight of each member, and thereby of the change of the row weights in a round.
    n_jobs : int, default=None
        Threads for scoring rows; None is 1 and -1 is all cores. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of SMOTE and of every `random_state` inside the base model. The same number gives the same members.

    Attributes
    ----------
    estimators_ : list of estimator
        The fitted members.
    estimator_weights_ : ndarray of shape (n_members,)
        The weight of each member in the mean of the probabilities.
    n_training_rows_ : list of int
        The number of rows, real and synthetic, that each member was trained on.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    pos_label_ : label
        The label whose probability is the score: that of the rarest class, unless a table was opened with another one.
    class_counts_ : ndarray of shape (n_classes,)
        The number of training rows of each of `classes_`.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        The names of the features, if X had names.
    feature_importances_ : ndarray of shape (n_features,)
        The mean importance of each feature, weighted as the members are, if they have importances.

    See Also
    --------
    SMOTEBaggingClassifier : Bags with synthetic rare rows.
    RUSBoostClassifier : Boosting on random under-samples.

    Notes
    -----
    SMOTE needs imbalanced-learn: `pip install 'selfpaced[smote]'`.

    A row's loss is its doubt: the probability of the classes that it does not belong to. For two classes this is
    AdaBoost.M2 as the paper uses it; for more, see `selfpaced.baselines.boosting`. A member without any loss, such as
    a fully grown tree, does not end the training: it gets a high weight, the rows keep their weights, and the next
    member differs by its new rows.

    References
    ----------
    N. V. Chawla, A. Lazarevic, L. O. Hall, K. W. Bowyer. SMOTEBoost: Improving Prediction of the Minority Class in
    Boosting. PKDD 2003.

    Examples
    --------
    >>> from selfpaced.baselines import SMOTEBoostClassifier
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

    def _rows_of_round(self, task: TrainingTask) -> RowsOfRound:
        smote = Smote(check_whole("k_neighbors", self.k_neighbors), task.seed)
        return _GrowingRows(task.table.span(0, task.table.n_rows), task.labels, smote)


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
