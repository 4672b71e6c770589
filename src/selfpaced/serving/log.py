"""A log of answered requests: JSON lines in a folder, which `selfpaced monitor` and `selfpaced predict` read.

A thread writes, so that no request waits for the disk. Each process writes its own file. The file has a hidden name
while it grows, because readers refuse files that change. It is compressed and gets its final name after an hour, at a
certain size, or when the log is closed. A file that a killed process left is completed by the next process.
"""

from __future__ import annotations

import atexit
import errno
import gzip
import logging
import mmap
import os
import secrets
import shutil
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

from selfpaced.exceptions import TableError
from selfpaced.serving.lines import Kind, Lines
from selfpaced.storage import lock_file, private_folder, whole_file

ENDING, CLOSED_ENDING = ".jsonl", ".jsonl.gz"
ROWS_AT_ONCE = 64  # lines that are encoded before other threads get a turn
SECONDS_TO_CLOSE = 60.0
logger = logging.getLogger("selfpaced.serving")


class RequestLog:
    """Answered requests in a folder that only its owner may read.

    A record is a mapping with the names of `OWN`, each of which may be missing, and `row`, the values of the row by
    column, or in their order if the model has no feature names. In the files, the names of `OWN` have a prefix that no
    column of the model starts with: `served_`. Values that do not fit the type of their column are in `served_other`,
    as JSON: one of them would make the file unreadable.

    Parameters
    ----------
    folder : Path
        It is made if it does not exist.
    leave_out : sequence of str
        Columns that are never written.
    columns : mapping from str to Kind, or None
        The columns to write, as `column_kinds` gives them. None writes all columns of each row.
    also : sequence of str
        Further columns of the rows to write, such as an identifier.
    most_bytes : int
        The size of all files of the folder together. The oldest complete files are removed for new ones.
    file_bytes : int or None
        The size at which a file is completed; by default 64 MB, or a 16th of `most_bytes` if that is less.
    file_seconds : float
        A file is completed when a period of this length ends. Periods start at midnight, UTC.
    flush_seconds : float
        How often the thread writes. This is what `kill -9` can lose.
    most_waiting : int
        Records that wait to be written. Further ones are dropped and counted.
    """

    def __init__(
        self,
        folder: Path,
        *,
        leave_out: Sequence[str] = (),
        columns: Mapping[str, Kind] | None = None,
        also: Sequence[str] = (),
        most_bytes: int = 2**30,
        file_bytes: int | None = None,
        file_seconds: float = 3600.0,
        flush_seconds: float = 1.0,
        most_waiting: int = 2**16,
    ) -> None:
        self._folder = Path(folder)
        try:
            private_folder(self._folder).prepare([CLOSED_ENDING])
            if not os.access(self._folder, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        except OSError as error:
            said = f"--log {folder} cannot be written: {str(error.strerror or error).rstrip('.')}."
            raise TableError(f"{said} Name a folder that this user may make or write to.") from None
        self._leave_out, self._also = frozenset(leave_out), tuple(also)
        self._lines, self._most_bytes = self._lines_of(columns), most_bytes
        self._file_bytes = min(2**26, most_bytes // 16) if file_bytes is None else file_bytes
        self._file_seconds, self._flush_seconds, self._most_waiting = file_seconds, flush_seconds, most_waiting
        self.dropped = 0  # records that were not written: too many were waiting, or the disk was full to the end
        self._fails, self._reason = False, f"more than {most_waiting:,} waited, or they cannot be written as JSON"
        atexit.register(self.close)
        self._begin()

    def append(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Have records written soon. This never waits for the disk and never raises."""
        if self._owner != os.getpid():  # a fork has its own file and its own thread
            if self._file is not None:
                self._file.file.close()
            self._begin()
        with self._lock:
            room = 0 if self._closing.is_set() else self._most_waiting - len(self._waiting)
            self._waiting.extend(records[:room])
            self.dropped += max(len(records) - room, 0)

    def use(self, columns: Mapping[str, Kind] | None) -> None:
        """Write other columns from the next record on, in a new file: those of a model that replaces another."""
        with self._lock:
            self._waiting.append(self._lines_of(columns))

    def close(self) -> None:
        """Write all records and complete the file. Say how many could not be written."""
        atexit.unregister(self.close)
        if self._owner == os.getpid() and not self._closing.is_set():
            self._closing.set()
            self._thread.join(SECONDS_TO_CLOSE)
            self.dropped += self._n_waiting
            if self.dropped:
                logger.error("%s rows could not be logged to %s: %s.", f"{self.dropped:,}", self._folder, self._reason)

    @property
    def problem(self) -> str | None:
        """Why nothing is written at the moment."""
        if not self._fails:
            return None
        return f"The log cannot be written to {self._folder}: {self._reason}. {self._n_waiting:,} rows wait."

    def _lines_of(self, columns: Mapping[str, Kind] | None) -> Lines:
        return Lines(None if columns is None else {**dict.fromkeys(self._also, "any"), **columns}, self._leave_out)

    def _begin(self) -> None:
        self._owner, self._lock, self._closing = os.getpid(), Lock(), Event()
        self._waiting: deque[Mapping[str, Any] | Lines] = deque()  # `Lines` for the records after it
        self._unwritten, self._n_unwritten = b"", 0  # lines that were taken from the queue, and their number
        self._file: _OpenFile | None = None
        self._thread = Thread(target=self._run, name="selfpaced request log", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self._step(self._tidy)
        while not self._closing.wait(self._flush_seconds):
            self._step(self._write_all)
        self._step(self._write_all)
        self._step(self._complete)

    def _step(self, work: Callable[[], None]) -> None:
        """Do some work. An error is a problem to report and to try again: the thread must not end."""
        try:
            work()
        except Exception as error:
            self._reason = error.strerror if isinstance(error, OSError) and error.strerror else repr(error)
            if not self._fails:
                self._fails = True
                logger.error("%s", self.problem)

    @property
    def _n_waiting(self) -> int:
        return sum(not isinstance(one, Lines) for one in list(self._waiting)) + self._n_unwritten

    def _write_all(self) -> None:
        period = time.time() // self._file_seconds
        if self._file is not None and (self._file.period != period or not self._file.path.exists()):
            self._complete()
        while self._unwritten or self._waiting:
            if not self._unwritten:
                self._unwritten, self._n_unwritten = self._taken()
            if self._file is None:
                self._folder.mkdir(0o700, parents=True, exist_ok=True)
                self._file = _OpenFile(self._folder, period)
            self._file.write(self._unwritten)
            self._unwritten, self._n_unwritten = b"", 0
            if self._file.n_bytes >= self._file_bytes:
                self._complete()
        if self._fails:
            self._fails = False
            logger.warning("The log can be written to %s again.", self._folder)

    def _taken(self) -> tuple[bytes, int]:
        """Some waiting records as lines, and their number. They wait no more, even those that cannot be encoded."""
        time.sleep(0)  # lets the threads that answer requests run
        lines: list[bytes] = []
        while self._waiting and len(lines) < ROWS_AT_ONCE:
            if isinstance(self._waiting[0], Lines):
                if lines:  # they belong to the file before
                    break
                self._complete()
            record = self._waiting.popleft()
            if isinstance(record, Lines):
                self._lines = record
                continue
            try:
                lines.append(self._lines.line(record))
            except Exception:
                with self._lock:
                    self.dropped += 1
        return b"".join(lines), len(lines)

    def _complete(self) -> None:
        """Give the open file its final name, and those that killed processes left."""
        if self._file is not None:
            file, self._file = self._file, None
            self._lines.begin_file()
            with closing(file.file):
                _publish(file.file, file.path)
        self._tidy()

    def _tidy(self) -> None:
        for path in self._folder.glob(f".requests-*{ENDING}"):
            file = None if self._file is not None and path == self._file.path else _claimed(path)
            if file is not None:
                with closing(file):
                    _publish(file, path)
        self._make_room()

    def _make_room(self) -> None:
        """Remove the oldest complete files, with the Parquet files that readers made of them."""
        sizes: dict[str, dict[Path, int]] = {}
        total = self._file_bytes  # of the file that is written next
        for path in sorted(self._folder.glob("*requests-*")):  # glob finds hidden files too
            with suppress(FileNotFoundError):  # another process removes files too
                size = path.stat().st_size
                if path.name.startswith("."):
                    total += max(size, self._file_bytes)
                else:
                    sizes.setdefault(path.name.partition(ENDING)[0], {})[path] = size
                    total += size
        for files in sizes.values():  # the names start with the time
            if total <= self._most_bytes:
                break
            for path, size in files.items():
                path.unlink(missing_ok=True)
                total -= size


class _OpenFile:
    """The file that one process writes, with the number of the period that it belongs to."""

    def __init__(self, folder: Path, period: float) -> None:
        self.period, self.n_bytes = period, 0
        name = f".requests-{datetime.now(UTC):%Y%m%dT%H%M%S.%f}-{os.getpid()}-{secrets.token_hex(4)}{ENDING}"
        self.path = folder / name
        file = _claimed(self.path, "x+")
        if file is None:
            raise OSError(errno.EAGAIN, "another process took the new file; it is made again")
        self.file = file

    def write(self, lines: bytes) -> None:
        """Write whole lines: all of them, or none and an error."""
        try:
            if self.file.write(lines) != len(lines):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError:
            self.file.truncate(self.n_bytes)
            self.file.seek(self.n_bytes)
            raise
        self.n_bytes += len(lines)


def _claimed(path: Path, mode: str = "r+") -> FileIO | None:
    """A file that no other process writes, locked for this one; None if another has it."""
    try:
        file = FileIO(path, mode, opener=lambda path, flags: os.open(path, flags, 0o600))
    except FileNotFoundError:
        return None
    with suppress(OSError):
        lock_file(file)
        if os.path.samestat(os.fstat(file.fileno()), path.stat()):  # another may have completed it just before
            return file
    file.close()
    return None


def _publish(file: FileIO, path: Path) -> None:
    """Give the whole lines of a hidden file a name that readers find, compressed if there is space for it."""
    n_bytes = _bytes_of_whole_lines(file)
    if not n_bytes or not path.exists():  # somebody may have removed it
        path.unlink(missing_ok=True)
        return
    file.truncate(n_bytes)
    file.seek(0)
    final = path.with_name(path.name.removeprefix("."))
    try:
        with (
            whole_file(final.with_suffix(CLOSED_ENDING), mode=0o600) as temporary,
            gzip.open(temporary, "wb", compresslevel=1) as target,
        ):
            shutil.copyfileobj(file, target, 2**20)
    except OSError:
        path.rename(final)
    else:
        path.unlink()


def _bytes_of_whole_lines(file: FileIO) -> int:
    if not os.fstat(file.fileno()).st_size:
        return 0
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        end = content.rfind(b"}\n")  # a line break inside of a value is written as \\n
        return end + 2 if end >= 0 else 0
