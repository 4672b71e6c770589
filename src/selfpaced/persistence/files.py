"""Model files: saved and loaded without running code from a file."""

import copy
import io
import json
import pickle
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import joblib
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.utils.validation import check_is_fitted

from selfpaced import storage
from selfpaced.ensembles import AveragingEnsemble
from selfpaced.exceptions import ModelFileError, ModelVersionWarning, PickledModelWarning, warn
from selfpaced.model import check_contents
from selfpaced.monitoring import Reference
from selfpaced.persistence.card import (
    FORMAT_VERSION,
    INSIDE,
    ModelCard,
    Said,
    card_as_json,
    card_of,
    ensemble_in,
    kind_of,
    read_as,
)
from selfpaced.persistence.record import TrainingRecord, model_id

CARD = "selfpaced.json"
PICKLE = "model.joblib"  # the name of a pickled model in the archive; skops has its own names for its parts
SKOPS_ROOT = "schema.json"
LARGEST_CARD = 2**24  # a card with 10,000 categories of 40 characters takes 0.5 MB


def card_in(archive: zipfile.ZipFile, name: str) -> ModelCard:
    """The card, if this version can read it."""
    if CARD not in archive.namelist():
        hint = " It is a skops file: load it with skops.io.load." if SKOPS_ROOT in archive.namelist() else ""
        raise ModelFileError(f"{name} is an archive that save_model did not write: it has no {CARD}.{hint}")
    size = archive.getinfo(CARD).file_size
    if size > LARGEST_CARD:
        raise ModelFileError(f"The card in {name} has {size:,} bytes, more than the limit of {LARGEST_CARD:,}.")
    try:
        facts = json.loads(storage.part_of(archive, CARD).decode(errors="replace"))
        version = facts.get("format_version") if isinstance(facts, dict) else None
        if not isinstance(version, int) or version <= FORMAT_VERSION:
            card: ModelCard = read_as(ModelCard, facts, "the card")
            return card
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"The card in {name} is damaged: {error}.") from error
    raise ModelFileError(
        f"{name} has the format {version}, but this version of selfpaced reads formats up to {FORMAT_VERSION}. Install "
        "a newer version."
    )


def add_card(archive: zipfile.ZipFile, card: ModelCard) -> None:
    """Write a card that can be read again."""
    text = card_as_json(card).encode()
    if len(text) > LARGEST_CARD:
        raise ModelFileError(
            f"The card of the model has {len(text):,} bytes, more than the limit of {LARGEST_CARD:,}. It lists the "
            "categories of all columns. Exclude columns with many categories, or shorten the metrics and notes."
        )
    archive.writestr(CARD, text)


ENDINGS = {".skops": "skops", ".joblib": "joblib", ".pkl": "joblib"}


def save_model(
    model: Any,
    path: storage.AnyPath,
    *,
    format: str = "skops",
    metrics: Mapping[str, Any] | None = None,
    notes: str | None = None,
    allow: str | Sequence[str] = (),
    reference: Reference | None = None,
    record: TrainingRecord | None = None,
) -> storage.Place:
    """Save a fitted ensemble, or a model around one, in one file, with a card that describes it.

    The file is written completely or not at all. The loaded model predicts the same, bit for bit. Callbacks are not
    saved. An ensemble on a cluster is saved as the result of its `to_local`, so no cluster is needed to load it.

    Parameters
    ----------
    model : estimator
        A fitted ensemble of this package; or a `Pipeline` that ends in one, a `FixedThresholdClassifier`,
        `TunedThresholdClassifierCV`, `CalibratedClassifierCV` or `CostDecisionClassifier` around one; or a search,
        whose best estimator is saved.
    path : path or URL
        A file that ends in `.skops`; with `format="joblib"` in `.joblib` or `.pkl`.
    format : {"skops", "joblib"}, default="skops"
        "joblib" is a pickle: it can hold any model, but can run any code when it is loaded.
    metrics : dict of str to float, default=None
        Figures for the card, such as `{"aucprc": 0.87}`.
    notes : str, default=None
        A text for the card.
    allow : str or list of str, default=()
        Names of further types that you trust, such as "mypackage.MyClassifier".
    reference : Reference, default=None
        The result of `selfpaced.monitoring.make_reference` for held-out rows, for monitoring.
    record : TrainingRecord, default=None
        The record of the training, which the commands write.

    Returns
    -------
    Path or RemoteFile
        The place of the file.

    See Also
    --------
    selfpaced.load_model : Loads the model.
    selfpaced.persistence.read_card : Reads the card without loading the model.
    selfpaced.onnx_export.export_onnx : Writes an ONNX graph.

    Examples
    --------
    >>> import os, tempfile
    >>> from selfpaced import SelfPacedEnsembleClassifier, load_model, save_model
    >>> from selfpaced.datasets import make_checkerboard
    >>> X, y = make_checkerboard(n_minority=50, n_majority=500, random_state=0)
    >>> model = SelfPacedEnsembleClassifier(n_estimators=3, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save_model(model, os.path.join(folder, "model.skops"), metrics={"aucprc": 0.5})
    ...     loaded = load_model(path)
    >>> (loaded.predict_proba(X) == model.predict_proba(X)).all()
    np.True_
    """
    place = storage.located(path)
    _check_ending(place, format)
    said = Said(metrics, notes, reference, record)
    return storage.write_whole(place, model_bytes(model, format, said, allow), ModelFileError)


