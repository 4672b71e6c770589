"""Under-bagging as a scikit-learn classifier."""

from __future__ import annotations

from functools import partial

from selfpaced.algorithms.under_bagging import under_bagging
from selfpaced.ensembles.training import Algorithm
from selfpaced.ensembles.under_sampling import UnderSamplingEnsemble


class UnderBaggingClassifier(UnderSamplingEnsemble):
    """Under-bagging: members trained on all rare rows and as many common rows drawn at random.

    Of the common rows each member sees a small part, chosen without regard to what the others learned: cheap, and
    blind to the few common rows that look rare. All draws are without replacement.

    Parameters
    ----------
    estimator : classifier, default=DecisionTreeClassifier()
        The base model, as in `SelfPacedEnsembleClassifier`.
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

    def _algorithm(self, n_members: int) -> Algorithm:
        return partial(under_bagging, n_models=n_members)
