"""Find the files of a path, a URL, a folder, a pattern, a list of these, or a pyarrow dataset."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from glob import glob, has_magic
from os import PathLike, fspath
from pathlib import Path, PurePath, PurePosixPath
from re import fullmatch
from typing import Any
from urllib.parse import unquote

import numpy as np

from selfpaced.exceptions import TableError
from selfpaced.remote_files import Place, RemoteFile, is_local, is_url, located, shown
from selfpaced.suggesting import did_you_mean
from selfpaced.tables.conversion import TEXT_ENDINGS, is_cache
from selfpaced.tables.formats import FORMATS
from selfpaced.tables.lakes import refuse_lake_above, refuse_lakes_inside
from selfpaced.tables.remote_paths import listed, matching_remote

Found = list[tuple[Place, Mapping[str, Any]]]
KNOWN_ENDINGS = (*TEXT_ENDINGS, *FORMATS)


def find_files(source: Any, filesystem: Any = None) -> Found:
    """All files in the order of their names, with the columns that the names of their folders add."""
    found = list(_paths(source, filesystem))
    if not found:
        raise TableError(
            f"There is no file with a supported ending ({', '.join(sorted(KNOWN_ENDINGS))}) in {shown(source)!r}."
        )
    return found


def _paths(source: Any, filesystem: Any) -> Iterator[tuple[Place, Mapping[str, Any]]]:
    if hasattr(source, "columns") or isinstance(source, np.ndarray):
        raise TypeError(
            f"open_table opens files; got a {type(source).__name__} in memory. Call fit(X, y) with it instead."
        )
    if hasattr(source, "get_fragments"):
        if filesystem is not None:
            raise TableError("A pyarrow dataset has its own file system. Omit filesystem=.")
        found = [_fragment(part) for part in source.get_fragments()]
    elif isinstance(source, str | PathLike):
        pairs = _matching(fspath(source), filesystem)
        found = [(place, hive_columns(_path_of(place), root)) for place, root in pairs]
    elif isinstance(source, Iterable):
        found = [pair for one in source for pair in _paths(one, filesystem)]
    else:
        raise TypeError(
            "open_table takes a path, a URL, a pattern, a list of them, a pyarrow dataset, a lake table, an Arrow "
            f"stream or a query; got {type(source).__name__}. Give arrays and frames to fit."
        )
    _refuse_twice([place for place, _ in found])
    yield from sorted(_typed_alike(found), key=lambda pair: str(pair[0]))


def _path_of(place: Place) -> PurePath:
    return PurePosixPath(place.path) if isinstance(place, RemoteFile) else place


def _refuse_twice(places: list[Place]) -> None:
    known: set[Any] = set()
    for place in places:
        key = (place.shown, place.path) if isinstance(place, RemoteFile) else place.resolve()
        if key in known:
            raise TableError(f"{place} is named more than once, so its rows would count more than once. Name it once.")
        known.add(key)


def _typed_alike(found: Found) -> Found:
    """Values from the names of folders: whole numbers if all values of a column are, otherwise strings."""
    strings = {name for _, added in found for name, value in added.items() if isinstance(value, str)}

    def typed(name: str, value: Any) -> Any:
        return str(value) if name in strings and value is not None else value

    return [(path, {name: typed(name, value) for name, value in added.items()}) for path, added in found]


def _fragment(fragment: Any) -> tuple[Place, Mapping[str, Any]]:
    """A file of a dataset, in the file system of the dataset."""
    import pyarrow.dataset as ds

    added = dict(ds.get_partition_keys(fragment.partition_expression))
    if is_local(fragment.filesystem):
        return Path(fragment.path), added
    return located(fragment.path, fragment.filesystem), added


def _matching(source: str, filesystem: Any) -> Iterator[tuple[Place, PurePath]]:
    """The files of a path or pattern, each with the folder below which folder names become columns."""
    if filesystem is not None or is_url(source):
        place, pattern = matching_remote(source, filesystem)
        if isinstance(place, RemoteFile):
            yield from _matching_remote(place, pattern)
            return
        source = str(place / pattern) if pattern else str(place)
    if has_magic(source) and not Path(source).exists():
        matches = sorted(path for path in map(Path, glob(source, recursive=True)) if not is_cache(path))
        if not matches:
            raise TableError(f"No file matches {source!r}.")
        root = Path(source[: next(i for i, letter in enumerate(source) if letter in "*?[")]).parent
        refuse_lake_above(root / "*")
    else:
        root = Path(source)
        matches = [root]
        if not root.exists():
            beside = [path.name for path in root.parent.iterdir()] if root.parent.is_dir() else []
            raise TableError(f"{source} does not exist.{did_you_mean(root.name, beside)}")
    for match in matches:
        if match.is_dir():
            refuse_lake_above(match)
            yield from ((path, root) for path in _inside(match))
        else:
            yield match, root


def _inside(folder: Path) -> list[Path]:
    """The files of supported formats in a folder, without Parquet files that were made of CSV files beside them."""
    files = [path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file()]
    refuse_lakes_inside(folder, files)
    return [folder / path for path in _of_known_kinds(files, folder)]


def _matching_remote(place: RemoteFile, pattern: str) -> Iterator[tuple[Place, PurePath]]:
    root = PurePosixPath(place.path)
    if pattern:
        refuse_lake_above(RemoteFile(place.filesystem, f"{place.path}/*", f"{place}/*"))
    for match, files in listed(place, pattern):
        if files is None:
            yield match, root
            continue
        refuse_lakes_inside(match, files)
        refuse_lake_above(match)
        folder = PurePosixPath(match.path)
        yield from ((match.child(str(folder / path)), root) for path in _of_known_kinds(files, match))


def _of_known_kinds(files: Iterable[PurePath], folder: Place) -> list[PurePath]:
    """Of the files in a folder, by their relative paths, those that hold rows."""
    # Folders that programs use for themselves, such as .ipynb_checkpoints or _temporary, hold no data.
    found = (path for path in files if not any(part[0] in "._" for part in path.parts))
    paths = [path for path in found if path.name.lower().endswith(KNOWN_ENDINGS) and not is_cache(path)]
    known: dict[PurePath, PurePath] = {}
    for path in paths:
        twin = known.setdefault(path.with_name(_bare_name(path)), path)
        if twin is not path:
            raise TableError(
                f"{folder} holds both {twin.name} and {path.name}, which may be the same rows twice. Move one of them "
                "to another folder, or name the files to read by a pattern or in a list."
            )
    return paths


def _bare_name(path: PurePath) -> str:
    """
    >>> _bare_name(Path("2024/Sales.CSV.gz")), _bare_name(Path("part.0.parquet"))
    ('Sales', 'part.0')
    """
    name = path.name.lower()
    return path.name[: -len(next(ending for ending in KNOWN_ENDINGS if name.endswith(ending)))]


def hive_columns(path: PurePath, root: PurePath) -> dict[str, Any]:
    """
    >>> hive_columns(Path("data/year=2024/shop=a/part.parquet"), Path("data"))
    {'year': 2024, 'shop': 'a'}
    """
    folders = path.relative_to(root).parts[:-1] if path.is_relative_to(root) else ()
    pairs = [folder.partition("=") for folder in folders]
    return {unquote(name): _hive_value(unquote(value)) for name, equals, value in pairs if equals}


def _hive_value(value: str) -> int | str | None:
    """
    >>> [_hive_value(value) for value in ("7", "-3", "007", "a", "__HIVE_DEFAULT_PARTITION__")]
    [7, -3, '007', 'a', None]
    """
    if value == "__HIVE_DEFAULT_PARTITION__":
        return None
    return int(value) if fullmatch("0|-?[1-9][0-9]{0,17}", value) else value
