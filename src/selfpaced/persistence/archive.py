"""The file itself: a zip archive with a card beside the model."""

from __future__ import annotations

import json
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selfpaced.exceptions import ModelFileError
from selfpaced.persistence.card import FORMAT_VERSION, ModelCard, card_from_json

CARD = "selfpaced.json"
PICKLE = "model.joblib"  # the model in a file that is a pickle; a skops model lies in the archive as skops puts it
SKOPS_ROOT = "schema.json"

# A changed byte can also make an archive look encrypted or packed in a way that does not exist: RuntimeError.
DAMAGE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, RuntimeError, UnicodeDecodeError)


def import_skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError(
            "Model files are in the format of skops, which is not installed: pip install 'selfpaced[models]'"
        ) from error
    return skops.io


@contextmanager
def opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """The archive, or an error that says what the file is instead."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except FileNotFoundError as error:
        raise ModelFileError(f"There is no file {path}.") from error
    except IsADirectoryError as error:
        raise ModelFileError(f"{path} is a folder; name the model file in it.") from error
    except DAMAGE as error:
        raise ModelFileError(f"{path} {_what_it_is(path)}") from error
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error}") from error


def _what_it_is(path: Path) -> str:
    with path.open("rb") as file:
        first = file.read(4)
    if not first:
        return "is empty."
    if first.startswith(b"PK"):
        return "is damaged or was cut short: copy or save it again."
    if first.startswith(b"\x80"):
        return "is a pickle that save_model did not write. If you trust it, load it with joblib and save it again."
    return "is no model file: save_model writes zip archives, and this begins otherwise."


def card_in(archive: zipfile.ZipFile, path: Path) -> ModelCard:
    """The card, if it is of a version that is known here."""
    if CARD not in archive.namelist():
        hint = " It is a skops file: load it with skops.io.load." if SKOPS_ROOT in archive.namelist() else ""
        raise ModelFileError(f"{path} is an archive that save_model did not write: it has no {CARD}.{hint}")
    text = archive.read(CARD).decode(errors="replace")
    try:
        version = json.loads(text)["format_version"]
        if version > FORMAT_VERSION:
            raise ModelFileError(
                f"{path} is of format {version}, and this selfpaced reads up to {FORMAT_VERSION}: install a newer one."
            )
        return card_from_json(text)
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise ModelFileError(f"The card in {path} is damaged: {error!r}.") from error
