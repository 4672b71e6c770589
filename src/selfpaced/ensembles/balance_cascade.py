"""BalanceCascade as a scikit-learn classifier."""

from __future__ import annotations

from functools import partial

from selfpaced.algorithms.balance_cascade import balance_cascade
from selfpaced.ensembles.training import Algorithm
from selfpaced.ensembles.under_sampling import UnderSamplingEnsemble


class BalanceCascadeClassifier(UnderSamplingEnsemble):
    """BalanceCascade: under-bagging that drops the common rows which the ensemble already classifies well.

    Each member is trained on all rare rows and as many common rows drawn at random from those that are left. After
    each round only the hardest common rows stay, by the mean probability of the members so far; of rows that are
    equally hard a random choice, never the first in the table. Every round keeps the same share, so that the last
    member is trained on the very hardest rows. Where classes overlap, those are noise.

    The article lets go what the newest member classifies well, at a threshold of its own. Here the mean of all members
    so far decides, as in the comparison published with Self-paced Ensemble.

    Parameters
    ----------
    estimator : classifier, default=DecisionTreeClassifier()
        The base model, as in `SelfPacedEnsembleClassifier`. The article's is AdaBoost.
    n_estimators : int, default=10
        Members of the ensemble.
    ratio : float, default=1.0
        Rows drawn from each larger class per minority row.
    n_jobs : int, default=None
        Threads for scoring rows; None is 1 and -1 is all cores. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of all draws and of every `random_state` inside the base model. The same number gives the same members.
    callbacks : Callback or list of Callback, default=None
        What to do beside the fit; see `selfpaced.callbacks`.

    Attributes
    ----------
    estimators_ : list of the fitted members.
    classes_ : the labels, sorted.
    minority_class_ : the label of the rarest class.
    class_counts_ : rows of each of `classes_` in the training data.
    rounds_ : list of `selfpaced.rounds.Round`, one for each member; all rows of a class are one bin.
    n_features_in_ : number of features.
    feature_names_in_ : their names, if X had names.
    feature_importances_ : mean importance of each feature, if the members have importances.

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
