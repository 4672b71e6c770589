"""Conversion of text files (CSV and JSON lines) to Parquet files of the same rows, which are kept."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from os import PathLike
from pathlib import Path, PurePath
from typing import Any

from selfpaced.exceptions import TableError, pa, pq
from selfpaced.storage import Place, RemoteFile, TemporaryFolder, downloaded, fingerprint, remove_stale, whole_file
from selfpaced.tables.files.file import naming
from selfpaced.tables.files.formats import writer_for_rereading
from selfpaced.tables.table import Progress
from selfpaced.tables.text.csv import ENDINGS, CsvFile, open_csv
from selfpaced.tables.text.inference import Form, comma_forms
from selfpaced.tables.text.json_lines import JSON_ENDINGS, JsonFile, open_json

CACHE_ENDING = ".selfpaced.parquet"
GROUP_ROWS = 2**17
GROUP_BYTES = 2**26  # limits the row groups of wide tables, which would take too much memory otherwise
VERSION = 7  # of the rules that turn text into values; caches made by other rules are made again
_KEY = b"selfpaced.csv"
TEXT_ENDINGS = (*ENDINGS, *JSON_ENDINGS)
TextFile = CsvFile | JsonFile


def is_text(path: Place) -> bool:
    return path.name.lower().endswith(TEXT_ENDINGS)


def is_cache(path: PurePath) -> bool:
    return path.name.endswith(CACHE_ENDING)


def as_parquet(
    paths: Iterable[Place],
    types: Mapping[str, str] | None = None,
    cache: str | PathLike[str] | None = None,
    progress: Progress | None = None,
    *,
    lenient: bool = False,
) -> dict[Place, Path]:
    """For each text file, a Parquet file of the same rows: the one made earlier, if nothing has changed since.

    The type of a column of a CSV file is inferred from all of its values: bool (true, false), int64, uint64, float64,
    timestamp (2024-01-31 or 31.01.2024, also with a time), or else string. Numbers with needless zeros, such as "007",
    and integers longer than 64 bits stay strings.

    Parameters
    ----------
    types : Mapping[str, str] | None, default=None
        The names of Arrow types, by column. These types are not inferred. "decimal comma" and "thousands comma" are
        float64 values that are written with such commas.
    cache : str | PathLike[str] | None, default=None
        The folder for the Parquet files; by default each is put beside its text file. Files of other file systems need
        one; they are downloaded first.
    progress : Progress | None, default=None
        Called with the bytes read and the bytes to read in all; a file is read twice.
    lenient : bool, default=False
        Whether to ignore `types` of columns that a file does not have, and to accept an earlier Parquet file whose
        columns have these types.
    """
    given = {name: _form(name, kind) for name, kind in (types or {}).items()}
    plans = [_planned(path, given, cache, lenient) for path in dict.fromkeys(paths)]
    downloads = TemporaryFolder() if any(isinstance(plan.path, RemoteFile) for plan in plans) else None
    # All are opened before the first is converted, so that a bad header raises at once and not after an hour.
    stale = [(plan, plan.opened(downloads)) for plan in plans if not plan.is_done()]
    meter = _Meter(progress, 2 * sum(plan.fingerprint["size"] for plan, _ in stale))
    for plan, text in stale:
        with _naming_remote(plan.path, text.path):
            _convert(plan, text, meter)
    return {plan.path: plan.cache for plan in plans}


@dataclass(frozen=True)
class _Plan:
    """A text file as it is now, the forms given for its columns, and where the Parquet file goes."""

    path: Place
    fingerprint: Mapping[str, Any]
    given: Mapping[str, Form]
    cache: Path
    lenient: bool

    def mark(self) -> dict[str, Any]:
        """What a cache is made from; it is made again if any of this has changed."""
        types = {name: [str(form.type), form.comma] for name, form in sorted(self.given.items())}
        return {"version": VERSION, "types": types, **self.fingerprint}

    def is_done(self) -> bool:
        try:
            metadata = pq.read_metadata(self.cache)
            found = json.loads((metadata.metadata or {}).get(_KEY, b"{}"))
            types = {field.name: field.type for field in metadata.schema.to_arrow_schema()}
        except (pa.ArrowException, OSError, ValueError):
            return False  # the Parquet file does not exist, or it is broken
        if not self.lenient and set(self.given) - set(types):
            return False  # `opened` refuses it
        wanted = self.mark()
        if self.lenient and all(types.get(name, form.type) == form.type for name, form in self.given.items()):
            wanted["types"] = found.get("types")
        return bool(found == wanted)

    def opened(self, downloads: TemporaryFolder | None) -> TextFile:
        local = self._local(downloads)
        with _naming_remote(self.path, local):
            text = open_json(local) if local.name.lower().endswith(JSON_ENDINGS) else open_csv(local)
        unknown = sorted(set(self.given) - set(text.names))
        if unknown and not self.lenient:
            raise TableError(f"types= names {unknown[0]!r}, but {self.path} has only the columns {list(text.names)}.")
        return text

    def _local(self, downloads: TemporaryFolder | None) -> Path:
        """The file itself, or a copy of a file in another file system."""
        if not isinstance(self.path, RemoteFile):
            return self.path
        assert downloads is not None
        folder = downloads.path / blake2b(str(self.path).encode(), digest_size=4).hexdigest()
        folder.mkdir()
        return downloaded(self.path, folder / self.path.name)


@contextmanager
def _naming_remote(path: Place, local: Path) -> Iterator[None]:
    """Errors about the local copy of a remote file name the remote file."""
    try:
        yield
    except TableError as error:
        if path is local:
            raise
        raise TableError(str(error).replace(str(local), str(path))) from error


def _planned(path: Place, given: Mapping[str, Form], cache: str | PathLike[str] | None, lenient: bool) -> _Plan:
    if cache is None:
        assert isinstance(path, Path)
        place = path.with_name(path.name + CACHE_ENDING)
    else:
        # The hash distinguishes files of the same name from several folders in the one folder of caches.
        whole = str(path) if isinstance(path, RemoteFile) else path.resolve()
        folder = blake2b(os.fsencode(whole), digest_size=4).hexdigest()
        place = Path(cache) / f"{path.name}.{folder}{CACHE_ENDING}"
    with naming(path, "text"):
        return _Plan(path, fingerprint(path), given, place, lenient)


def _form(name: str, kind: str) -> Form:
    if kind in comma_forms():
        return comma_forms()[kind]
    try:
        return Form(pa.type_for_alias(kind))
    except (ValueError, TypeError, AttributeError) as error:
        raise TableError(
            f"types={{{name!r}: {kind!r}}} is not the name of an Arrow type. Useful names are 'string', 'bool', "
            "'int64', 'float64', 'float32', 'date32' and 'timestamp[s]'. Use 'decimal comma' or 'thousands comma' for "
            "numbers that are written with such commas."
        ) from error


class _Meter:
    """Adds up the bytes of several passes over several files."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._total, self._before = progress, total, 0

    def at(self, position: int) -> None:
        if self._progress is not None:
            self._progress(self._before + position, self._total)

    def passed(self, plan: _Plan) -> None:
        self.at(plan.fingerprint["size"])
        self._before += plan.fingerprint["size"]


