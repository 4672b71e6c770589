"""SHAP values, by the trees of a model or by permutations of its features."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from selfpaced.ensembles.auto import AutoSelfPacedClassifier
from selfpaced.ensembles.averaged import rows_in_memory, scoring_of
from selfpaced.ensembles.averaging import AveragingEnsemble
from selfpaced.ensembles.table_scoring import feature_names_of
from selfpaced.explaining.permutation_importance import INSTEAD
from selfpaced.explaining.permutations import Mixing, values_by_permutations
from selfpaced.explaining.trees import adds_up_trees, values_of_trees
from selfpaced.tables import InMemoryTable, float_array, is_frame

Floats = NDArray[np.float64]

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
    shap = _import_shap()
    if not isinstance(model, AveragingEnsemble):
        raise TypeError(f"shap_values needs an ensemble of selfpaced; got a {type(model).__name__}.")
    check_is_fitted(model)
    table = rows_in_memory(model, X)
    others = None if background is None else rows_in_memory(model, background)
    data: NDArray[Any]
    if not isinstance(model, AutoSelfPacedClassifier) and adds_up_trees(model):
        data = _numbers(table)
        values, base = values_of_trees(shap, model, data, None if others is None else _numbers(others))
    else:
        mixing = Mixing(table, _required(others, model))
        data = mixing.explained
        values, base = values_by_permutations(shap, mixing, scoring_of(model).means)
    _refuse_gap(model, table, base + values.sum(axis=1))
    named = {"data": data, "feature_names": feature_names_of(model)}
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


def _required(background: InMemoryTable | None, model: AveragingEnsemble) -> InMemoryTable:
    if background is not None:
        return background
    kinds = ", ".join(sorted({type(member).__name__ for member in model.estimators_}))
    what = "a blend of ensembles" if isinstance(model, AutoSelfPacedClassifier) else f"of {len(model.classes_)} classes"
    raise ValueError(
        f"The model is {what} with members {kinds}, which SHAP cannot explain by trees. It can explain the model by "
        f"permutations, but needs rows to compare with: shap_values(model, X[:10], background=X_train[:50]). "
        f"{INSTEAD}"
    )


def _numbers(table: InMemoryTable) -> Floats:
    features = table.span(0, table.n_rows)
    if is_frame(features):
        return float_array(features)
    return np.asarray(features.toarray() if sparse.issparse(features) else features, dtype=np.float64)


def _refuse_gap(model: AveragingEnsemble, table: InMemoryTable, added_up: Floats) -> None:
    """Refuse values that do not add up to the scores, for instance if SHAP reads splits by category wrongly."""
    difference = np.abs(added_up - scoring_of(model).means(table)).max()
    if not difference <= LARGEST_DIFFERENCE:
        name = type(model.estimators_[0]).__name__
        raise ValueError(
            f"The SHAP values of the members, {name}, do not add up to their probabilities: they differ by up to "
            f"{difference:.2g}. This happens if trees split categories or missing values in ways that SHAP does not "
            f"support. {INSTEAD}"
        )
