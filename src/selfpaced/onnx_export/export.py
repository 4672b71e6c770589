"""`export_onnx`: an ensemble or a blend as an ONNX file."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from selfpaced import trees
from selfpaced.ensembles import AveragingEnsemble
from selfpaced.exceptions import ModelFileError, need
from selfpaced.model import LogOddsPool, Part
from selfpaced.onnx_export.graph import Average, Formula, Graph, Member, graph_of
from selfpaced.onnx_export.preparation import Given, read_steps
from selfpaced.persistence import Said, card_as_json, card_of
from selfpaced.storage import AnyPath, Place, located, write_whole

Layer = tuple[NDArray[np.float64], NDArray[np.float64]]
OPERATORS = {"relu": "Relu", "tanh": "Tanh", "logistic": "Sigmoid"}


def read_logistic_regression(model: Any) -> Formula:
    scheme = getattr(model, "multi_class", "auto")  # a parameter of earlier versions of scikit-learn
    if scheme not in ("auto", "deprecated", "warn"):
        raise ModelFileError(
            f"A LogisticRegression with multi_class={scheme!r} cannot be exported to ONNX. Use 'auto'."
        )
    sums = partial(_layered, [(model.coef_.T, model.intercept_)], "identity")
    return Formula(sums, trees.link_of(len(model.coef_)))


def read_mlp(model: Any) -> Formula:
    layers = list(zip(model.coefs_, model.intercepts_, strict=True))
    return Formula(partial(_layered, layers, model.activation), trees.link_of(model.intercepts_[-1].size))


def _layered(layers: Sequence[Layer], activation: str, graph: Graph, rows: str) -> str:
    """Layers of sums of products. Every layer except the last is followed by an activation.

    The operator is Gemm, not MatMul, because onnxruntime rounds a factor before a MatMul to 32 bits.
    """
    for number, (weights, starts) in enumerate(layers):
        if number > 0 and activation in OPERATORS:
            rows = graph.add(OPERATORS[activation], rows)
        constants = [graph.constant(np.asarray(each, dtype=np.float64)) for each in (weights, starts)]
        rows = graph.add("Gemm", rows, *constants)
    return rows


def read_histogram_trees(model: Any) -> trees.TreeModel:
    if model.is_categorical_ is not None and model.is_categorical_.any():
        names = getattr(model, "feature_names_in_", np.arange(model.n_features_in_))
        raise ModelFileError(
            f"HistGradientBoosting splits column {names[model.is_categorical_].tolist()[0]!r} by its categories, which "
            "cannot be exported to ONNX. Encode the categories as numbers first, or use LightGBM."
        )
    return trees.read_hist_gradient_boosting(model)


# By package and class name, so that packages of unused models are not imported.
READERS: dict[tuple[str, str], Callable[[Any], trees.TreeModel | Formula]] = {
    ("sklearn", "DecisionTreeClassifier"): lambda model: trees.read_forest([model]),
    ("sklearn", "RandomForestClassifier"): lambda model: trees.read_forest(model.estimators_),
    ("sklearn", "ExtraTreesClassifier"): lambda model: trees.read_forest(model.estimators_),
    ("sklearn", "HistGradientBoostingClassifier"): read_histogram_trees,
    ("sklearn", "LogisticRegression"): read_logistic_regression,
    ("sklearn", "MLPClassifier"): read_mlp,
    ("catboost", "CatBoostClassifier"): trees.read_catboost,
    ("lightgbm", "LGBMClassifier"): lambda model: trees.read_booster(model.booster_),
    ("xgboost", "XGBClassifier"): trees.read_xgboost,
}


def read_member(model: Any, given: Given) -> Member:
    """A member in the common form. A member of an unsupported type raises. `given` are the columns that it gets."""
    if type(model).__module__ == "sklearn.pipeline" and type(model).__name__ == "Pipeline":
        *steps, (_, last) = model.steps
        preparation = read_steps([step for _, step in steps], given)
        return Member(read_member(last, Given()).model, preparation)
    for kind in type(model).__mro__:
        read = READERS.get((kind.__module__.partition(".")[0], kind.__name__))
        # A subclass with its own predict_proba may predict otherwise than its trees.
        if read is not None and type(model).predict_proba is kind.predict_proba:  # type: ignore[attr-defined]
            try:
                return Member(read(model))
            except trees.UnsupportedTreesError as error:
                raise ModelFileError(f"{error} cannot be exported to ONNX. {error.advice}") from error
    kinds = ", ".join(sorted(name for _, name in READERS))
    raise ModelFileError(
        f"Members of the type {type(model).__name__} cannot be exported to ONNX. Supported types, also as the last "
        f"step of a Pipeline, are {kinds}."
    )


def export_onnx(model: Any, path: AnyPath) -> Place:
    """Write an ensemble as one ONNX graph that computes its probabilities and labels.

    The input `X` has rows of 64-bit floats; missing values are NaN. The outputs are `label` and `probabilities`, with
    one column for each of `classes_`. The metadata of the graph contain the card of the model, as `card`.

    Parameters
    ----------
    model : estimator
        A fitted ensemble, or a blend of ensembles (`AutoSelfPacedClassifier`), whose members are decision trees,
        random forests, extra trees, HistGradientBoosting, LightGBM, XGBoost, CatBoost on numbers, logistic regressions
        or MLPClassifier. They may be the last step of a pipeline that fills missing values, scales and encodes, like
        those of the default recipes. Members may be of several kinds. HistGradientBoosting must not split by category.
        The graph reads a category as its code, and a missing category as NaN.
    path : path or URL
        A file that ends in `.onnx`. It is written completely or not at all.

    Returns
    -------
    Path or RemoteFile
        The place of the file.

    Raises
    ------
    ModelFileError
        If the model, a member or a step of a pipeline cannot be exported, or if the file has another ending.

    See Also
    --------
    selfpaced.save_model : Saves a model for Python.

    Notes
    -----
    The probabilities differ from those of `predict_proba` on rows of 64-bit floats by less than 1e-9
    before a calibration, whose steep steps can enlarge the difference. XGBoost adds up
    its trees in 32 bits, so its probabilities differ by up to 1e-6.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np, onnxruntime
    >>> from selfpaced import SelfPacedEnsembleClassifier
    >>> from selfpaced.datasets import make_checkerboard
    >>> from selfpaced.onnx_export import export_onnx
    >>> X, y = make_checkerboard(n_minority=50, n_majority=500, random_state=0)
    >>> model = SelfPacedEnsembleClassifier(n_estimators=3, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     session = onnxruntime.InferenceSession(export_onnx(model, os.path.join(folder, "model.onnx")))
    >>> label, probabilities = session.run(["label", "probabilities"], {"X": X})
    >>> np.allclose(probabilities, model.predict_proba(X), atol=1e-12)
    True
    """
    place = located(path)
    onnx = need("onnx", "onnx", "The export of models")
    if place.suffix.lower() != ".onnx":
        raise ModelFileError(f"{place.name} does not end in .onnx. Name a file that does.")
    if not isinstance(model, AveragingEnsemble):
        raise ModelFileError(f"export_onnx needs an ensemble of selfpaced; got a {type(model).__name__}.")
    check_is_fitted(model)
    averages, pool = _parts(model)
    graph = graph_of(averages, pool, model.calibrator_, model.classes_, model.n_features_in_)
    onnx.helper.set_model_props(graph, {"card": card_as_json(card_of(model, "onnx", Said()))})
    onnx.checker.check_model(graph)
    return write_whole(place, graph.SerializeToString(), ModelFileError)


def _parts(model: AveragingEnsemble) -> tuple[list[Average], LogOddsPool | None]:
    """The members of each ensemble in the form of graphs, and how the ensembles are pooled if there are several."""
    given = _columns_of(model)
    if model.model_.pool is None:
        return [_read(part, given) for part in model.model_.parts], None
    averages = []
    for name, part in zip(model.ensembles_, model.model_.parts, strict=True):
        try:
            averages.append(_read(part, given))
        except ModelFileError as error:
            raise ModelFileError(
                f"The recipe {name!r} cannot be exported. {error} Or train without this recipe: "
                "AutoSelfPacedClassifier(recipes=[...])."
            ) from error
    return averages, model.model_.pool


def _read(part: Part, given: Given) -> Average:
    return Average([read_member(each, given) for each in part.members], part.weights)


def _columns_of(model: Any) -> Given:
    """The columns that members get, by the schema or the feature names of the training rows."""
    schema = model.trained_on_.schema
    if schema is None:
        names = getattr(model, "feature_names_in_", None)
        return Given(None if names is None else names.tolist())
    categories = {each.name: each.categories for each in schema.columns if each.categories is not None}
    return Given(schema.names, categories)
