"""Temporary folders that are removed together with the table that reads them."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import weakref
from os import PathLike
from pathlib import Path

_NAME = re.compile(r"selfpaced-table-(\d+)-.*")


class TemporaryFolder:
    """A folder that only its owner can read. It is removed together with this object, at the latest at exit.

    The folders of killed processes are removed when the next folder is made in the same place.
    """

    def __init__(self, inside: str | PathLike[str] | None = None) -> None:
        place = Path(tempfile.gettempdir() if inside is None else inside)
        place.mkdir(parents=True, exist_ok=True)
        _remove_orphans(place)
        self.path = Path(tempfile.mkdtemp(prefix=f"selfpaced-table-{os.getpid()}-", dir=place))
        # A fork must not remove the folder of its parent.
        self._finalizer = weakref.finalize(self, _remove, self.path, os.getpid())


def _remove(path: Path, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(path, ignore_errors=True)


def _remove_orphans(place: Path) -> None:
    for path in place.glob("selfpaced-table-*"):
        match = _NAME.fullmatch(path.name)
        if match and not _is_running(int(match[1])):
            shutil.rmtree(path, ignore_errors=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it belongs to another user
        return True
    return True
