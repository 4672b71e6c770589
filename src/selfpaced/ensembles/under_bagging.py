"""Under-bagging as a scikit-learn classifier."""

from __future__ import annotations

from functools import partial

from selfpaced.algorithms import under_bagging
from selfpaced.ensembles.fitting.fit import Algorithm
from selfpaced.ensembles.under_sampling import UnderSamplingEnsemble


class UnderBaggingClassifier(UnderSamplingEnsemble):
    """Under-bagging: members trained on all rare rows and as many common rows drawn at random.

    Each member sees a small random part of the common rows, regardless of what the other members learned. This is
    fast, but misses most of the few common rows that look rare. All draws are without replacement.

    Parameters
    ----------
    estimator : classifier, default=DecisionTreeClassifier()
        The base model, as in `SelfPacedEnsembleClassifier`.
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
    SelfPacedEnsembleClassifier : Draws common rows by their hardness.
    EasyEnsembleClassifier : Under-bagging with AdaBoost members.

    References
    ----------
    R. Barandela, R. M. Valdovinos, J. S. Sánchez. New applications of ensembles of classifiers. Pattern Analysis and
    Applications, 2003.

    Examples
    --------
    >>> from selfpaced import UnderBaggingClassifier
    >>> from selfpaced.datasets import make_checkerboard
    >>> X, y = make_checkerboard(n_minority=100, n_majority=1000, random_state=0)
    >>> model = UnderBaggingClassifier(random_state=0).fit(X, y)
    >>> len(model.estimators_), model.rounds_[0].n_rows
    (10, 200)
    """

    _members_are_independent = True

    def _algorithm(self, n_members: int) -> Algorithm:
        return partial(under_bagging, n_models=n_members)
