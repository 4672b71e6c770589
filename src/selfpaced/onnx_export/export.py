"""Exporting an ensemble."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from selfpaced.ensembles import AveragingEnsemble
from selfpaced.exceptions import ModelFileError
from selfpaced.model import LogOddsPool, Part
from selfpaced.onnx_export.graph import Average, graph_of
from selfpaced.onnx_export.preparation import Given
from selfpaced.onnx_export.readers import read_member
from selfpaced.persistence import Said, card_as_json, card_of
from selfpaced.storage import AnyPath, Place, located, write_whole


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
    The probabilities differ from those of `predict_proba` on rows of 64-bit floats by less than 1e-9. XGBoost adds up
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
    onnx = _import_onnx()
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


def _import_onnx() -> Any:
    try:
        import onnx
    except ImportError as error:
        raise ImportError("ONNX is not installed: pip install 'selfpaced[onnx]'") from error
    return onnx
