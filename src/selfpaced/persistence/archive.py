"""The card beside the model in a model file."""

from __future__ import annotations

import json
import zipfile

from selfpaced.exceptions import ModelFileError
from selfpaced.persistence.card import FORMAT_VERSION, ModelCard, card_as_json, card_from
from selfpaced.safe_files.archive import part_of

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
        facts = json.loads(part_of(archive, CARD).decode(errors="replace"))
        version = facts.get("format_version") if isinstance(facts, dict) else None
        if not isinstance(version, int) or version <= FORMAT_VERSION:
            return card_from(facts)
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
