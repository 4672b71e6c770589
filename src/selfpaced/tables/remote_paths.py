"""Listing files of other file systems: by a path, a folder or a pattern, and only once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from selfpaced.exceptions import TableError
from selfpaced.remote_files import Place, RemoteFile, explaining, is_url, located, patiently

_QUERY = re.compile(r"\?\w+=")  # options of the file system in a URL, such as ?region=eu-west-1


def matching_remote(source: str, filesystem: Any) -> tuple[Place, str]:
    """The folder before the first wildcard of a source, and the pattern after it."""
    query = _QUERY.search(source) if is_url(source) else None
    text, options = (source[: query.start()], source[query.start() :]) if query else (source, "")
    wildcard = re.search(r"[*?\[]", text)
    if wildcard is None:
        return located(text + options, filesystem), ""
    folder, _, _ = text[: wildcard.start()].rpartition("/")
    return located(folder + options, filesystem), text[len(folder) + 1 :]


Listed = tuple[RemoteFile, list[PurePosixPath] | None]


def listed(place: RemoteFile, pattern: str = "") -> Iterator[Listed]:
    """The files of a path, folder or pattern, with their relative paths. The file system is listed once."""
    from pyarrow import fs

    with explaining(place, "listed"):
        if not pattern:
            kind = patiently(lambda: place.filesystem.get_file_info(place.path)).type
            if kind == fs.FileType.File:
                yield place, None
                return
            if kind == fs.FileType.NotFound:
                raise TableError(f"{place} does not exist.")
        selector = fs.FileSelector(place.path, recursive=True, allow_not_found=True)
        found = patiently(lambda: place.filesystem.get_file_info(selector))
    root = place.path.strip("/")  # some file systems list paths without the first slash
    files = sorted(
        PurePosixPath(one.path.lstrip("/")).relative_to(root) for one in found if one.type == fs.FileType.File
    )
    yield from _matches(place, files, pattern) if pattern else iter([(place, files)])


def _matches(place: RemoteFile, files: list[PurePosixPath], pattern: str) -> Iterator[Listed]:
    """The files that match, and those in folders that match."""
    matches = re.compile(as_regex(pattern)).fullmatch
    folders: dict[PurePosixPath, list[PurePosixPath]] = {}
    n_files = 0
    for path in files:
        folder = next((one for one in reversed(path.parents) if one.name and matches(str(one))), None)
        if folder is not None:
            folders.setdefault(folder, []).append(path.relative_to(folder))
        elif matches(str(path)):
            n_files += 1
            yield place.child(f"{place.path}/{path}"), None
    if not n_files and not folders:
        raise TableError(f"No file matches '{place}/{pattern}'.")
    for folder, inside in folders.items():
        yield place.child(f"{place.path}/{folder}"), inside


def as_regex(pattern: str) -> str:
    """
    >>> [bool(re.fullmatch(as_regex("**/*.parquet"), path)) for path in ("a.parquet", "b/c/a.parquet", "a.csv")]
    [True, True, False]
    """
    parts = re.split(r"(\*\*/|\*|\?|\[[^\]]+\])", pattern)
    known = {"**/": "(?:.*/)?", "*": "[^/]*", "?": "[^/]"}
    return "".join(
        known.get(part) or (part.replace("[!", "[^") if part.startswith("[") else re.escape(part)) for part in parts
    )


def exists(place: Place) -> bool:
    """Whether there is a file or a folder."""
    from pyarrow import fs

    if isinstance(place, Path):
        return place.exists()
    return bool(patiently(lambda: place.filesystem.get_file_info(place.path)).type != fs.FileType.NotFound)
