"""BalanceCascade as a scikit-learn classifier."""

from __future__ import annotations

from functools import partial

from selfpaced.algorithms import balance_cascade
from selfpaced.ensembles.fitting.fit import Algorithm
from selfpaced.ensembles.under_sampling import UnderSamplingEnsemble


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
    n_estimators : int, default=10
        The number of members.
    ratio : float, default=1.0
        Rows drawn from each larger class per minority row.
    n_jobs : int, default=None
        Threads for scoring rows; None is 1 and -1 is all cores. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of all draws and of every `random_state` inside the base model. The same number gives the same members.
    callbacks : Callback or list of Callback, default=None
        Callbacks during the fit; see `selfpaced.callbacks`.

    Attributes
    ----------
    estimators_ : list of estimator
        The fitted members.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    pos_label_ : label
        The label whose probability is the score: that of the rarest class, unless a table was opened with another one.
    class_counts_ : ndarray of shape (n_classes,)
        The number of training rows of each of `classes_`.
    rounds_ : list of Round
        Notes of each round (`selfpaced.callbacks.Round`). All rows of a class are in one bin.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        The names of the features, if X had names.
    feature_importances_ : ndarray of shape (n_features,)
        The mean importance of each feature, if the members have importances.

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
