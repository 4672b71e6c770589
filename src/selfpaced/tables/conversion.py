"""From text files, CSV or JSON lines, to Parquet files of the same rows, which are kept."""

from __future__ import annotations

import errno
import json
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

from selfpaced.exceptions import TableError
from selfpaced.tables.csv_reading import ENDINGS, open_csv
from selfpaced.tables.files import import_arrow
from selfpaced.tables.json_lines import JSON_ENDINGS, is_json, open_json

Progress = Callable[[int, int], object]

CACHE_ENDING = ".selfpaced.parquet"
GROUP_ROWS = 2**17
GROUP_BYTES = 2**26  # of a wide table, so many rows are too much for memory
VERSION = 4  # of the rules that make values of text; caches made by other rules are made again
_KEY = b"selfpaced.csv"
TEXT_ENDINGS = (*ENDINGS, *JSON_ENDINGS)


class TextFile(Protocol):
    """A file whose values are written in words. `dialect` is how."""

    @property
    def path(self) -> Path: ...

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def dialect(self) -> str: ...

    @property
    def size(self) -> int: ...

    @property
    def changed_at(self) -> int: ...

    def types(self, names: Iterable[str], at: Callable[[int], None]) -> dict[str, Any]:
        """The types of some columns, after a look at all rows; `at` is told the bytes that have been read."""

    def blocks(self, types: Mapping[str, Any], at: Callable[[int], None]) -> Iterator[Any]:
        """The rows in record batches, values converted to Arrow types."""


def is_text(path: Path) -> bool:
    return path.name.lower().endswith(TEXT_ENDINGS)


def open_text(path: Path) -> TextFile:
    return open_json(path) if is_json(path) else open_csv(path)


def is_cache(path: Path) -> bool:
    return path.name.endswith(CACHE_ENDING)


def as_parquet(
    paths: Iterable[Path],
    types: Mapping[str, str] | None = None,
    cache: str | PathLike[str] | None = None,
    progress: Progress | None = None,
    *,
    lenient: bool = False,
) -> dict[Path, Path]:
    """For each text file, a Parquet file of the same rows: the one made earlier, if nothing has changed since.

    The type of a column of a CSV file is inferred from all of its values: bool (true, false), int64, float64, timestamp
    (2024-01-31, also with a time), or else string. Numbers with needless zeros, such as "007", and whole numbers longer
    than 64 bits stay strings.

    Parameters
    ----------
    types : columns with the names of their Arrow types, which are not inferred then.
    cache : the folder for the Parquet files; by default each is put beside its text file.
    progress : called with the bytes read and the bytes to read in all; a file is read twice.
    lenient : take the types where a file has such columns, and any earlier Parquet file that has them already.
    """
    given = _arrow_types(types or {})
    plans = [_planned(open_text(path), given, cache, lenient) for path in dict.fromkeys(paths)]
    stale = [plan for plan in plans if not plan.is_done()]
    meter = _Meter(progress, 2 * sum(plan.text.size for plan in stale))
    for plan in stale:
        _convert(plan, meter)
    return {plan.text.path: plan.cache for plan in plans}


@dataclass(frozen=True)
class _Plan:
    """A text file, the types given for its columns, and where the Parquet file goes."""

    text: TextFile
    given: Mapping[str, Any]
    cache: Path
    lenient: bool

    def mark(self) -> dict[str, Any]:
        """What a cache is made from; it is made again if any of this has changed."""
        return {
            "version": VERSION,
            "size": self.text.size,
            "changed_at": self.text.changed_at,
            "dialect": self.text.dialect,
            "types": {name: str(kind) for name, kind in sorted(self.given.items())},
        }

    def is_done(self) -> bool:
        import pyarrow.parquet as pq

        pa = import_arrow()
        try:
            found = json.loads((pq.read_metadata(self.cache).metadata or {}).get(_KEY, b"{}"))
            schema = pq.read_schema(self.cache)
        except (pa.ArrowException, OSError, ValueError):
            return False  # none, or one that broke
        wanted = self.mark()
        if self.lenient and all(schema.field(name).type == kind for name, kind in self.given.items()):
            wanted["types"] = found.get("types")
        return bool(found == wanted)


