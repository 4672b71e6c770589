"""Parquet files that are made once and kept: of text files, and of the needed columns of remote files."""

import errno
import json
import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from hashlib import blake2b
from os import PathLike
from pathlib import Path, PurePath
from tempfile import mkdtemp
from typing import Any

from selfpaced.exceptions import TableError, pa, pq
from selfpaced.storage import Place, RemoteFile, TemporaryFolder, downloaded, fingerprint, remove_stale, whole_file
from selfpaced.tables.files.file import File, Reader, ReadPlan, in_blocks, naming, open_file, writer_for_rereading
from selfpaced.tables.files.inference import Form, comma_forms
from selfpaced.tables.files.text import ENDINGS, JSON_ENDINGS, LIMITS, CsvFile, JsonFile, Limits, open_csv, open_json
from selfpaced.tables.table import Progress

CACHE_ENDING = ".selfpaced.parquet"
COPY_ENDING = f".copy{CACHE_ENDING}"
SHARE_OF_DISK = 0.9  # of the free space, if no limit is given for copies
VERSION = 9  # of the rules that turn text into values and make copies; files made by other rules are made again
TEXT_ENDINGS = (*ENDINGS, *JSON_ENDINGS)
_MARK = b"selfpaced.made_of"
TextFile = CsvFile | JsonFile


def is_text(path: Place) -> bool:
    return path.name.lower().endswith(TEXT_ENDINGS)


def is_cache(path: PurePath) -> bool:
    return path.name.endswith(CACHE_ENDING)


def _made_of(path: Path) -> tuple[dict[str, Any], Any]:
    """The mark in a kept Parquet file, which says what it was made of, and its schema; both empty for other files."""
    try:
        metadata = pq.read_metadata(path)
        return json.loads((metadata.metadata or {}).get(_MARK, b"{}")), metadata.schema.to_arrow_schema()
    except (pa.ArrowException, OSError, ValueError):
        return {}, pa.schema([])


def as_parquet(
    paths: Iterable[Place],
    types: Mapping[str, str] | None = None,
    cache: str | PathLike[str] | None = None,
    progress: Progress | None = None,
    *,
    lenient: bool = False,
    limits: Limits = LIMITS,
) -> dict[Place, Path]:
    """For each text file, a Parquet file of the same rows: the one made earlier, if nothing has changed since.

    The Parquet files are in the folder `cache`, or else each is beside its text file; files of other file systems need
    a folder, and are downloaded first. A file is read twice. `lenient` ignores `types` of columns that a file does not
    have, and accepts an earlier Parquet file whose columns have these types.
    """
    given = {name: _form(name, kind) for name, kind in (types or {}).items()}
    plans = [_planned(path, given, cache, lenient, limits) for path in dict.fromkeys(paths)]
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
    limits: Limits

    def mark(self) -> dict[str, Any]:
        """What a cache is made from; it is made again if any of this has changed."""
        types = {name: [str(form.type), form.comma] for name, form in sorted(self.given.items())}
        return {"version": VERSION, "types": types, **self.fingerprint}

    def is_done(self) -> bool:
        found, schema = _made_of(self.cache)
        types = {field.name: field.type for field in schema}
        if not self.lenient and set(self.given) - set(types):
            return False  # `opened` refuses it
        wanted = self.mark()
        if self.lenient and all(types.get(name, form.type) == form.type for name, form in self.given.items()):
            wanted["types"] = found.get("types")
        return found == wanted

    def opened(self, downloads: TemporaryFolder | None) -> TextFile:
        local = self._local(downloads)
        with _naming_remote(self.path, local):
            is_json = local.name.lower().endswith(JSON_ENDINGS)
            text = open_json(local, self.limits) if is_json else open_csv(local, self.limits)
        unknown = sorted(set(self.given) - set(text.names))
        if unknown and not self.lenient:
            raise TableError(f"types= names {unknown[0]!r}, but {self.path} has only the columns {list(text.names)}.")
        return text

    def _local(self, downloads: TemporaryFolder | None) -> Path:
        """The file itself, or a copy of a file in another file system."""
        if not isinstance(self.path, RemoteFile):
            return self.path
        assert downloads is not None
        folder = Path(mkdtemp(dir=downloads.path))  # of its own: several files may have one name
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


