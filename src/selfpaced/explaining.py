"""Why a row has its score: SHAP values of an ensemble."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from selfpaced.ensembles import AveragingEnsemble
from selfpaced.exceptions import need
from selfpaced.model import feature_names_of
from selfpaced.tables import InMemoryTable, float_array, is_frame, polars_as_arrow

__all__ = ["shap_values"]

INSTEAD = (
    "sklearn.inspection.permutation_importance(model, X, y, scoring='average_precision') works with members of any "
    "kind."
)


Floats = NDArray[np.float64]
# Each is done forwards and backwards. For a model without interactions of three features two are enough.
N_PERMUTATIONS = 10
SEED = 0


class Mixing:
    """Rows that have some features of an explained row, and the others of each row of the background."""

    def __init__(self, explained: InMemoryTable, background: InMemoryTable) -> None:
        self.rows, self._others = _plain(explained), _plain(background)
        self.n_rows, self.n_features = self.rows.shape

    def mixed(self, number: int, present: NDArray[np.bool_]) -> InMemoryTable:
        """All rows of the background for each row of `present`, with the present features of an explained row."""
        n_others = len(self._others)
        places, is_own = np.tile(np.arange(n_others), len(present)), np.repeat(present, n_others, axis=0)
        if isinstance(self.rows, np.ndarray):
            return InMemoryTable(np.where(is_own, self.rows[number], self._others[places]))
        others = self._others.take(places).reset_index(drop=True)
        own = self.rows.take(np.full(len(places), number)).reset_index(drop=True)
        return InMemoryTable(others.where(~is_own, own).astype(others.dtypes))

    def means(self, number: int, present: NDArray[np.bool_], score: Callable[[InMemoryTable], Floats]) -> Floats:
        """The mean score over the background, a row for each row of `present`, a column for each class."""
        scores = score(self.mixed(number, present))
        mean: Floats = scores.reshape(len(present), len(self._others), -1).mean(axis=1)
        return mean


def values_by_permutations(
    shap: Any, mixing: Mixing, score: Callable[[InMemoryTable], Floats]
) -> tuple[Floats, Floats]:
    """Values (row, feature, class) and base values (row, class) of a score."""
    absent, present = np.zeros((1, mixing.n_features)), np.ones((1, mixing.n_features))
    values, base = [], []
    for number in range(mixing.n_rows):

        def of_row(some: Floats, number: int = number) -> Floats:
            return mixing.means(number, some == 1, score)

        explainer = shap.PermutationExplainer(of_row, shap.maskers.Independent(absent), seed=SEED)
        at_once = 2 * mixing.n_features + 1  # all of one permutation
        explanation = explainer(present, max_evals=N_PERMUTATIONS * at_once, batch_size=at_once, silent=True)
        values.append(explanation.values[0])
        base.append(explanation.base_values[0])
    return np.array(values), np.array(base)


def _plain(table: InMemoryTable) -> Any:
    """All rows as an array or as a pandas frame."""
    features = polars_as_arrow(table.span(0, table.n_rows))
    features = InMemoryTable(features).take(np.arange(table.n_rows))
    return features.toarray() if sparse.issparse(features) else features


# Models whose probabilities SHAP explains directly, by package and class name.
TREES = {
    ("sklearn", "DecisionTreeClassifier"),
    ("sklearn", "ExtraTreeClassifier"),
    ("sklearn", "ExtraTreesClassifier"),
    ("sklearn", "RandomForestClassifier"),
}
# Models whose trees add up to log-odds. SHAP needs background rows to explain their probabilities.
BOOSTED = {
    ("lightgbm", "LGBMClassifier"),
    ("sklearn", "GradientBoostingClassifier"),
    ("sklearn", "HistGradientBoostingClassifier"),
    ("xgboost", "XGBClassifier"),
}


def is_blend(model: Any) -> bool:
    """Whether a model is a blend of recipes. A plain ensemble has none."""
    return len(getattr(model, "recipes_", ())) > 0


def adds_up_trees(model: AveragingEnsemble) -> bool:
    """Whether the score of an ensemble is a mean of probabilities that SHAP can explain by the trees of members.

    A blend pools the scores of several ensembles by log-odds: that is not a mean.
    """
    if is_blend(model):
        return False
    boosted = any(_is_one_of(member, BOOSTED) for member in model.estimators_)
    return all(_is_one_of(member, TREES | BOOSTED) for member in model.estimators_) and (
        len(model.classes_) == 2 or not boosted
    )


def values_of_trees(
    shap: Any, model: AveragingEnsemble, rows: Floats, background: Floats | None
) -> tuple[Floats, Floats]:
    """Values (row, feature, class) and base values (row, class) of the mean of the members' probabilities."""
    boosted = [type(member).__name__ for member in model.estimators_ if _is_one_of(member, BOOSTED)]
    if background is None and boosted:  # values of log-odds do not add up to probabilities
        raise ValueError(
            f"The trees of {boosted[0]} add up to log-odds. To explain probabilities, SHAP needs rows to compare with. "
            "Pass about 100 typical rows: shap_values(model, X, background=X_train[:100])."
        )
    parts = [_of_member(shap, member, rows, background) for member in model.estimators_]
    weights = model.model_.member_weights
    values, base = (np.average(part, axis=0, weights=weights) for part in zip(*parts, strict=True))
    return values, base


