"""Self-paced Ensemble as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from selfpaced.algorithms.hardness import hardness_named
from selfpaced.algorithms.pacing import pacing_named
from selfpaced.algorithms.self_paced import self_paced
from selfpaced.callbacks import Callback
from selfpaced.ensembles.checks import check_whole
from selfpaced.ensembles.training import Algorithm
from selfpaced.ensembles.under_sampling import UnderSamplingEnsemble
from selfpaced.ensembles.weighting import weighting_named

# A bin number takes at most two bytes a row; more bins than this would each hold next to nothing.
MOST_BINS = 2**16


class SelfPacedEnsembleClassifier(UnderSamplingEnsemble):
    """Self-paced Ensemble: members trained on all rare rows and common rows drawn by how hard they are.

    Each round scores the common rows with the ensemble so far, sorts them into bins by hardness and draws as many as
    there are rare rows, first mostly from the bins in which little is wrong and then from all bins alike: borderline
    rows are over-represented, noise is not chased, and the mass of trivial rows keeps a skeleton.

    With more than two classes the smallest is the minority, and every other is drawn down to its size from hardness
    bins of its own.

    Parameters
    ----------
    estimator : classifier or list of classifiers, default=DecisionTreeClassifier()
        The base model. One without `predict_proba` is scored by its decision function (logistic function, or softmax
        for several classes) or, failing that, by its votes. Its labels are the class numbers 0, 1, ... The models of a
        list take turns: the warm-up is trained with the first, the first member with the second, and so on.
    n_estimators : int, default=10
        Members of the ensemble. One more model, the warm-up, is trained and not kept.
    n_bins : int, default=20
        Hardness bins, at most 65,536. One bin is random under-bagging.
    hardness : {"absolute", "squared", "cross_entropy"} or callable, default="absolute"
        How a row's hardness follows from the ensemble's probability of its being of another class (for two classes:
        of the minority). A callable gets an array of such probabilities, of some of the rows, and returns as many
        numbers >= 0, each from its own probability alone. Bins divide [0, 1]; for cross entropy, and for a callable
        that exceeds 1, they divide [0, largest observed].
    pacing : "tan" or callable, default="tan"
        The self-paced factor: `tan(i * pi / 2n)` in round i of n, or what a callable returns for (i, n). At 0 each bin
        contributes the same hardness; at infinity the same number of rows.
    ratio : float, default=1.0
        Rows drawn from each larger class per minority row.
    n_jobs : int, default=None
        Threads for scoring rows; None is 1 and -1 is all cores, as everywhere in scikit-learn. The result does not
        depend on it. Models with an `n_jobs` of their own that is not scikit-learn's, such as LightGBM, follow that.
    random_state : int, RandomState or None, default=None
        Seed of all draws and of every `random_state` inside the base model. The same number gives the same members.
    callbacks : Callback or list of Callback, default=None
        What to do beside the fit; see `selfpaced.callbacks`.
    calibration : {"isotonic", "beta", "sigmoid", "prior"}, default=None
        How `predict_proba` is brought from the balanced world that the members have seen to that of the rows. By
        default it is not: the mean of the members ranks well and is far too high. "prior" is the closed form for
        classes that are thinned out; it costs nothing, and is right only where rows are drawn without a look at their
        hardness. The others fit a rising map to honest scores of the training rows: five copies of each member are
        trained, each without a fifth of the member's rows (three without a third, if all classes have 1,000 rows or
        more), so that a fit takes several times as long. "isotonic" is the best of them on the whole. With two classes
        the map is monotonic, so it does not change the ranking. With more classes each class has its own map, which
        can change the ranking slightly.
    weighting : {"sqrt", "inverse"} or None, default=None
        What a drawn row weighs in the fit of a member. By default all rows weigh the same, as in the paper. A row of a
        hardness bin from which m of n rows were drawn weighs sqrt(n / m) or n / m, times its sample weight. With
        "inverse" members learn the true shares of the classes; hardness is judged after their probabilities are
        brought back to equal shares, and 30% of the rows are drawn from the whole class, so that every bin is seen.
        The base model must take `sample_weight`.

    Attributes
    ----------
    estimators_ : list of the fitted members.
    classes_ : the labels, sorted.
    minority_class_ : the label of the rarest class.
    class_counts_ : rows of each of `classes_` in the training data.
    rounds_ : list of `selfpaced.rounds.Round`
        For the warm-up (`rounds_[0]`) and each round: alpha, bins, quotas, rows used, seconds, eval_set score.
    calibrator_ : the map of the calibration; None without one.
    n_features_in_ : number of features.
    feature_names_in_ : their names, if X had names.
    feature_importances_ : mean importance of each feature, if the members have importances.

    Notes
    -----
    Members that compute through BLAS (neural networks, linear models) give a row probabilities that differ by about
    1e-7 with the chunk it is scored in. For them "the same members" holds on one setting of threads and memory only.

    References
    ----------
    Z. Liu, W. Cao, Z. Gao, J. Bian, H. Chen, Y. Chang, T.-Y. Liu. Self-paced Ensemble for Highly Imbalanced Massive
    Data Classification. ICDE 2020.

    Examples
    --------
    >>> from selfpaced import SelfPacedEnsembleClassifier
    >>> from selfpaced.datasets import make_checkerboard
    >>> from sklearn.metrics import average_precision_score
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = make_checkerboard(random_state=0)
    >>> X_test, y_test = make_checkerboard(random_state=1)
    >>> tree = DecisionTreeClassifier(max_depth=10)
    >>> model = SelfPacedEnsembleClassifier(tree, random_state=0).fit(X, y)
    >>> average_precision_score(y_test, model.predict_proba(X_test)[:, 1]) > 0.5
    True
    """

    _first_round = 0

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        n_bins: int = 20,
        hardness: str | Callable[[Any], Any] = "absolute",
        pacing: str | Callable[[int, int], float] = "tan",
        ratio: float = 1.0,
        n_jobs: int | None = None,
        random_state: Any = None,
        callbacks: Sequence[Callback] | Callback | None = None,
        calibration: str | None = None,
        weighting: str | None = None,
    ) -> None:
        super().__init__(
            estimator, n_estimators, ratio=ratio, n_jobs=n_jobs, random_state=random_state, callbacks=callbacks
        )
        self.calibration = calibration
        self.n_bins = n_bins
        self.hardness = hardness
        self.pacing = pacing
        self.weighting = weighting

    def _algorithm(self, n_members: int) -> Algorithm:
        weighting = weighting_named(self.weighting)
        return partial(
            self_paced,
            uniform_share=0.0 if weighting is None else weighting.uniform_share,
            hardness=hardness_named(self.hardness),
            pacing=pacing_named(self.pacing),
            n_models=n_members,
            n_bins=check_whole("n_bins", self.n_bins, at_most=MOST_BINS),
        )
