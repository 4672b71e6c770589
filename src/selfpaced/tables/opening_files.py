"""Opening files: find them, convert text files, and read their metadata."""

from __future__ import annotations

from typing import Any

from selfpaced.exceptions import TableError
from selfpaced.remote_files import RemoteFile, shown
from selfpaced.tables.conversion import as_parquet, is_text
from selfpaced.tables.files import open_file
from selfpaced.tables.paths import find_files
from selfpaced.tables.reader import Reader
from selfpaced.tables.reading import ReadPlan
from selfpaced.tables.temporary import TemporaryFolder


def file_reader(source: Any, plan: ReadPlan) -> Reader:
    """All rows of some files. Text files are converted.

    If no folder is named, text files of other file systems are converted into a temporary folder.
    """
    found = find_files(source, plan.filesystem)
    texts = [place for place, _ in found if is_text(place)]
    if plan.types and not plan.lenient and not texts:
        raise TableError(
            f"types= is for CSV and JSON files, but {shown(source)!r} has none. Other files contain their types."
        )
    remote = [place for place in texts if isinstance(place, RemoteFile)]
    folder = TemporaryFolder() if remote and plan.cache is None else None
    local = [place for place in texts if not isinstance(place, RemoteFile)]
    made = as_parquet(local, plan.types, plan.cache, plan.progress, lenient=plan.lenient)
    cache = plan.cache if folder is None else folder.path
    made |= as_parquet(remote, plan.types, cache, plan.progress, lenient=plan.lenient)
    files = [open_file(place, added, made.get(place)) for place, added in found]
    return Reader(files, holds=() if folder is None else (folder,))