def _is_one_of(member: Any, kinds: set[tuple[str, str]]) -> bool:
    return any((kind.__module__.partition(".")[0], kind.__name__) in kinds for kind in type(member).__mro__)


def _of_member(shap: Any, member: Any, rows: Floats, background: Floats | None) -> tuple[Floats, Floats]:
    """Values (row, feature, class) and base values (row, class) of one member's probabilities."""
    try:
        if background is None:
            explainer = shap.TreeExplainer(member)
        else:
            thresholds = _thresholds(shap.TreeExplainer(member).model)
            rows, background = as_seen_in_32_bits(rows, thresholds), as_seen_in_32_bits(background, thresholds)
            output = "probability" if _is_one_of(member, BOOSTED) else "raw"
            # Wrapped, because SHAP would silently take a random sample of 100 from more rows.
            all_of_them = shap.maskers.Independent(background, max_samples=len(background))
            explainer = shap.TreeExplainer(member, all_of_them, model_output=output)
        values = np.asarray(explainer.shap_values(rows, check_additivity=False), dtype=np.float64)
    except Exception as error:  # SHAP raises errors of many types
        raise ValueError(f"SHAP cannot read a member, {member!r}: {error} {INSTEAD}") from error
    base = np.broadcast_to(np.asarray(explainer.expected_value, dtype=np.float64), values[:, 0].shape)
    if values.ndim == 2:  # of the second of two classes
        return np.stack([-values, values], axis=2), np.stack([1 - base, base], axis=1)
    return values, base


def _thresholds(trees: Any) -> dict[int, Floats]:
    """The thresholds of the trees of a model, by feature."""
    is_split = trees.children_left >= 0
    features, thresholds = trees.features[is_split], trees.thresholds[is_split]
    return {feature: np.unique(thresholds[features == feature]) for feature in np.unique(features).tolist()}


def as_seen_in_32_bits(rows: Floats, thresholds: dict[int, Floats]) -> Floats:
    """Rows that are on the same sides of the thresholds when these are rounded to 32 bits.

    With a background, SHAP rounds thresholds, and a row at a threshold would be on the wrong side. The thresholds of
    HistGradientBoosting are often values of training rows.

    >>> threshold, above = 0.3, np.nextafter(0.3, 1)
    >>> moved = as_seen_in_32_bits(np.array([[threshold], [above]]), {0: np.array([threshold])})
    >>> (moved <= np.float32(threshold)).tolist()
    [[True], [False]]
    """
    moved = rows.copy()
    for feature, exact in thresholds.items():
        rounded = exact.astype(np.float32)
        above = np.concatenate([[-np.inf], np.nextafter(rounded, np.float32(np.inf))])
        upto = np.concatenate([rounded, [np.inf]])
        place = np.searchsorted(exact, rows[:, feature])
        moved[:, feature] = np.clip(rows[:, feature], above[place], upto[place])
    return moved


# With a background, SHAP stores the outputs of trees in 32 bits.
LARGEST_DIFFERENCE = 1e-5


