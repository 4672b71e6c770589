"""Exporting an ensemble."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from selfpaced.ensembles.averaged import averaged_members
from selfpaced.ensembles.averaging import AveragingEnsemble
from selfpaced.exceptions import ModelFileError
from selfpaced.onnx_export.graph import graph_of
from selfpaced.onnx_export.members import read_member
from selfpaced.persistence.card import card_as_json, card_of
from selfpaced.remote_files import AnyPath, Place, located
from selfpaced.whole_files import write_whole


def export_onnx(model: Any, path: AnyPath) -> Place:
    """Write an ensemble as one ONNX graph that gives its probabilities and labels.

    Its input `X` takes rows of 64-bit floats, with NaN where a value is missing. Its outputs are `label` and
    `probabilities`, one column for each of `classes_`. The card of the model is in its metadata, as `card`.

    Parameters
    ----------
    model : a fitted ensemble whose members are decision trees, random forests, extra trees, HistGradientBoosting or
        LightGBM. HistGradientBoosting may not split by category; LightGBM's columns of categories become columns of
        their numbers.
    path : a file or URL ending in `.onnx`. It appears whole or not at all.

    Returns
    -------
    The path.

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
        raise ModelFileError(f"{place.name} does not end in .onnx, as ONNX files do.")
    if not isinstance(model, AveragingEnsemble):
        raise ModelFileError(f"export_onnx takes an ensemble of selfpaced; got a {type(model).__name__}.")
    check_is_fitted(model)
    members = [read_member(each) for each in model.estimators_]
    weights = averaged_members(model).weights
    graph = graph_of(members, weights, model.calibrator_, model.classes_, model.n_features_in_)
    onnx.helper.set_model_props(graph, {"card": card_as_json(card_of(model, "onnx", None, None))})
    onnx.checker.check_model(graph)
    return write_whole(place, graph.SerializeToString(), ModelFileError)


def _import_onnx() -> Any:
    try:
        import onnx
    except ImportError as error:
        raise ImportError("ONNX is not installed: pip install 'selfpaced[onnx]'") from error
    return onnx
