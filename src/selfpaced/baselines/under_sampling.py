"""Ensembles on random under-samples: EasyEnsemble and RUSBoost."""

from __future__ import annotations

from typing import Any

from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from selfpaced.baselines.boosting import (
    BoostingEnsemble,
    Floats,
    RowsOfRound,
    TrainingRows,
    TrainingTask,
    with_mean_one,
)
from selfpaced.ensembles import UnderBaggingClassifier, check_positive, rows_to_draw
from selfpaced.tables import split_classes, stack


class EasyEnsembleClassifier(UnderBaggingClassifier):
    """EasyEnsemble: under-bagging whose members are boosted.

    It is `UnderBaggingClassifier` with AdaBoost as the base model, and has the same attributes.

    Parameters
    ----------
    estimator : classifier, default=AdaBoostClassifier of 10 trees of depth 10
        The base model. Trees of depth 1, the default of AdaBoost, cannot describe a rare class with several centres.
    n_estimators : int, default=10
        The number of members.
    ratio : float, default=1.0
        Rows drawn from each larger class per minority row.
    n_jobs : int or None, default=None
        Threads for scoring rows; None is 1 and -1 is all cores.
    random_state : int, RandomState or None, default=None
        Seed of all draws and of every `random_state` inside the base model.
    callbacks : Callback, list of Callback or None, default=None
        Callbacks during the fit; see `selfpaced.callbacks`.

    See Also
    --------
    UnderBaggingClassifier : The same with any base model.
    RUSBoostClassifier : Boosting over the members, not inside each member.

    References
    ----------
    X.-Y. Liu, J. Wu, Z.-H. Zhou. Exploratory Undersampling for Class-Imbalance Learning. IEEE Transactions on Systems,
    Man, and Cybernetics, 2009.

    Examples
    --------
    >>> from selfpaced.baselines import EasyEnsembleClassifier
    >>> from selfpaced.datasets import make_checkerboard
    >>> X, y = make_checkerboard(n_minority=100, n_majority=1000, random_state=0)
    >>> model = EasyEnsembleClassifier(random_state=0).fit(X, y)
    >>> len(model.estimators_), type(model.estimators_[0]).__name__
    (10, 'AdaBoostClassifier')
    """

    def _base(self) -> Any:
        if self.estimator is None:
            return AdaBoostClassifier(DecisionTreeClassifier(max_depth=10), n_estimators=10)
        return self.estimator


class RUSBoostClassifier(BoostingEnsemble):
    """RUSBoost: each member is trained on all rare rows and as many random common rows, weighted by boosting.

    After each round all rows get new weights, including those that were not drawn. The lower the probability that the
    new member gives to a row's own class, the higher its new weight. Members with smaller errors count more.

    With more than two classes the smallest is the minority, and every other is drawn down to its size.

    X is an array, a memory map, a CSR matrix or a frame (pandas, polars, pyarrow). Frames reach the base model as
    frames, so that it finds its columns by name and categories by type.

    Parameters
    ----------
    estimator : classifier, default=DecisionTreeClassifier()
        The base model. Its `fit` must accept `sample_weight`. It sees the labels as class numbers 0, 1, ...
    n_estimators : int, default=10
        The number of members. A model that is not better than chance on all rows does not become a member, and the
        weights of the rows are reset. Two such models in a row end the training.
    ratio : float, default=1.0
        Rows drawn from each larger class per minority row.
    learning_rate : float, default=1.0
        A factor of the weight of each member, and thereby of the change of the row weights in a round.
    n_jobs : int, default=None
        Threads for scoring rows; None is 1 and -1 is all cores. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of all draws and of every `random_state` inside the base model. The same number gives the same members.

    Attributes
    ----------
    estimators_ : list of estimator
        The fitted members.
    estimator_weights_ : ndarray of shape (n_members,)
        The weight of each member in the mean of the probabilities.
    n_training_rows_ : list of int
        The number of rows that each member was trained on.
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
    SMOTEBoostClassifier : Boosting with synthetic rare rows.
    EasyEnsembleClassifier : Members that are boosted themselves.

    Notes
    -----
    A row's loss is its doubt: the probability of the classes that it does not belong to. For two classes this is
    AdaBoost.M2 as the paper uses it; for more, see `selfpaced.baselines.boosting`. A member without any loss does not
    end the training: it gets a high weight, the rows keep their weights, and the next member is trained on other rows.

    References
    ----------
    C. Seiffert, T. M. Khoshgoftaar, J. Van Hulse, A. Napolitano. RUSBoost: A Hybrid Approach to Alleviating Class
    Imbalance. IEEE Transactions on Systems, Man, and Cybernetics A 40(1), 2010.

    Examples
    --------
    >>> from selfpaced.baselines import RUSBoostClassifier
    >>> from selfpaced.datasets import make_checkerboard
    >>> from sklearn.metrics import average_precision_score
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = make_checkerboard(random_state=0)
    >>> X_test, y_test = make_checkerboard(random_state=1)
    >>> model = RUSBoostClassifier(DecisionTreeClassifier(max_depth=10), random_state=0).fit(X, y)
    >>> average_precision_score(y_test, model.predict_proba(X_test)[:, 1]) > 0.4
    True
    >>> model.n_training_rows_[:3]
    [2000, 2000, 2000]
    """

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        ratio: float = 1.0,
        learning_rate: float = 1.0,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.ratio = ratio
        self.learning_rate = learning_rate
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _rows_of_round(self, task: TrainingTask) -> RowsOfRound:
        labels = task.labels
        split = split_classes(task.table, labels, task.seed, task.n_threads)
        n_draw = rows_to_draw(check_positive("ratio", self.ratio), labels)

        def draw(number: int, weights: Floats) -> TrainingRows:
            rows = stack([split.minority, *(pool.draw([n_draw], number) for pool in split.pools.values())])
            return TrainingRows(rows.features, labels.codes[rows.ids], with_mean_one(weights[rows.ids]), rows.metadata)

        return draw