def shap_values(model: Any, X: Any, *, background: Any = None) -> Any:
    """The contribution of each feature to the score of each row, by SHAP.

    The values of a row and its base value add up to its score before any calibration: the mean of the members'
    probabilities, or the pool of several ensembles. Without a calibration, `predict_proba` gives the same.

    For members that are trees, the values are computed from the trees, which is exact and fast. A blend of ensembles
    (`AutoSelfPacedClassifier`) and members of other kinds are explained by SHAP's permutations of the features. This
    needs a background and takes much longer: a row is scored 10 x (2 x features + 1) times with every row of the
    background. Begin with a few rows and a background of 20 to 50.

    Parameters
    ----------
    model : estimator
        A fitted ensemble or blend. Decision trees, random forests, extra trees, and, for two classes, LightGBM,
        XGBoost, HistGradientBoosting and GradientBoosting are explained by their trees, also together. Their features
        must be numbers, not categories. All other models are explained by permutations.
    X : {array-like, data frame} of shape (n_rows, n_features)
        Rows to explain, as for `predict_proba`.
    background : {array-like, data frame} of shape (n_background, n_features), default=None
        Rows to compare with: about 100 typical rows. The time grows with their number. The base value is their mean
        score. The value of a feature is the change of the score if the feature of these rows is replaced by that of the
        explained row. Boosted members need a background, because their trees add up to log-odds, not to probabilities.
        Permutations need one too. Without a background, trees are compared with their own training rows, half of which
        are rare.

    Returns
    -------
    shap.Explanation
        Values of shape (n_rows, n_features) for the rare class; for more than two classes of shape
        (n_rows, n_features, n_classes), with a slice for each of `classes_`. Its `feature_names` are those of the
        model. All of SHAP's plots accept it.

    Raises
    ------
    TypeError
        If the model is not an ensemble of this package.
    ValueError
        If the model needs a background, or if SHAP values would not add up to the scores.

    See Also
    --------
    sklearn.inspection.permutation_importance : The contribution of each feature to the quality.

    Examples
    --------
    >>> import numpy as np
    >>> from selfpaced import SelfPacedEnsembleClassifier
    >>> from selfpaced.datasets import make_fraud
    >>> from selfpaced.explaining import shap_values
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = make_fraud(n_rows=2000, n_frauds=40, n_features=4, random_state=0)
    >>> model = SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=5), random_state=0).fit(X, y)
    >>> explanation = shap_values(model, X[:10])
    >>> explanation.shape
    (10, 4)
    >>> added_up = explanation.base_values + explanation.values.sum(axis=1)
    >>> np.allclose(added_up, model.predict_proba(X[:10])[:, 1])
    True
    """
    shap = need("shap", "explain", "SHAP values")
    if not isinstance(model, AveragingEnsemble):
        raise TypeError(f"shap_values needs an ensemble of selfpaced; got a {type(model).__name__}.")
    check_is_fitted(model)
    table = model.model_.reader(X)
    others = None if background is None else model.model_.reader(background)
    data: NDArray[Any]
    if adds_up_trees(model):
        data = _numbers(table)
        values, base = values_of_trees(shap, model, data, None if others is None else _numbers(others))
    else:
        if others is None:
            kinds = ", ".join(sorted({type(member).__name__ for member in model.estimators_}))
            what = "a blend of ensembles" if is_blend(model) else f"of {len(model.classes_)} classes"
            raise ValueError(
                f"The model is {what} with members {kinds}, which SHAP cannot explain by trees. It can explain the "
                "model by permutations, but needs rows to compare with: shap_values(model, X[:10], "
                f"background=X_train[:50]). {INSTEAD}"
            )
        mixing = Mixing(table, others)
        data = np.asarray(mixing.rows)
        values, base = values_by_permutations(shap, mixing, lambda rows: model.model_.means(rows, model.n_jobs))
    _refuse_gap(model, table, base + values.sum(axis=1))
    named = {"data": data, "feature_names": feature_names_of(model)}
    if len(model.classes_) == 2:
        column = model.trained_on_.score_column
        return shap.Explanation(values[:, :, column], base[:, column], **named)
    return shap.Explanation(values, base, **named, output_names=[str(label) for label in model.classes_])


def _numbers(table: InMemoryTable) -> Floats:
    features = table.span(0, table.n_rows)
    if is_frame(features):
        return float_array(features)
    return np.asarray(features.toarray() if sparse.issparse(features) else features, dtype=np.float64)


def _refuse_gap(model: AveragingEnsemble, table: InMemoryTable, added_up: Floats) -> None:
    """Refuse values that do not add up to the scores, for instance if SHAP reads splits by category wrongly."""
    difference = np.abs(added_up - model.model_.means(table, model.n_jobs)).max()
    if not difference <= LARGEST_DIFFERENCE:
        name = type(model.estimators_[0]).__name__
        raise ValueError(
            f"The SHAP values of the members, {name}, do not add up to their probabilities: they differ by up to "
            f"{difference:.2g}. This happens if trees split categories or missing values in ways that SHAP does not "
            f"support. {INSTEAD}"
        )
