"""Where the published files lie."""

from __future__ import annotations

import os
from pathlib import Path

SETTING = "SELFPACED_DATA"
DEFAULT = Path(__file__).parents[3] / "shared" / "data"


def data_folder(given: str | Path | None = None) -> Path:
    """The folder given, or the one the setting names, or `shared/data` beside the repository."""
    return Path(given or os.environ.get(SETTING) or DEFAULT)


def find(folder: Path, names: list[str], source: str) -> Path:
    """The first of the files that is there; `source` tells a reader where to get it."""
    for name in names:
        if (folder / name).exists():
            return folder / name
    raise FileNotFoundError(
        f"None of {', '.join(names)} is in {folder}. Get it from {source} and put it there, "
        f"or say where it is with --data or the setting {SETTING}."
    )
