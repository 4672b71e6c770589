"""The card in a model file: a part of the archive, beside the model."""

from __future__ import annotations

import json
import zipfile

from selfpaced.exceptions import ModelFileError
from selfpaced.persistence.card import FORMAT_VERSION, ModelCard, card_from_json

CARD = "selfpaced.json"
PICKLE = "model.joblib"  # the model in a file that is a pickle; a skops model lies in the archive as skops puts it
SKOPS_ROOT = "schema.json"


def card_in(archive: zipfile.ZipFile, name: str) -> ModelCard:
    """The card, if it is of a version that is known here."""
    if CARD not in archive.namelist():
        hint = " It is a skops file: load it with skops.io.load." if SKOPS_ROOT in archive.namelist() else ""
        raise ModelFileError(f"{name} is an archive that save_model did not write: it has no {CARD}.{hint}")
    text = archive.read(CARD).decode(errors="replace")
    try:
        version = json.loads(text)["format_version"]
        if version > FORMAT_VERSION:
            raise ModelFileError(
                f"{name} is of format {version}, and this selfpaced reads up to {FORMAT_VERSION}: install a newer one."
            )
        return card_from_json(text)
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise ModelFileError(f"The card in {name} is damaged: {error!r}.") from error