def model_bytes(
    model: Any,
    format: str = "skops",
    said: Said | None = None,
    allow: str | Sequence[str] = (),
    call: str = "save_model(...",
) -> bytes:
    """The content of the file that `save_model` writes. `call` is the call in errors that can allow more types."""
    if "BaseSearchCV" in [kind.__name__ for kind in type(model).__mro__]:
        model = getattr(model, "best_estimator_", model)
    _check_model(model)
    saved = _at_rest(model)
    if format == "skops":
        _refuse_nameless_functions(ensemble_in(saved))
        _refuse_nameless_functions(saved)
        content = io.BytesIO(storage.dumped(saved, "The model", call, allow, "Try format='joblib'."))
    else:
        content = _pickled(saved)
    with zipfile.ZipFile(content, "a", zipfile.ZIP_DEFLATED) as archive:
        add_card(archive, card_of(saved, format, said or Said()))
    return content.getvalue()


def _check_ending(path: storage.Place, format: str) -> None:
    if format not in ENDINGS.values():
        raise ValueError(f"format must be 'skops' or 'joblib'; got {format!r}.")
    meant = ENDINGS.get(path.suffix.lower())
    if meant == "joblib" and format == "skops":
        raise ModelFileError(
            f"{path.name} has the ending of a pickle, which can run any code when it is loaded. Name it "
            f"{path.name.removesuffix(path.suffix)}.skops, or set format='joblib' if you want a pickle."
        )
    if meant != format:
        endings = [ending for ending, of in ENDINGS.items() if of == format]
        raise ModelFileError(f"{path.name} does not end in {' or '.join(endings)}, the ending of {format} files.")


def _check_model(model: Any) -> None:
    check_is_fitted(model)
    ensemble = ensemble_in(model)
    if ensemble is None:
        raise ModelFileError(
            f"save_model needs a fitted ensemble of selfpaced, or a fitted {', '.join(sorted(INSIDE))} around one; got "
            f"a {type(model).__name__} without one."
        )
    check_is_fitted(ensemble)
    if ensemble is not model and getattr(ensemble, "callbacks", None) is not None:
        raise ModelFileError(
            f"The {type(ensemble).__name__} in the {type(model).__name__} has callbacks, which cannot be saved. Fit "
            "without callbacks, or set them to None."
        )


def _at_rest(model: Any) -> Any:
    """A shallow copy without what only a fit needs: a cluster, and callbacks with progress bars and open files."""
    if not isinstance(model, AveragingEnsemble):
        return model
    saved: AveragingEnsemble = model.to_local() if hasattr(model, "to_local") else copy.copy(model)
    if hasattr(saved, "callbacks"):
        saved.callbacks = None
    return saved


def _refuse_nameless_functions(model: Any) -> None:
    """Refuse parameters that are local functions or lambdas: a file stores only names, which would not be found."""
    for name, value in model.get_params(deep=False).items():
        if "<" in getattr(value, "__qualname__", ""):
            raise ModelFileError(
                f"The parameter {name} is the function {value.__qualname__}, which cannot be found by its name when "
                f"the model is loaded. Predictions do not need it, so replace it by model.set_params({name}='...'). Or "
                "define it at the top of a module and allow it."
            )


