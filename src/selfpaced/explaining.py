"""Why a row has its score: SHAP values of an ensemble of trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from selfpaced.ensembles.averaged import AveragedMembers, averaged_members, rows_in_memory
from selfpaced.ensembles.averaging import AveragingEnsemble
from selfpaced.ensembles.table_scoring import feature_names_of
from selfpaced.tables import InMemoryTable, float_array, is_frame

Floats = NDArray[np.float64]

# Whose probabilities SHAP takes apart as they are, by package and class name.
TREES = {
    ("sklearn", "DecisionTreeClassifier"),
    ("sklearn", "ExtraTreeClassifier"),
    ("sklearn", "ExtraTreesClassifier"),
    ("sklearn", "RandomForestClassifier"),
}
# Whose trees add up to log-odds, of which SHAP makes probabilities by comparison with other rows.
BOOSTED = {
    ("lightgbm", "LGBMClassifier"),
    ("sklearn", "GradientBoostingClassifier"),
    ("sklearn", "HistGradientBoostingClassifier"),
    ("xgboost", "XGBClassifier"),
}
INSTEAD = (
    "sklearn.inspection.permutation_importance(model, X, y, scoring='average_precision') works with members of any "
    "kind."
)
# SHAP holds the trees' answers in 32 bits where there is a background.
LARGEST_GAP = 1e-5


def shap_values(model: Any, X: Any, *, background: Any = None) -> Any:
    """What each feature adds to the score of each row, by SHAP: the mean over the members of their values.

    The values of a row and its base value add up to the mean of the members' probabilities, which is what
    `predict_proba` gives unless it is calibrated: what is explained is the mean before any calibration.

    Parameters
    ----------
    model : a fitted ensemble whose members are decision trees, random forests, extra trees, or, for two classes,
        LightGBM, XGBoost, HistGradientBoosting or GradientBoosting. Features must be numbers, not categories.
    X : rows to explain, as for `predict_proba`.
    background : rows to compare with, some 100 that are typical of what is scored; the time grows with their number.
        The base value is their mean score, and a feature's value is what changes when theirs is replaced by the row's.
        Boosted members need one: their trees add up to log-odds, not to probabilities. Without one, trees are compared
        with their own training rows, of which as many were rare as common.

    Returns
    -------
    shap.Explanation : values of shape (n_rows, n_features) for the rare class, that of `score_table`; for more than
        two classes (n_rows, n_features, n_classes), a slice for each of `classes_`. Its `feature_names` are those of
        the model, and all of SHAP's plots take it.

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
    shap = _import_shap()
    if not isinstance(model, AveragingEnsemble):
        raise TypeError(f"shap_values takes an ensemble of selfpaced; got a {type(model).__name__}.")
    check_is_fitted(model)
    _refuse_unexplainable(model, background)
    table = rows_in_memory(model, X)
    rows = _numbers(table)
    others = None if background is None else _numbers(rows_in_memory(model, background))
    parts = [_of_member(shap, member, rows, others) for member in model.estimators_]
    ensemble = averaged_members(model)
    values, base = (_mean(part, ensemble.weights) for part in zip(*parts, strict=True))
    _refuse_gap(ensemble, table, base + values.sum(axis=1))
    named = {"data": rows, "feature_names": feature_names_of(model)}
    if len(model.classes_) == 2:
        column = model.trained_on_.score_column
        return shap.Explanation(values[:, :, column], base[:, column], **named)
    return shap.Explanation(values, base, **named, output_names=[str(label) for label in model.classes_])


def _import_shap() -> Any:
    try:
        import shap
    except ImportError as error:
        raise ImportError("SHAP is not installed: pip install 'selfpaced[explain]'") from error
    return shap