def _planned(
    path: Place, given: Mapping[str, Form], cache: str | PathLike[str] | None, lenient: bool, limits: Limits
) -> _Plan:
    if cache is None:
        assert isinstance(path, Path)
        place = path.with_name(path.name + CACHE_ENDING)
    else:
        # The hash distinguishes files of the same name from several folders in the one folder of caches.
        whole = os.fsencode(str(path if isinstance(path, RemoteFile) else path.resolve()))
        place = Path(cache) / f"{path.name}.{blake2b(whole, digest_size=4).hexdigest()}{CACHE_ENDING}"
    with naming(path, "text"):
        return _Plan(path, fingerprint(path), given, place, lenient, limits)


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
    folder = plan.cache.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        remove_stale(folder, CACHE_ENDING)
        source = text.path.stat()
        # The new file comes first, so that a folder without write permission raises at once and not after an hour.
        with whole_file(plan.cache, mode=source.st_mode & 0o666 | 0o600) as temporary:
            _close_to_other_groups(temporary, source.st_gid)
            given = {name: form for name, form in plan.given.items() if name in text.names}
            forms = text.forms(given, meter.at, plan.lenient)
            meter.passed(plan)
            _write(plan, text, forms, temporary, meter)
            if fingerprint(plan.path) != plan.fingerprint:
                raise TableError(
                    f"{plan.path} changed while it was read. Open it again when no other program writes to it."
                )
            if plan.is_done():  # another process has written the same file already, and may be reading it
                temporary.unlink()
    except OSError as error:
        full, closed = (errno.ENOSPC, errno.EDQUOT), (errno.EACCES, errno.EPERM, errno.EROFS)
        why = dict.fromkeys(full, f"the disk of {folder} is full") | dict.fromkeys(
            closed, f"{folder} cannot be written to"
        )
        raise TableError(
            f"{plan.path} must be converted to a Parquet file, but that file cannot be written: "
            f"{why.get(error.errno or 0, error)}. Name a folder with enough space: open_table(..., cache='folder') in "
            "Python, --cache FOLDER on the command line. Or convert the file to Parquet first."
        ) from error


def _close_to_other_groups(path: Path, group: int) -> None:
    """Copy the permissions of a file. If the new file belongs to another group, that group gets those of all users."""
    status = path.stat()
    if status.st_gid != group:
        path.chmod(status.st_mode & 0o707 | (status.st_mode & 0o007) << 3)


def _write(plan: _Plan, text: TextFile, forms: Mapping[str, Form], path: Path, meter: _Meter) -> None:
    schema = pa.schema([(name, forms[name].type) for name in text.names], {_MARK: json.dumps(plan.mark())})
    with writer_for_rereading(path, schema) as writer:
        for group in in_blocks(text.blocks(forms, meter.at), plan.limits.group_bytes, plan.limits.group_rows):
            table = pa.Table.from_batches(group).replace_schema_metadata(schema.metadata)
            writer.write_table(table, row_group_size=len(table))
    meter.passed(plan)


def with_copies(reader: Reader, plan: ReadPlan) -> Reader:
    """The same rows, read from copies of the remote files in the cache folder. Local files are not copied."""
    files = [file for file in reader.files if isinstance(file, File)]
    remote = [file for file in files if isinstance(file.data, RemoteFile)]
    if plan.cache is None or not remote:
        return reader
    folder = Path(plan.cache)
    folder.mkdir(parents=True, exist_ok=True)
    remove_stale(folder, COPY_ENDING)
    copies = _Copies(folder, remote, plan)
    copied = [copies.of(file) if isinstance(file.data, RemoteFile) else file for file in files]
    names = dict.fromkeys(name for file in files for name in file.schema.names)
    left_out = [name for name in names if not any(name in file.schema.names for file in copied)]
    return replace(reader, files=copied, left_out=(*reader.left_out, *left_out))


