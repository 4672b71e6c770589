"""The file itself: a zip archive with a card beside the model."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selfpaced.exceptions import ModelFileError
from selfpaced.persistence.card import FORMAT_VERSION, ModelCard, card_as_json, card_from

CARD = "selfpaced.json"
PICKLE = "model.joblib"  # the model in a file that is a pickle; a skops model lies in the archive as skops puts it
SKOPS_ROOT = "schema.json"

# A small file can unpack to a huge one. A card with 10,000 categories of 40 characters takes 0.5 MB; models with many
# categories, the worst that were measured, unpack to 34 times the size of their file.
LARGEST_CARD = 2**24
LARGEST_RATIO, ALWAYS_ALLOWED = 200, 2**26
BYTES_AT_ONCE = 2**16
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # of the others, some unpack megabytes from a few bytes at once

# A changed byte can also make an archive look encrypted or packed in a way that does not exist: RuntimeError.
DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, UnicodeDecodeError)


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


def unpacked(archive: zipfile.ZipFile, path: Path) -> bytes:
    """The same archive with all parts unpacked, checked, and of the sizes that it declares.

    Whoever reads it later needs no more memory than its size, whatever the headers of the file said.
    """
    total, most = _total(archive), _largest_total(path.stat().st_size)
    if total > most:
        raise ModelFileError(
            f"{path} would unpack to {total:,} bytes, and {most:,} are the most for a file of its size. It is damaged, "
            "or made to fill the memory."
        )
    return _plain(archive)


def loadable(content: bytes) -> bytes:
    """An archive that `unpacked` takes: the same, or not compressed if that makes it too small for what it holds."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return content if _total(archive) <= _largest_total(len(content)) else _plain(archive)


def _total(archive: zipfile.ZipFile) -> int:
    return sum(part.file_size for part in archive.infolist())


def _largest_total(file_size: int) -> int:
    return max(ALWAYS_ALLOWED, LARGEST_RATIO * file_size)


def _plain(archive: zipfile.ZipFile) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as plain:
        for name in dict.fromkeys(archive.namelist()):
            plain.writestr(name, part_of(archive, name))
    return content.getvalue()


def part_of(archive: zipfile.ZipFile, name: str) -> bytes:
    """A part of the archive: as many bytes as it declares, and no more in memory at any time."""
    part = archive.getinfo(name)
    if part.compress_type not in METHODS:
        raise zipfile.BadZipFile(f"{name} is compressed by method {part.compress_type}")
    with archive.open(part) as file:
        return b"".join(iter(lambda: file.read(BYTES_AT_ONCE), b""))


def card_in(archive: zipfile.ZipFile, path: Path) -> ModelCard:
    """The card, if this version can read it."""
    if CARD not in archive.namelist():
        hint = " It is a skops file: load it with skops.io.load." if SKOPS_ROOT in archive.namelist() else ""
        raise ModelFileError(f"{path} is an archive that save_model did not write: it has no {CARD}.{hint}")
    size = archive.getinfo(CARD).file_size
    if size > LARGEST_CARD:
        raise ModelFileError(f"The card in {path} has {size:,} bytes; {LARGEST_CARD:,} are the most.")
    try:
        facts = json.loads(part_of(archive, CARD).decode(errors="replace"))
        version = facts.get("format_version") if isinstance(facts, dict) else None
        if not isinstance(version, int) or version <= FORMAT_VERSION:
            return card_from(facts)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"The card in {path} is damaged: {error}.") from error
    raise ModelFileError(
        f"{path} is of format {version}, and this selfpaced reads up to {FORMAT_VERSION}: install a newer one."
    )


def add_card(archive: zipfile.ZipFile, card: ModelCard) -> None:
    """Write a card that can be read again."""
    text = card_as_json(card).encode()
    if len(text) > LARGEST_CARD:
        raise ModelFileError(
            f"The card of the model has {len(text):,} bytes; {LARGEST_CARD:,} are the most. It lists the categories of "
            "all columns: leave out columns with many, or shorten the metrics and notes."
        )
    archive.writestr(CARD, text)
