"""SHAP values of trees: of every member by its trees, and the mean over the members."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.ensembles.averaged import averaged_members
from selfpaced.ensembles.averaging import AveragingEnsemble
from selfpaced.explaining.permutation_importance import INSTEAD

Floats = NDArray[np.float64]

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


def adds_up_trees(model: AveragingEnsemble) -> bool:
    """Whether the score of an ensemble is a mean of probabilities that SHAP can explain by the trees of members."""
    boosted = any(_is_one_of(member, BOOSTED) for member in model.estimators_)
    return all(_is_one_of(member, TREES | BOOSTED) for member in model.estimators_) and (
        len(model.classes_) == 2 or not boosted
    )


def values_of_trees(
    shap: Any, model: AveragingEnsemble, rows: Floats, background: Floats | None
) -> tuple[Floats, Floats]:
    """Values (row, feature, class) and base values (row, class) of the mean of the members' probabilities."""
    if background is None:
        _refuse_boosted(model)
    parts = [_of_member(shap, member, rows, background) for member in model.estimators_]
    weights = averaged_members(model).weights
    values, base = (_mean(part, weights) for part in zip(*parts, strict=True))
    return values, base


def _refuse_boosted(model: AveragingEnsemble) -> None:
    """Refuse boosted members without a background: values of log-odds do not add up to probabilities."""
    for member in model.estimators_:
        if _is_one_of(member, BOOSTED):
            raise ValueError(
                f"The trees of {type(member).__name__} add up to log-odds. To explain probabilities, SHAP needs rows "
                "to compare with. Pass about 100 typical rows: shap_values(model, X, background=X_train[:100])."
            )


def _is_one_of(member: Any, kinds: set[tuple[str, str]]) -> bool:
    return any((kind.__module__.partition(".")[0], kind.__name__) in kinds for kind in type(member).__mro__)


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
