"""Self-paced Ensemble as a scikit-learn classifier."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from selfpaced.algorithms import hardness_named, pacing_named, self_paced
from selfpaced.callbacks import Callback
from selfpaced.ensembles.checks import check_whole, with_inherited_entries
from selfpaced.ensembles.fit import Algorithm
from selfpaced.ensembles.pools import weighting_named
from selfpaced.ensembles.under_sampling import UnderSamplingEnsemble

# A bin number takes at most two bytes for each row. More bins than this would be nearly empty.
MOST_BINS = 2**16


@with_inherited_entries
class SelfPacedEnsembleClassifier(UnderSamplingEnsemble):
    """Self-paced Ensemble: members trained on all rare rows and common rows drawn by how hard they are.

    Each round scores the common rows with the ensemble so far, sorts them into bins by hardness, and draws as many of
    them as there are rare rows. Early rounds draw mostly from the bins of easy rows, late rounds equally from all bins.
    So borderline rows are over-represented, noise gets little weight, and a few easy rows are always kept.

    With more than two classes the smallest is the minority. Every other class has its own hardness bins, and as many
    rows are drawn from it.

    Parameters
    ----------
    estimator : classifier or list of classifiers, default=DecisionTreeClassifier()
        The base model. If it has no `predict_proba`, the decision function gives the probabilities (by the logistic
        function, or softmax for several classes). Without a decision function, the predicted class has probability 1.
        The base model sees the labels as class numbers 0, 1, ... The models of a list take turns: the warm-up is
        trained with the first, the first member with the second, and so on.
    n_estimators : int, default=10
        The number of members. One more model, the warm-up, is trained and not kept.
    n_bins : int, default=20
        The number of hardness bins, at most 65,536. With one bin, rows are drawn at random.
    hardness : {"absolute", "squared", "cross_entropy"} or callable, default="absolute"
        A row's hardness as a function of the probability of the classes that it does not belong to (with two classes:
        of the minority). A callable gets an array of such probabilities and returns an array of as many numbers >= 0.
        Each number must depend on its own probability alone. Bins divide [0, 1]. For cross entropy, and for a callable
        that exceeds 1, they divide [0, largest observed].
    pacing : "tan" or callable, default="tan"
        The self-paced factor: `tan(i * pi / 2n)` in round i of n, or the result of a callable for (i, n). At 0 each bin
        contributes the same hardness; at infinity the same number of rows.
    n_jobs : int, default=None
        Threads for scoring rows; None is 1 and -1 is all cores, as everywhere in scikit-learn. The result does not
        depend on it. Models of other libraries with their own `n_jobs`, such as LightGBM, use their own.
    calibration : {"isotonic", "beta", "sigmoid", "prior"} or None, default=None
        How scores become probabilities. With None they do not: the mean of the members ranks rows well, but is far too
        high, because members are trained on equal shares of the classes. "prior" is the closed form for under-sampled
        classes. It costs nothing, but is right only if rows are drawn regardless of their hardness. The others fit a
        monotonic map to cross-fitted scores of the training rows: five copies of each member are trained, each without
        a fifth of the member's rows, so a fit takes several times as long. If all classes have 1,000 rows or more there
        are three copies, each without a third; with 10,000 rows or more there are two, each without half of the rows.
        "isotonic" is usually the best. With two classes the map does not change the ranking.
        With more classes each class has its own map, which can change the ranking slightly.
    weighting : {"sqrt", "inverse"} or None, default=None
        The weight of a drawn row in the fit of a member. With None all rows have the same weight, as in the paper.
        Otherwise a row of a hardness bin from which m of n rows were drawn has the weight sqrt(n / m) or n / m, times
        its sample weight. With "inverse", members learn the true shares of the classes. Hardness is then computed after
        their probabilities are mapped back to equal shares, and 30% of the rows are drawn from the whole class, so that
        every bin is seen. The base model must accept `sample_weight`.

    Attributes
    ----------
    rounds_ : list of Round
        For the warm-up (`rounds_[0]`) and each round: alpha, bins, quotas, rows used, seconds, eval_set score.
    calibrator_ : Calibrator or None
        The map of the calibration; None without one.

    See Also
    --------
    AutoSelfPacedClassifier : Compares several recipes and blends the best.
    UnderBaggingClassifier : Draws common rows at random.
    BalanceCascadeClassifier : Drops the common rows that are classified well.

    Notes
    -----
    Members that compute with BLAS (neural networks, linear models) give probabilities that depend on the size of the
    chunk in which a row is scored, by about 1e-7. For them the same seed gives the same members only with the same
    number of threads and the same chunk size.

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