def _refuse_unexplainable(model: AveragingEnsemble, background: Any) -> None:
    """SHAP would fail on these, each in its own way, or give numbers that do not add up."""
    member = model.estimators_[0]
    name = type(member).__name__
    if not _is_one_of(member, TREES | BOOSTED):
        kinds = sorted(kind for _, kind in TREES | BOOSTED)
        raise TypeError(f"SHAP takes trees apart, and the members are {name}; it knows {', '.join(kinds)}. {INSTEAD}")
    if not _is_one_of(member, BOOSTED):
        return
    if len(model.classes_) > 2:
        raise ValueError(
            f"SHAP explains the probabilities of {name} for two classes, and the model has {len(model.classes_)}. "
            f"Members that are trees or forests can be explained for more. {INSTEAD}"
        )
    if background is None:
        raise ValueError(
            f"The trees of {name} add up to log-odds; to add up to probabilities they need rows to compare with. "
            "Pass some 100 that are typical: shap_values(model, X, background=X_train[:100])."
        )


def _is_one_of(member: Any, kinds: set[tuple[str, str]]) -> bool:
    return any((kind.__module__.partition(".")[0], kind.__name__) in kinds for kind in type(member).__mro__)


def _numbers(table: InMemoryTable) -> Floats:
    features = table.span(0, table.n_rows)
    if is_frame(features):
        return float_array(features)
    return np.asarray(features.toarray() if sparse.issparse(features) else features, dtype=np.float64)


def _mean(parts: Sequence[Floats], weights: Floats | None) -> Floats:
    mean: Floats = np.average(parts, axis=0, weights=weights)
    return mean


def _of_member(shap: Any, member: Any, rows: Floats, background: Floats | None) -> tuple[Floats, Floats]:
    """Values (row, feature, class) and base values (row, class) of one member's probabilities."""
    try:
        if background is None:
            explainer = shap.TreeExplainer(member)
        else:
            thresholds = _thresholds(shap.TreeExplainer(member).model)
            rows, background = as_seen_in_32_bits(rows, thresholds), as_seen_in_32_bits(background, thresholds)
            output = "probability" if _is_one_of(member, BOOSTED) else "raw"
            # Not the rows as they are: of more than 100 SHAP would take 100 at random, and not say so.
            all_of_them = shap.maskers.Independent(background, max_samples=len(background))
            explainer = shap.TreeExplainer(member, all_of_them, model_output=output)
        values = np.asarray(explainer.shap_values(rows, check_additivity=False), dtype=np.float64)
    except Exception as error:  # SHAP's own, of many kinds
        raise ValueError(f"SHAP cannot read a member, {member!r}: {error} {INSTEAD}") from error
    base = np.broadcast_to(np.asarray(explainer.expected_value, dtype=np.float64), values[:, 0].shape)
    if values.ndim == 2:  # of the second of two classes
        return np.stack([-values, values], axis=2), np.stack([1 - base, base], axis=1)
    return values, base


def _thresholds(trees: Any) -> dict[int, Floats]:
    """By feature, where the trees of a model part its values."""
    is_split = trees.children_left >= 0
    features, thresholds = trees.features[is_split], trees.thresholds[is_split]
    return {feature: np.unique(thresholds[features == feature]) for feature in np.unique(features).tolist()}


def as_seen_in_32_bits(rows: Floats, thresholds: dict[int, Floats]) -> Floats:
    """Rows that fall to the same sides of the thresholds when these are rounded to 32 bits.

    SHAP rounds them where there is a background, and a row at a threshold would go astray: those of
    HistGradientBoosting are often values of the training rows.

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


def _refuse_gap(ensemble: AveragedMembers, table: InMemoryTable, added_up: Floats) -> None:
    """Values that do not add up explain another model, as where SHAP does not know how a member parts categories."""
    gap = np.abs(added_up - ensemble.means(table)).max()
    if not gap <= LARGEST_GAP:
        name = type(ensemble.members[0]).__name__
        raise ValueError(
            f"SHAP reads the members, {name}, otherwise than they predict: its values miss their probabilities by up "
            f"to {gap:.2g}. This happens where trees part categories or missing values in ways that SHAP does not "
            f"know. {INSTEAD}"
        )
