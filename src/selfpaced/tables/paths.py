"""The files that a user means by a path, a folder, a pattern, a list of these, or a pyarrow dataset."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from glob import glob, has_magic
from os import PathLike, fspath
from pathlib import Path
from re import fullmatch
from typing import Any
from urllib.parse import unquote

import numpy as np

from selfpaced.exceptions import TableError
from selfpaced.tables.conversion import TEXT_ENDINGS, is_cache, is_text
from selfpaced.tables.files import FORMATS

Found = list[tuple[Path, Mapping[str, Any]]]
KNOWN_ENDINGS = (*TEXT_ENDINGS, *FORMATS)


def find_files(source: Any) -> Found:
    """All files in the order of their names, with the columns that the names of their folders add."""
    found = list(_paths(source))
    if not found:
        raise TableError(f"No file with a known ending ({', '.join(sorted(KNOWN_ENDINGS))}) is in {source!r}.")
    return found


def _paths(source: Any) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    if hasattr(source, "columns") or isinstance(source, np.ndarray):
        raise TypeError(f"open_table opens files; a {type(source).__name__} in memory goes to fit(X, y).")
    if hasattr(source, "get_fragments"):
        found = [_fragment(part) for part in source.get_fragments()]
    elif isinstance(source, str | PathLike):
        found = [(path, hive_columns(path, root)) for path, root in _matching(fspath(source))]
    elif isinstance(source, Iterable):
        found = [pair for one in source for pair in _paths(one)]
    else:
        raise TypeError(
            f"open_table takes a path, a pattern, a list of them or a pyarrow dataset; got {type(source).__name__}. "
            "Arrays and frames go to fit."
        )
    paths = [path.resolve() for path, _ in found]
    twice = next((path for path in paths if paths.count(path) > 1), None)
    if twice is not None:
        raise TableError(f"{twice} is named more than once: its rows would count more than once.")
    yield from sorted(_typed_alike(found), key=lambda pair: str(pair[0]))


def _typed_alike(found: Found) -> Found:
    """Values from folders' names: whole numbers if all of a name are, else words."""
    words = {name for _, added in found for name, value in added.items() if isinstance(value, str)}

    def typed(name: str, value: Any) -> Any:
        return str(value) if name in words and value is not None else value

    return [(path, {name: typed(name, value) for name, value in added.items()}) for path, added in found]


def _fragment(fragment: Any) -> tuple[Path, Mapping[str, Any]]:
    import pyarrow.dataset as ds

    path = Path(fragment.path)
    if is_text(path):  # the dataset's own way of reading it would be lost
        raise TableError(f"{path} is in a dataset; text files are opened by their paths, with types= where needed.")
    return path, dict(ds.get_partition_keys(fragment.partition_expression))


def _matching(source: str) -> Iterator[tuple[Path, Path]]:
    """The files that a path or pattern means, each with the folder that its own folders are counted from."""
    if has_magic(source) and not Path(source).exists():
        matches = sorted(path for path in map(Path, glob(source, recursive=True)) if not is_cache(path))
        if not matches:
            raise TableError(f"No file matches {source!r}.")
        root = Path(source[: next(i for i, letter in enumerate(source) if letter in "*?[")]).parent
    else:
        root = Path(source)
        matches = [root]
        if not root.exists():
            raise TableError(f"{source} is not there.")
    for match in matches:
        if match.is_dir():
            yield from ((path, root) for path in _inside(match))
        else:
            yield match, root


def _inside(folder: Path) -> list[Path]:
    """The files of known kinds in a folder, without the ones made of CSV files that are there themselves."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and not is_cache(path))
    # What programs put aside, such as .ipynb_checkpoints or _temporary, is nobody's data.
    found = (path for path in found if not any(part[0] in "._" for part in path.relative_to(folder).parts))
    paths = [path for path in found if path.name.lower().endswith(KNOWN_ENDINGS)]
    known: dict[Path, Path] = {}
    for path in paths:
        twin = known.setdefault(path.with_name(_bare_name(path)), path)
        if twin is not path:
            raise TableError(
                f"{folder} holds both {twin.name} and {path.name}: the same rows twice? Move one away, or name the "
                "files to read by a pattern or in a list."
            )
    return paths


def _bare_name(path: Path) -> str:
    """
    >>> _bare_name(Path("2024/Sales.CSV.gz")), _bare_name(Path("part.0.parquet"))
    ('Sales', 'part.0')
    """
    name = path.name.lower()
    return path.name[: -len(next(ending for ending in KNOWN_ENDINGS if name.endswith(ending)))]


def hive_columns(path: Path, root: Path) -> dict[str, Any]:
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
