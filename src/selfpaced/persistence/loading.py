"""Loading a model, or its card alone."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import joblib
from sklearn.exceptions import InconsistentVersionWarning

from selfpaced.ensembles.averaging import AveragingEnsemble
from selfpaced.exceptions import ModelFileError, ModelVersionWarning, PickledModelWarning
from selfpaced.persistence.archive import PICKLE, card_in, import_skops, opened, part_of, unpacked
from selfpaced.persistence.card import ModelCard
from selfpaced.persistence.contents import check_contents
from selfpaced.persistence.earlier import bring_up_to_date
from selfpaced.persistence.trusted import refuse_unknown, trusted_with
from selfpaced.versions import differences


def load_model(
    path: str | os.PathLike[str], *, allow: str | Sequence[str] = (), trusted_pickle: bool = False
) -> AveragingEnsemble:
    """Load an ensemble that `save_model` wrote.

    Only types that this library knows to be harmless are brought to life. Which ones is not for the file to say.

    Parameters
    ----------
    path : the file.
    allow : names of further types that you trust, such as "mypackage.MyClassifier".
    trusted_pickle : whether to load a file that was saved with `format="joblib"`, which may run any code.

    Returns
    -------
    The fitted ensemble. `save_model` has an example.
    """
    path = Path(path)
    with opened(path) as archive:
        card = card_in(archive, path)
        is_pickle = PICKLE in archive.namelist()
        if is_pickle and not trusted_pickle:
            raise ModelFileError(
                f"{path} is a pickle, which may run any code when it is loaded. If you know where it comes from, say "
                "load_model(path, trusted_pickle=True)."
            )
        content = part_of(archive, PICKLE) if is_pickle else unpacked(archive, path)
    model = _unpickled(content, path) if is_pickle else _put_together(content, path, card, allow)
    _warn_of_versions(card, path)  # the packages of the model are imported by now
    return _checked(model, path)


def read_card(path: str | os.PathLike[str]) -> ModelCard:
    """What a model file says of its model. The model is not loaded, and nothing in the file can run.

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
    path = Path(path)
    with opened(path) as archive:
        return card_in(archive, path)


def _warn_of_versions(card: ModelCard, path: Path) -> None:
    changed = differences(card.versions)
    if changed:
        warnings.warn(
            f"{path} was saved with {', '.join(changed)}; its predictions may differ here. Save it again after a look.",
            ModelVersionWarning,
            stacklevel=3,
        )


def _put_together(content: bytes, path: Path, card: ModelCard, allow: str | Sequence[str]) -> Any:
    skops = import_skops()
    try:
        types = skops.get_untrusted_types(data=content)
    except Exception as error:  # whatever a tree of nodes that is none leads to
        raise ModelFileError(f"{path} is damaged: its model cannot be described ({error!r}).") from error
    refuse_unknown(types, allow, str(path), "load_model")
    with warnings.catch_warnings():
        # scikit-learn would say the same for every single part.
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        try:
            return skops.loads(content, trusted=trusted_with(allow))
        except Exception as error:  # whatever parts that do not fit together, or not here, lead to
            changed = differences(card.versions)
            saved_with = f" It was saved with {', '.join(changed)}." if changed else ""
            raise ModelFileError(f"The model in {path} cannot be put together: {error!r}.{saved_with}") from error


def _unpickled(content: bytes, path: Path) -> Any:
    warnings.warn(
        f"{path} is a pickle and may run any code. Save the model as .skops where that is possible.",
        PickledModelWarning,
        stacklevel=3,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        return joblib.load(io.BytesIO(content))


def _checked(model: Any, path: Path) -> AveragingEnsemble:
    if not isinstance(model, AveragingEnsemble):
        raise ModelFileError(f"{path} holds a {type(model).__name__}, which is no ensemble of selfpaced.")
    try:
        if "trained_on_" not in vars(model):
            bring_up_to_date(model)
        check_contents(model)
    except (ModelFileError, AttributeError, IndexError) as error:
        raise ModelFileError(f"{path} is damaged: {error}") from error
    return model
