"""SMOTEBagging: bags in which SMOTE makes all classes equally large."""

from __future__ import annotations

from typing import Any, Self

from selfpaced.baselines.smote import Bags, Smote, SyntheticRowsEnsemble, parts_named
from selfpaced.ensembles import (
    check_classifier,
    check_jobs,
    check_labels,
    check_seed,
    check_whole,
    fit_metadata,
    split_by_row,
)
from selfpaced.ensembles.fitting import MemberFactory, naming_the_round


class SMOTEBaggingClassifier(SyntheticRowsEnsemble):
    """SMOTEBagging: members trained on bags that mix drawn and synthetic rare rows in changing shares.

    Bag i has a share b of 10%, 20%, ..., 100%, 10%, ... The members' probabilities are averaged.

    X is an array or a frame (pandas, polars, pyarrow) of numbers without missing values; members see arrays.

    Parameters
    ----------
    estimator : classifier, default=DecisionTreeClassifier()
        The base model. It sees the labels as class numbers 0, 1, ...
    n_estimators : int, default=10
        The number of members.
    bags : {"growing", "full"}, default="growing"
        "growing": a share b of every class's rows, at least 2, is drawn with replacement. Then SMOTE makes every class
        as large as the largest in the bag. These are the sizes that the Self-paced Ensemble paper reports.
        "full": the method as published. Every bag draws as many rows of the largest class as it has, with replacement.
        Every other class becomes as large: the share b of these rows is drawn with replacement, SMOTE makes the rest.
    k_neighbors : int, default=5
        The number of neighbours among which SMOTE chooses; fewer if there are fewer rows.
    n_jobs : int, default=None
        Threads for scoring rows; None is 1 and -1 is all cores. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the draws, of SMOTE and of every `random_state` inside the base model. The same number gives the same
        members.

    Attributes
    ----------
    estimators_ : list of estimator
        The fitted members.
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
        The mean importance of each feature, if the members have importances.

    See Also
    --------
    SMOTEBoostClassifier : Boosting with synthetic rare rows.
    UnderBaggingClassifier : Bags without synthetic rows.

    Notes
    -----
    SMOTE needs imbalanced-learn: `pip install 'selfpaced[smote]'`.

    References
    ----------
    S. Wang, X. Yao. Diversity Analysis on Imbalanced Data Sets by Using Ensemble Models. IEEE Symposium on
    Computational Intelligence and Data Mining 2009.

    Examples
    --------
    >>> from selfpaced.baselines import SMOTEBaggingClassifier
    >>> from selfpaced.datasets import make_checkerboard
    >>> from sklearn.metrics import average_precision_score
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = make_checkerboard(random_state=0)
    >>> X_test, y_test = make_checkerboard(random_state=1)
    >>> model = SMOTEBaggingClassifier(DecisionTreeClassifier(max_depth=10), random_state=0).fit(X, y)
    >>> average_precision_score(y_test, model.predict_proba(X_test)[:, 1]) > 0.4
    True
    >>> model.n_training_rows_[:3]
    [2000, 4000, 6000]
    """

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        bags: str = "growing",
        k_neighbors: int = 5,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.bags = bags
        self.k_neighbors = k_neighbors
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Train the ensemble.

        Parameters
        ----------
        X : {ndarray, memory map, pandas or polars DataFrame, pyarrow Table} of shape (n_rows, n_features)
            Features: numbers without missing values.
        y : array-like of shape (n_rows,)
            Labels of any kind. The rarest class is the minority.
        **fit_params : metadata for the base model's `fit`
            `sample_weight`, if the base model accepts it. A synthetic row has the mean weight of its class. Metadata
            that are the same for all rows need metadata routing.

        Returns
        -------
        self : estimator
            The fitted ensemble.
        """
        n_members = check_whole("n_estimators", self.n_estimators)
        parts_of_bag = parts_named(self.bags)
        seed = check_seed(self.random_state)
        smote = Smote(check_whole("k_neighbors", self.k_neighbors), seed)
        check_jobs(self.n_jobs)
        base = check_classifier(self._base())

        X = self._checked(X)
        labels = check_labels(y, X)
        per_row, for_all = split_by_row(fit_metadata(self, [base], labels, fit_params), len(labels.codes))
        weights = per_row.pop("sample_weight", None)
        self._check_row_metadata(per_row)

        classes = [labels.ids(number) for number in range(labels.classes.size)]
        bags = Bags(X, weights, classes, parts_of_bag, smote, seed)
        steps = bags.members(MemberFactory([base], seed, for_all), n_members)
        members = list(naming_the_round(steps, 1, n_members))
        self.n_training_rows_ = [n_rows for _, n_rows in members]
        return self._keep_members([model for model, _ in members], None, labels, X)
