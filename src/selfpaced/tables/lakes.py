"""Folders of lake tables (Delta, Hudi, Iceberg), whose files alone do not say which rows are live."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike, fspath
from pathlib import Path, PurePath, PurePosixPath
from typing import Any

from selfpaced.exceptions import TableError
from selfpaced.remote_files import Place, RemoteFile, explaining, located, patiently
from selfpaced.tables.conversion import TEXT_ENDINGS
from selfpaced.tables.formats import FORMATS

DELTA, HUDI, ICEBERG = "Delta table", "Hudi table", "Iceberg table"
MARKS = {"_delta_log": DELTA, ".hoodie": HUDI}
METADATA = "metadata"  # the folder of an Iceberg table's descriptions
METADATA_ENDING = ".metadata.json"
HINT = "version-hint.text"
HOW_TO = {
    DELTA: "Open the folder of the table itself, with filter= for a part of it (needs the extra 'delta').",
    ICEBERG: "Open the table through its catalog, or the folder of the table itself (needs the extra 'iceberg').",
    HUDI: "Hudi tables are not supported. Read it with Spark and open the Spark DataFrame, or write the live rows to "
    "Parquet files.",
}


def lake_of(source: Any, filesystem: Any = None) -> str | None:
    """The kind of lake table in the folder of a path or URL; None for other folders, files and patterns."""
    if not isinstance(source, str | PathLike):
        return None
    text = fspath(source)
    if any(letter in text for letter in "*[") or text.lower().endswith((*TEXT_ENDINGS, *FORMATS)):
        return None
    return _kind_of(located(text, filesystem))


def _kind_of(folder: Place) -> str | None:
    marks = _present(folder, (*MARKS, METADATA))
    known = next((kind for mark, kind in MARKS.items() if mark in marks), None)
    if known is None and METADATA in marks:
        names = _names_in(folder, METADATA)
        known = ICEBERG if any(_describes_iceberg(name) for name in names) else None
    return known


def _describes_iceberg(name: str) -> bool:
    return name.endswith(METADATA_ENDING) or name == HINT


def _present(folder: Place, names: Iterable[str]) -> set[str]:
    """Which of some names are in a folder. Of another file system all are asked for at once."""
    if isinstance(folder, Path):
        return {name for name in names if (folder / name).is_dir()}
    from pyarrow import fs

    with explaining(folder, "read"):
        asked = [f"{folder.path}/{name}" for name in names]
        found = patiently(lambda: folder.filesystem.get_file_info(asked))
    return {PurePosixPath(one.path).name for one in found if one.type == fs.FileType.Directory}


def _names_in(folder: Place, name: str) -> list[str]:
    if isinstance(folder, Path):
        try:
            return [path.name for path in (folder / name).iterdir()]
        except PermissionError:  # a parent folder of another user
            return []
    from pyarrow import fs

    selector = fs.FileSelector(f"{folder.path}/{name}")
    return [PurePosixPath(one.path).name for one in patiently(lambda: folder.filesystem.get_file_info(selector))]


def refuse_lakes_inside(folder: Place, files: Iterable[PurePath]) -> None:
    """Refuse a folder with a lake table among its folders. `files` are all files in it, by their relative paths."""
    for path in files:
        for depth, part in enumerate(path.parts[:-1]):
            kind = MARKS.get(part)
            if part == METADATA and depth == len(path.parts) - 2 and _describes_iceberg(path.name):
                kind = ICEBERG
            if kind is not None:
                where = "/".join([str(folder), *path.parts[:depth]])
                raise TableError(
                    f"{where} is the folder of a {kind}. Its files also hold rows that have been deleted or replaced. "
                    f"{HOW_TO[kind]}"
                )


def refuse_lake_above(folder: Place) -> None:
    """Refuse a folder or a pattern that selects only some files of a lake table."""
    above = folder.resolve().parents if isinstance(folder, Path) else _parents(folder)
    for one in above:
        kind = _kind_of(one)
        if kind is not None:
            raise TableError(
                f"{folder} is a part of the {kind} {one}. Its files also hold rows that have been deleted or replaced. "
                f"{HOW_TO[kind]}"
            )


def _parents(place: RemoteFile) -> list[RemoteFile]:
    """The folders above, without the bucket."""
    url, found = place.shown, []
    for parent in PurePosixPath(place.path).parents:
        url = url.rpartition("/")[0]
        if len(parent.parts) > 1:
            found.append(RemoteFile(place.filesystem, str(parent), url))
    return found