def _pickled(model: Any) -> io.BytesIO:
    pickled, content = io.BytesIO(), io.BytesIO()
    try:
        joblib.dump(model, pickled)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ModelFileError(f"The model cannot be pickled: {error}") from error
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(PICKLE, pickled.getvalue())
    return content


def load_model(path: storage.AnyPath, *, allow: str | Sequence[str] = (), trusted_pickle: bool = False) -> Any:
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
    return read_model(_source(path), storage.shown(path), allow, trusted_pickle)


def load_ensemble(path: storage.AnyPath) -> AveragingEnsemble:
    """Load an ensemble for a command. A model around an ensemble is refused."""
    return _ensemble(load_model(path), storage.shown(path))


def read_ensemble(content: bytes, name: str) -> tuple[ModelCard, AveragingEnsemble]:
    """The card and the ensemble of a file's content, for a service. `name` is the name of the file in messages."""
    with storage.opened(io.BytesIO(content), name) as archive:
        card = card_in(archive, name)
    return card, _ensemble(read_model(io.BytesIO(content), name), name)


def _ensemble(model: Any, name: str) -> AveragingEnsemble:
    if not isinstance(model, AveragingEnsemble):
        raise ModelFileError(
            f"{name} holds a {kind_of(model)}. Commands need an ensemble that `selfpaced train` wrote. "
            "Use this model in Python: load_model(path).predict(X)."
        )
    return model


def read_card(path: storage.AnyPath) -> ModelCard:
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
    with storage.opened(_source(path), storage.shown(path)) as archive:
        return card_in(archive, storage.shown(path))


def id_of_file(path: storage.AnyPath) -> str:
    """The id of the model in a file."""
    source = _source(path)
    return model_id(source.read_bytes() if isinstance(source, Path) else source.getvalue())


def trusted_types() -> list[str]:
    """The names of the types that model files may hold, besides those that skops trusts by itself.

    This is for tools that load skops files themselves, such as MLflow:
    `mlflow.sklearn.save_model(model, path, skops_trusted_types=trusted_types())`. These are the types that `load_model`
    accepts. None of them runs code from a file when it is loaded. `load_model` also checks the trees in a file, which
    other tools do not. So load files from others with `load_model`.

    Returns
    -------
    list of str
        The full names of the types.

    See Also
    --------
    selfpaced.load_model : Loads such a file, and checks it.

    Examples
    --------
    >>> from selfpaced.persistence import trusted_types
    >>> "selfpaced.ensembles.self_paced.SelfPacedEnsembleClassifier" in trusted_types()
    True
    """
    return list(storage.TRUSTED)


def _source(path: storage.AnyPath) -> Path | io.BytesIO:
    """The path of a local file, or the content of a file behind a URL."""
    place = storage.located(path)
    if not isinstance(place, storage.RemoteFile):
        return place
    try:
        return io.BytesIO(storage.content_of(place))
    except FileNotFoundError as error:
        raise ModelFileError(f"There is no file {place}.") from error
    except OSError as error:
        raise ModelFileError(f"{place} cannot be read: {error}") from error


def read_model(
    source: Path | io.BytesIO, name: str, allow: str | Sequence[str] = (), trusted_pickle: bool = False
) -> Any:
    """The work of `load_model`, for a file or its bytes. `name` is the name of the file in messages."""
    with storage.opened(source, name) as archive:
        card = card_in(archive, name)
        is_pickle = PICKLE in archive.namelist()
        if is_pickle and not trusted_pickle:
            raise ModelFileError(
                f"{name} is a pickle, which can run any code when it is loaded. If you trust its source, call "
                "load_model(path, trusted_pickle=True)."
            )
        pickled = storage.part_of(archive, PICKLE) if is_pickle else b""
    safely = partial(storage.loaded, source, name, "load_model(...", allow, card.versions)
    model = _unpickled(pickled, name) if is_pickle else safely()
    changed = storage.differences(card.versions)  # the packages of the model are imported by now
    if changed:
        warn(
            f"{name} was saved with {', '.join(changed)}, so its predictions may differ here. Check them, and save the "
            "model again.",
            ModelVersionWarning,
        )
    return _checked(model, name)


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
