"""Ensembles on random under-samples: EasyEnsemble and RUSBoost."""

from typing import Any

from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from selfpaced.baselines import boosting
from selfpaced.baselines.boosting import BoostingEnsemble
from selfpaced.ensembles import UnderBaggingClassifier, checks, rows_to_draw, with_inherited_entries
from selfpaced.tables import split_classes, stack


@with_inherited_entries
class EasyEnsembleClassifier(UnderBaggingClassifier):
    """EasyEnsemble: under-bagging whose members are boosted.

    It is `UnderBaggingClassifier` with AdaBoost as the base model.

    Parameters
    ----------
    estimator : classifier, default=AdaBoostClassifier of 10 trees of depth 10
        The base model. Trees of depth 1, the default of AdaBoost, cannot describe a rare class with several centres.

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


@with_inherited_entries
class RUSBoostClassifier(BoostingEnsemble):
    """RUSBoost: each member is trained on all rare rows and as many random common rows, weighted by boosting.

    After each round all rows get new weights, including those that were not drawn. The lower the probability that the
    new member gives to a row's own class, the higher its new weight. Members with smaller errors count more.

    With more than two classes the smallest is the minority, and every other is drawn down to its size.

    X is an array, a memory map, a CSR matrix or a frame (pandas, polars, pyarrow). Frames reach the base model as
    frames, so that it finds its columns by name and categories by type.

    Parameters
    ----------
    ratio : float, default=1.0
        Rows drawn from each larger class per minority row.

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
        super().__init__(estimator, n_estimators, n_jobs, random_state)
        self.ratio = ratio
        self.learning_rate = learning_rate

    def _rows_of_round(self, task: boosting.TrainingTask) -> boosting.RowsOfRound:
        labels = task.labels
        split = split_classes(task.table, labels, task.seed, task.n_threads)
        n_draw = rows_to_draw(checks.check_positive("ratio", self.ratio), labels)

        def draw(number: int, weights: boosting.Floats) -> boosting.TrainingRows:
            rows = stack([split.minority, *(pool.draw([n_draw], number) for pool in split.pools.values())])
            return boosting.TrainingRows(
                rows.features, labels.codes[rows.ids], boosting.with_mean_one(weights[rows.ids]), rows.metadata
            )

        return draw
