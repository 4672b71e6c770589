"""Loading a model, or its card alone."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import joblib
from sklearn.exceptions import InconsistentVersionWarning

from selfpaced.ensembles import AveragingEnsemble
from selfpaced.exceptions import ModelFileError, ModelVersionWarning, PickledModelWarning, warn
from selfpaced.persistence.card import ModelCard, ensemble_in, kind_of
from selfpaced.persistence.saving import PICKLE, card_in
from selfpaced.storage import (
    TRUSTED,
    AnyPath,
    RemoteFile,
    check_contents,
    content_of,
    loaded,
    located,
    opened,
    part_of,
    shown,
)
from selfpaced.versions import differences


def load_model(path: AnyPath, *, allow: str | Sequence[str] = (), trusted_pickle: bool = False) -> Any:
    """Load a model that `save_model` wrote.

    Only types on a fixed list of this library, and those that you allow, are loaded. The file cannot add types.

    Parameters
    ----------
    path : path or URL
        The file, such as "s3://bucket/model.skops".
    allow : str or list of str, default=()
        Names of further types that you trust, such as "mypackage.MyClassifier".
    trusted_pickle : bool, default=False
        Whether to load a file that was saved with `format="joblib"`, which can run any code.

    Returns
    -------
    estimator
        The fitted model: an ensemble, or a model around one, such as a pipeline.

    Raises
    ------
    ModelFileError
        If the file is missing, damaged or not a model file, or holds a type that is not trusted.

    See Also
    --------
    selfpaced.save_model : Saves a model.
    selfpaced.persistence.read_card : Reads the card without loading the model.

    Examples
    --------
    >>> import os, tempfile
    >>> from selfpaced import UnderBaggingClassifier, load_model, save_model
    >>> from selfpaced.datasets import make_checkerboard
    >>> X, y = make_checkerboard(n_minority=50, n_majority=500, random_state=0)
    >>> model = UnderBaggingClassifier(n_estimators=2, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     loaded = load_model(save_model(model, os.path.join(folder, "model.skops")))
    >>> bool((loaded.predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    return read_model(_source(path), shown(path), allow, trusted_pickle)


def load_ensemble(path: AnyPath) -> AveragingEnsemble:
    """Load an ensemble for a command. A model around an ensemble is refused."""
    model = load_model(path)
    if not isinstance(model, AveragingEnsemble):
        raise ModelFileError(
            f"{shown(path)} holds a {kind_of(model)}. Commands need an ensemble that `selfpaced train` wrote. Use this "
            "model in Python: load_model(path).predict(X)."
        )
    return model


def read_card(path: AnyPath) -> ModelCard:
    """Read the card of a model file. The model is not loaded, and no code in the file can run.

    Parameters
    ----------
    path : path or URL
        A file that `save_model` wrote.

    Returns
    -------
    ModelCard
        The card of the model.

    See Also
    --------
    selfpaced.load_model : Loads the model.

    Examples
    --------
    >>> import os, tempfile
    >>> from selfpaced import UnderBaggingClassifier, save_model
    >>> from selfpaced.datasets import make_checkerboard
    >>> from selfpaced.persistence import read_card
    >>> X, y = make_checkerboard(n_minority=50, n_majority=500, random_state=0)
    >>> model = UnderBaggingClassifier(n_estimators=3, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     card = read_card(save_model(model, os.path.join(folder, "model.skops"), notes="a trial"))
    >>> card.kind, card.classes, card.class_counts, card.notes
    ('UnderBaggingClassifier', (0, 1), (500, 50), 'a trial')
    """
    with opened(_source(path), shown(path)) as archive:
        return card_in(archive, shown(path))


def trusted_types() -> list[str]:
    """The names of the types that model files may hold, besides those that skops trusts by itself.

    This is for tools that load skops files themselves, such as MLflow:
    `mlflow.sklearn.save_model(model, path, skops_trusted_types=trusted_types())`. These are the types that `load_model`
    accepts. None of them runs code from a file when it is loaded. `load_model` also checks the trees in a file, which
    other tools do not. So load files from others with `load_model`.

    >>> "selfpaced.ensembles.self_paced.SelfPacedEnsembleClassifier" in trusted_types()
    True
    """
    return list(TRUSTED)


def _source(path: AnyPath) -> Path | io.BytesIO:
    """The path of a local file, or the content of a file behind a URL."""
    place = located(path)
    if not isinstance(place, RemoteFile):
        return place
    try:
        return io.BytesIO(content_of(place))
    except FileNotFoundError as error:
        raise ModelFileError(f"There is no file {place}.") from error
    except OSError as error:
        raise ModelFileError(f"{place} cannot be read: {error}") from error


def read_model(
    source: Path | io.BytesIO, name: str, allow: str | Sequence[str] = (), trusted_pickle: bool = False
) -> Any:
    """The work of `load_model`, for a file or its bytes. `name` is the name of the file in messages."""
    with opened(source, name) as archive:
        card = card_in(archive, name)
        is_pickle = PICKLE in archive.namelist()
        if is_pickle and not trusted_pickle:
            raise ModelFileError(
                f"{name} is a pickle, which can run any code when it is loaded. If you trust its source, call "
                "load_model(path, trusted_pickle=True)."
            )
        pickled = part_of(archive, PICKLE) if is_pickle else b""
    safely = partial(loaded, source, name, "load_model(...", allow, card.versions)
    model = _unpickled(pickled, name) if is_pickle else safely()
    _warn_of_versions(card, name)  # the packages of the model are imported by now
    return _checked(model, name)


def _warn_of_versions(card: ModelCard, name: str) -> None:
    changed = differences(card.versions)
    if changed:
        warn(
            f"{name} was saved with {', '.join(changed)}, so its predictions may differ here. Check them, and save the "
            "model again.",
            ModelVersionWarning,
        )


def _unpickled(content: bytes, name: str) -> Any:
    warn(
        f"{name} is a pickle, which can run any code. Save the model as .skops if that is possible.",
        PickledModelWarning,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        return joblib.load(io.BytesIO(content))


def _checked(model: Any, name: str) -> Any:
    ensemble = ensemble_in(model)
    if ensemble is None:
        raise ModelFileError(f"{name} holds a {type(model).__name__}, which is not an ensemble of selfpaced.")
    try:
        check_contents(model)
    except (ModelFileError, AttributeError, IndexError) as error:
        raise ModelFileError(f"{name} is damaged: {error}") from error
    return model
