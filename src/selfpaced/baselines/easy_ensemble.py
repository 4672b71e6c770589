"""EasyEnsemble as a scikit-learn classifier."""

from __future__ import annotations

from typing import Any

from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from selfpaced.ensembles import UnderBaggingClassifier


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