def _convert(plan: _Plan, text: TextFile, meter: _Meter) -> None:
    try:
        plan.cache.parent.mkdir(parents=True, exist_ok=True)
        remove_stale(plan.cache.parent, CACHE_ENDING)
        source = text.path.stat()
        # The new file comes first, so that a folder without write permission raises at once and not after an hour.
        with whole_file(plan.cache, mode=source.st_mode & 0o666 | 0o600) as temporary:
            _close_to_other_groups(temporary, source.st_gid)
            forms = text.forms({name: form for name, form in plan.given.items() if name in text.names}, meter.at)
            meter.passed(plan)
            _write(plan, text, forms, temporary, meter)
            if fingerprint(plan.path) != plan.fingerprint:
                raise TableError(
                    f"{plan.path} changed while it was read. Open it again when no other program writes to it."
                )
            if plan.is_done():  # another process has written the same file already, and may be reading it
                temporary.unlink()
    except OSError as error:
        raise TableError(_not_written(plan, error)) from error


def _close_to_other_groups(path: Path, group: int) -> None:
    """Copy the permissions of a file. If the new file belongs to another group, that group gets those of all users."""
    status = path.stat()
    if status.st_gid != group:
        path.chmod(status.st_mode & 0o707 | (status.st_mode & 0o007) << 3)


def _write(plan: _Plan, text: TextFile, forms: Mapping[str, Form], path: Path, meter: _Meter) -> None:
    schema = pa.schema([(name, forms[name].type) for name in text.names], {_KEY: json.dumps(plan.mark())})
    with writer_for_rereading(path, schema) as writer:
        for group in _groups(text.blocks(forms, meter.at)):
            table = pa.Table.from_batches(group).replace_schema_metadata(schema.metadata)
            writer.write_table(table, row_group_size=len(table))
    meter.passed(plan)


def _groups(blocks: Iterator[Any]) -> Iterator[list[Any]]:
    """Join blocks until they have enough rows or enough bytes."""
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


def _not_written(plan: _Plan, error: OSError) -> str:
    folder = plan.cache.parent
    why = str(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        why = f"the disk of {folder} is full"
    elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        why = f"{folder} cannot be written to"
    return (
        f"{plan.path} must be converted to a Parquet file, but that file cannot be written: {why}. Name a folder with "
        "enough space: open_table(..., cache='folder') in Python, --cache FOLDER on the command line. Or convert the "
        "file to Parquet first."
    )
