"""The files of a path, URL or pattern."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from glob import glob
from os import PathLike, fspath
from pathlib import Path, PurePath, PurePosixPath
from re import fullmatch
from typing import Any
from urllib.parse import unquote

import numpy as np

from selfpaced import storage
from selfpaced.exceptions import TableError, did_you_mean, ds, fs
from selfpaced.storage import Place, RemoteFile
from selfpaced.tables.files.file import FORMATS, Reader, ReadPlan, open_file
from selfpaced.tables.sources.cache import TEXT_ENDINGS, as_parquet, is_cache, is_text
from selfpaced.tables.sources.lakes import refuse_lake_above, refuse_lakes_inside

_QUERY = re.compile(r"\?\w+=")  # options of the file system in a URL, such as ?region=eu-west-1


Found = list[tuple[Place, Mapping[str, Any]]]
KNOWN_ENDINGS = (*TEXT_ENDINGS, *FORMATS)


def find_files(source: Any, filesystem: Any = None) -> Found:
    """All files in the order of their names, with the columns that the names of their folders add."""
    found = list(_paths(source, filesystem))
    if not found:
        endings = ", ".join(sorted(KNOWN_ENDINGS))
        raise TableError(f"There is no file with a supported ending ({endings}) in {storage.shown(source)!r}.")
    return found


def _paths(source: Any, filesystem: Any) -> Iterator[tuple[Place, Mapping[str, Any]]]:
    if hasattr(source, "columns") or isinstance(source, np.ndarray):
        raise TypeError(
            f"open_table opens files; got a {type(source).__name__} in memory. Call fit(X, y) with it instead."
        )
    if hasattr(source, "get_fragments"):
        if filesystem is not None:
            raise TableError("A pyarrow dataset has its own file system. Omit filesystem=.")
        fragments = [(part, ds.get_partition_keys(part.partition_expression)) for part in source.get_fragments()]
        found: Found = [(storage.located(part.path, part.filesystem), dict(added)) for part, added in fragments]
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


def _matching(source: str, filesystem: Any) -> Iterator[tuple[Place, PurePath]]:
    """The files of a path or pattern, each with the folder below which folder names become columns."""
    place, pattern = _folder_and_pattern(source, filesystem)
    if pattern:
        refuse_lake_above(place / "*")
    matches = _local_matches(place, pattern) if isinstance(place, Path) else _remote_matches(place, pattern)
    for match, files in matches:
        if files is None:
            yield match, _path_of(place)
            continue
        refuse_lakes_inside(match, files)
        refuse_lake_above(match)
        yield from ((match / path, _path_of(place)) for path in _of_known_kinds(files, match))


def _folder_and_pattern(source: str, filesystem: Any) -> tuple[Place, str]:
    """The folder before the first wildcard of a source, and the pattern after it; the source itself without one."""
    query = _QUERY.search(source) if storage.is_url(source) else None
    text, options = (source[: query.start()], source[query.start() :]) if query else (source, "")
    wildcard = re.search(r"[*?\[]", text)
    if wildcard is None:
        return storage.located(source, filesystem), ""
    folder, slash, _ = text[: wildcard.start()].replace(os.sep, "/").rpartition("/")
    place, pattern = storage.located((folder or slash) + options, filesystem), text[len(folder + slash) :]
    if isinstance(place, Path) and (place / pattern).exists():  # a name with brackets
        return place / pattern, ""
    return place, pattern


# A file, or a folder with the relative paths of its files.
Match = tuple[Place, list[PurePath] | None]


def _local_matches(place: Path, pattern: str) -> Iterator[Match]:
    matches = sorted(place / path for path in glob(pattern, root_dir=place, recursive=True)) if pattern else [place]
    matches = [path for path in matches if not pattern or not is_cache(path)]
    if not matches:
        raise TableError(f"No file matches {str(place / pattern)!r}.")
    if not pattern and not place.exists():
        beside = [path.name for path in place.parent.iterdir()] if place.parent.is_dir() else []
        raise TableError(f"{place} does not exist.{did_you_mean(place.name, beside)}")
    for match in matches:
        below = sorted(match.rglob("*")) if match.is_dir() else None
        yield match, None if below is None else [path.relative_to(match) for path in below if path.is_file()]


def _remote_matches(place: RemoteFile, pattern: str) -> Iterator[Match]:
    """The file system is listed once."""
    with storage.explaining(place, "listed"):
        if not pattern:
            kind = storage.patiently(lambda: place.filesystem.get_file_info(place.path)).type
            if kind == fs.FileType.File:
                yield place, None
                return
            if kind == fs.FileType.NotFound:
                storage.refuse_unreachable(place)
                raise TableError(f"{place} does not exist.")
        selector = fs.FileSelector(place.path, recursive=True, allow_not_found=True)
        found = storage.patiently(lambda: place.filesystem.get_file_info(selector))
    root = place.path.strip("/")  # some file systems list paths without the first slash
    files: list[PurePath] = sorted(
        PurePosixPath(one.path.lstrip("/")).relative_to(root) for one in found if one.type == fs.FileType.File
    )
    if not pattern:
        yield place, files
        return
    matches = re.compile(as_regex(pattern)).fullmatch
    folders: dict[PurePath, list[PurePath] | None] = {}
    for path in files:
        folder = next((one for one in reversed(path.parents) if one.name and matches(str(one))), None)
        if folder is not None:
            inside = folders.setdefault(folder, [])
            assert inside is not None
            inside.append(path.relative_to(folder))
        elif matches(str(path)):
            folders[path] = None
    if not folders:
        raise TableError(f"No file matches '{place}/{pattern}'.")
    yield from ((place / path, inside) for path, inside in folders.items())


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


def file_reader(source: Any, plan: ReadPlan) -> Reader:
    """All rows of some files. Text files are converted.

    If no folder is named, text files of other file systems are converted into a temporary folder.
    """
    found = find_files(source, plan.filesystem)
    texts = [place for place, _ in found if is_text(place)]
    if plan.types and not plan.lenient and not texts:
        raise TableError(
            f"types= is for CSV and JSON files, but {storage.shown(source)!r} has none. Other files hold their types."
        )
    remote = [place for place in texts if isinstance(place, RemoteFile)]
    folder = storage.TemporaryFolder() if remote and plan.cache is None else None
    local = [place for place in texts if not isinstance(place, RemoteFile)]
    made = as_parquet(local, plan.types, plan.cache, plan.progress, lenient=plan.lenient)
    cache = plan.cache if folder is None else folder.path
    made |= as_parquet(remote, plan.types, cache, plan.progress, lenient=plan.lenient)
    files = [open_file(place, added, made.get(place)) for place, added in found]
    return Reader(files, holds=() if folder is None else (folder,))
