"""Copies of remote files on this machine: the columns that a fit reads every round, fetched once."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from selfpaced.exceptions import TableError, pa, pq
from selfpaced.storage import RemoteFile, fingerprint, remove_stale, whole_file
from selfpaced.tables.files.file import File, open_file
from selfpaced.tables.files.formats import writer_for_rereading
from selfpaced.tables.files.reader import Reader, ReadPlan
from selfpaced.tables.text.conversion import CACHE_ENDING

ENDING = f".copy{CACHE_ENDING}"
VERSION = 1  # of the rules by which copies are made
SHARE_OF_DISK = 0.9  # of the free space, if no limit is given
_KEY = b"selfpaced.copy"


def with_copies(reader: Reader, plan: ReadPlan) -> Reader:
    """The same rows, read from copies of the remote files in the cache folder. Local files are not copied."""
    if plan.cache is None or not any(_is_remote(file) for file in reader.files):
        return reader
    folder = Path(plan.cache)
    folder.mkdir(parents=True, exist_ok=True)
    remove_stale(folder, ENDING)
    files = [file for file in reader.files if isinstance(file, File)]
    copies = _Copies(folder, [file for file in files if _is_remote(file)], plan)
    copied = [copies.of(file) if _is_remote(file) else file for file in files]
    names = dict.fromkeys(name for file in files for name in file.schema.names)
    left_out = [name for name in names if not any(name in file.schema.names for file in copied)]
    return replace(reader, files=copied, left_out=(*reader.left_out, *left_out))


def _is_remote(file: Any) -> bool:
    return isinstance(file.data, RemoteFile)


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
        return replace(
            copied,
            schema=pa.schema(own),
            added=file.added,
            without_missing=file.without_missing,
            digest=fingerprint(file.data),
            kept=file.kept,
        )

    def _columns(self, file: File) -> list[str]:
        needed = self._plan.needed(file.schema.names)
        return [name for name in needed if name not in file.added]

    def _path(self, file: File) -> Path:
        assert isinstance(file.data, RemoteFile)
        key = repr((file.data.shown, file.data.path, sorted(self._columns(file)))).encode()
        return self._folder / f"{file.data.name}.{blake2b(key, digest_size=8).hexdigest()}{ENDING}"

    def _mark(self, file: File) -> dict[str, Any]:
        return {"version": VERSION, "source": str(file.data), **fingerprint(file.data)}

    def _is_done(self, file: File) -> bool:
        try:
            metadata = pq.read_metadata(self._path(file)).metadata or {}
            return bool(json.loads(metadata.get(_KEY, b"{}")) == self._mark(file))
        except (pa.ArrowException, OSError, ValueError):
            return False

    def _write(self, file: File, path: Path) -> None:
        columns = self._columns(file)
        fields = [file.schema.field(name) for name in columns]
        schema = pa.schema(fields, {_KEY: json.dumps(self._mark(file))})
        self._done += int(file.state[0])
        try:
            # Every row, deleted ones too: `kept` counts them.
            whole = replace(file, kept=None)
            with (
                whole_file(path, mode=0o600) as temporary,
                writer_for_rereading(temporary, schema) as writer,
            ):
                for batch in whole.batches(columns, 2**17):
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
        return list(self._folder.glob(f"*{ENDING}"))
