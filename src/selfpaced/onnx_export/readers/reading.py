"""Reading a member."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from selfpaced.exceptions import ModelFileError
from selfpaced.onnx_export.member import Member
from selfpaced.onnx_export.readers.catboost_trees import read_catboost
from selfpaced.onnx_export.readers.formulas import read_logistic_regression, read_mlp
from selfpaced.onnx_export.readers.lightgbm_trees import read_lightgbm
from selfpaced.onnx_export.readers.preparation import Given, read_steps
from selfpaced.onnx_export.readers.scikit_learn_trees import read_forest, read_hist_gradient_boosting, read_tree
from selfpaced.onnx_export.readers.xgboost_trees import read_xgboost

# By package and class name, so that packages of unused models are not imported.
READERS: dict[tuple[str, str], Callable[[Any], Member]] = {
    ("sklearn", "DecisionTreeClassifier"): read_tree,
    ("sklearn", "RandomForestClassifier"): read_forest,
    ("sklearn", "ExtraTreesClassifier"): read_forest,
    ("sklearn", "HistGradientBoostingClassifier"): read_hist_gradient_boosting,
    ("sklearn", "LogisticRegression"): read_logistic_regression,
    ("sklearn", "MLPClassifier"): read_mlp,
    ("catboost", "CatBoostClassifier"): read_catboost,
    ("lightgbm", "LGBMClassifier"): read_lightgbm,
    ("xgboost", "XGBClassifier"): read_xgboost,
}


def read_member(model: Any, given: Given) -> Member:
    """A member in the common form. A member of an unsupported type raises. `given` are the columns that it gets."""
    if type(model).__module__ == "sklearn.pipeline" and type(model).__name__ == "Pipeline":
        *steps, (_, last) = model.steps
        preparation = read_steps([step for _, step in steps], given)
        return replace(read_member(last, Given()), preparation=preparation)
    for kind in type(model).__mro__:
        read = READERS.get((kind.__module__.partition(".")[0], kind.__name__))
        # A subclass with its own predict_proba may predict otherwise than its trees.
        if read is not None and type(model).predict_proba is kind.predict_proba:  # type: ignore[attr-defined]
            return read(model)
    kinds = ", ".join(sorted(name for _, name in READERS))
    raise ModelFileError(
        f"Members of the type {type(model).__name__} cannot be exported to ONNX. Supported types, also as the last "
        f"step of a Pipeline, are {kinds}."
    )