def _planned(text: TextFile, given: Mapping[str, Any], cache: str | PathLike[str] | None, lenient: bool) -> _Plan:
    unknown = sorted(set(given) - set(text.names))
    if unknown and not lenient:
        raise TableError(f"types= names {unknown[0]!r}, but {text.path} has only the columns {list(text.names)}.")
    given = {name: kind for name, kind in given.items() if name in text.names}
    if cache is None:
        return _Plan(text, given, text.path.with_name(text.path.name + CACHE_ENDING), lenient)
    # Files of one name from several folders meet in the one folder of caches.
    place = blake2b(os.fsencode(text.path.resolve()), digest_size=4).hexdigest()
    return _Plan(text, given, Path(cache) / f"{text.path.name}.{place}{CACHE_ENDING}", lenient)


def _arrow_types(types: Mapping[str, str]) -> dict[str, Any]:
    pa = import_arrow()
    found = {}
    for name, kind in types.items():
        try:
            found[name] = pa.type_for_alias(kind)
        except (ValueError, TypeError, AttributeError) as error:
            raise TableError(
                f"types={{{name!r}: {kind!r}}} is not the name of an Arrow type. Those of use are 'string', 'bool', "
                "'int64', 'float64', 'float32', 'date32', 'timestamp[s]'."
            ) from error
    return found


class _Meter:
    """Adds up the bytes of several passes over several files."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._total, self._before = progress, total, 0

    def at(self, position: int) -> None:
        if self._progress is not None:
            self._progress(self._before + position, self._total)

    def passed(self, text: TextFile) -> None:
        self.at(text.size)
        self._before += text.size


def _convert(plan: _Plan, meter: _Meter) -> None:
    # The new file comes first: a folder that cannot be written to shall not show after an hour of reading.
    with _new_file(plan) as path:
        inferred = plan.text.types(set(plan.text.names) - set(plan.given), meter.at)
        meter.passed(plan.text)
        _write(plan, {**inferred, **plan.given}, path, meter)
        _refuse_change(plan.text)


def _refuse_change(text: TextFile) -> None:
    now = text.path.stat()
    if (now.st_size, now.st_mtime_ns) != (text.size, text.changed_at):
        raise TableError(f"{text.path} changed while it was read. Open it again, when nobody writes to it.")


def _write(plan: _Plan, types: Mapping[str, Any], path: Path, meter: _Meter) -> None:
    import pyarrow.parquet as pq

    pa = import_arrow()
    schema = pa.schema([(name, types[name]) for name in plan.text.names], {_KEY: json.dumps(plan.mark())})
    # A fit reads the file many times: fast to unpack is worth more than small.
    with pq.ParquetWriter(path, schema, compression="snappy") as writer:
        for group in _groups(plan.text.blocks(types, meter.at)):
            table = pa.Table.from_batches(group).replace_schema_metadata(schema.metadata)
            writer.write_table(table, row_group_size=len(table))
    meter.passed(plan.text)


def _groups(blocks: Iterator[Any]) -> Iterator[list[Any]]:
    """Blocks together, until they have enough rows or enough bytes."""
    group: list[Any] = []
    n_rows = n_bytes = 0
    for block in blocks:
        group.append(block)
        n_rows, n_bytes = n_rows + block.num_rows, n_bytes + block.nbytes
        if n_rows >= GROUP_ROWS or n_bytes >= GROUP_BYTES:
            yield group
            group, n_rows, n_bytes = [], 0, 0
    if n_rows:
        yield group


@contextmanager
def _new_file(plan: _Plan) -> Iterator[Path]:
    """A file to write to, which takes the cache's place once it is whole, and goes if it never is."""
    path = plan.cache.with_name(f"{plan.cache.name}.{secrets.token_hex(4)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(exist_ok=False)
        yield path
        if not plan.is_done():  # somebody else may have been faster, and may be reading it
            os.replace(path, plan.cache)
    except OSError as error:
        raise TableError(_not_written(plan, error)) from error
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def _not_written(plan: _Plan, error: OSError) -> str:
    folder = plan.cache.parent
    why = {
        errno.ENOSPC: f"the disk of {folder} is full",
        errno.EDQUOT: f"the disk of {folder} is full",
        errno.EACCES: f"{folder} may not be written to",
        errno.EPERM: f"{folder} may not be written to",
        errno.EROFS: f"{folder} may not be written to",
    }.get(error.errno or 0, str(error))
    return (
        f"{plan.text.path} is made into a Parquet file once, but that cannot be kept: {why}. Name a folder with room "
        "for it, as in open_table(..., cache='folder')."
    )