class _Copies:
    """The copies of the files of a table.

    They stay in the folder for the next table. Where there is no space for new ones, those that have not been used for
    the longest time are removed.
    """

    def __init__(self, folder: Path, files: Sequence[File], plan: ReadPlan) -> None:
        self._folder, self._plan = folder, plan
        self._own = {self._path(file) for file in files}
        held = sum(path.stat().st_size for path in self._all())
        free = held + int(SHARE_OF_DISK * shutil.disk_usage(folder).free)
        self._limit = free if plan.cache_bytes is None else plan.cache_bytes
        self._total = sum(int(file.state[0]) for file in files if not self._is_done(file))
        self._done = 0

    def of(self, file: File) -> File:
        """A file whose rows are read from its copy."""
        path = self._path(file)
        if not self._columns(file):
            return file
        if not self._is_done(file):
            self._write(file, path)
        os.utime(path, ns=(time.time_ns(), path.stat().st_mtime_ns))  # used now, and not changed
        copied = open_file(file.path, {}, path)
        own = [field for field in file.schema if field.name in {*copied.schema.names, *file.added}]
        # The columns of the copy, read from there; all else is that of the file itself.
        whole = replace(file, schema=pa.schema(own), digest=fingerprint(file.data))
        return replace(whole, data=copied.data, format=copied.format, state=copied.state)

    def _columns(self, file: File) -> list[str]:
        return [name for name in self._plan.needed(file.schema.names) if name not in file.added]

    def _path(self, file: File) -> Path:
        assert isinstance(file.data, RemoteFile)
        key = repr((file.data.shown, file.data.path, sorted(self._columns(file)))).encode()
        return self._folder / f"{file.data.name}.{blake2b(key, digest_size=8).hexdigest()}{COPY_ENDING}"

    def _mark(self, file: File) -> dict[str, Any]:
        return {"version": VERSION, "source": str(file.data), **fingerprint(file.data)}

    def _is_done(self, file: File) -> bool:
        return _made_of(self._path(file))[0] == self._mark(file)

    def _write(self, file: File, path: Path) -> None:
        columns = self._columns(file)
        schema = pa.schema([file.schema.field(name) for name in columns], {_MARK: json.dumps(self._mark(file))})
        self._done += int(file.state[0])
        try:
            whole = replace(file, kept=None)  # deleted rows too: `kept` counts them
            with whole_file(path, mode=0o600) as temporary, writer_for_rereading(temporary, schema) as writer:
                for batch in whole.batches(columns, LIMITS.group_rows):
                    writer.write_batch(batch.cast(schema))
                    self._make_room(temporary.stat().st_size)
        except OSError as error:
            raise TableError(f"{file.data} cannot be copied to {self._folder}: {error}") from error
        self._plan.tell(self._done, self._total)

    def _make_room(self, n_writing: int) -> None:
        held = {path: path.stat() for path in self._all()}
        total = n_writing + sum(status.st_size for status in held.values())
        for path in sorted(held.keys() - self._own, key=lambda path: held[path].st_atime):
            if total <= self._limit:
                return
            with suppress(FileNotFoundError):
                path.unlink()
            total -= held[path].st_size
        if total > self._limit:
            raise TableError(
                f"The copies of this table take more than {self._limit:,} bytes in {self._folder}. Name a folder with "
                "more space, increase cache_bytes=, name fewer columns, or omit cache=."
            )

    def _all(self) -> list[Path]:
        return list(self._folder.glob(f"*{COPY_ENDING}"))
