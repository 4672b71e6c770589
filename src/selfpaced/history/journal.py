"""A snapshot and a journal in a folder: after `kill -9` at any moment, each record that was acknowledged is there once.

A record is a small JSON object and a matrix of whole numbers, so that loading runs no code. The snapshot is a file with
one record, replaced as a whole. The journal has the records that came after the snapshot.
"""

import json
import os
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from io import FileIO
from pathlib import Path
from struct import Struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import StateError, warn
from selfpaced.storage import lock_file, whole_file

Numbers = NDArray[np.int64]
Record = tuple[dict[str, Any], Numbers]

SNAPSHOT, LOCK = "snapshot", "lock"
# The length of a record, the checksum of these eight bytes, and that of the record. In a journal the latter goes on
# from the checksum of the record before, so that no record can be missing between others.
HEADER = Struct("<QII")
LENGTH = Struct("<I")  # of the JSON object, which comes first in a record


class JournalFolder:
    """Records in a folder of this machine, which one process at a time may have open.

    `sync_every` is the number of seconds between two calls of fsync for the journal. 0 means one for every record.
    """

    _journal: FileIO | None = None
    _lock: FileIO | None = None

    def __init__(self, path: Any, sync_every: float) -> None:
        if not sync_every >= 0:
            raise ValueError(f"sync_every must be a number of seconds, 0 or more; got {sync_every!r}.")
        self.path, self._owner = Path(path), os.getpid()
        self._sync_every, self._synced_at = sync_every, time.monotonic()
        self._generation = 0  # of the snapshot; the journal with this number belongs to it
        self._checksum = 0  # of the last record
        self._n_bytes = 0  # of the journal
        self.path.mkdir(0o700, parents=True, exist_ok=True)
        self._lock = _locked(self.path / LOCK)

    def has_snapshot(self) -> bool:
        """Whether there is something to load."""
        return (self.path / SNAPSHOT).exists()

    def load(self) -> Iterator[Record]:
        """The record of the snapshot, and then those of the journal. Afterwards records can be appended.

        A record at the end that was not written completely is cut off, with a warning. Other damage is an error.
        """
        content = memoryview((self.path / SNAPSHOT).read_bytes())
        [*found] = _records(content, 0)
        if [end for end, _, _ in found] != [len(content)]:
            raise StateError(
                f"{self.path / SNAPSHOT} is damaged: its checksum does not fit. Restore the folder from a copy."
            )
        _, self._checksum, (head, numbers) = found[0]
        self._generation = head.pop("generation")
        yield head, numbers
        yield from self._open_journal()

    def save(self, head: dict[str, Any], numbers: Numbers) -> None:
        """Replace the snapshot, and begin an empty journal."""
        self._check_usable()
        pieces = _packed({**head, "generation": self._generation + 1}, numbers)
        header, checksum = _header(pieces, 0)
        with whole_file(self.path / SNAPSHOT, StateError, mode=0o600) as temporary, temporary.open("r+b") as file:
            file.writelines([header, *pieces])
        self._sync_folder()  # before the journal that the snapshot replaces is removed
        self._generation, self._checksum = self._generation + 1, checksum
        [*_] = self._open_journal()

    def append(self, head: dict[str, Any], numbers: Numbers) -> None:
        """Write a record to the end of the journal: all of it, or else nothing and an error."""
        self._check_usable()
        assert self._journal is not None
        pieces = _packed(head, numbers)
        header, checksum = _header(pieces, self._checksum)
        record = b"".join([header, *pieces])
        before = self._n_bytes
        try:
            if self._journal.write(record) != len(record):
                raise OSError("the disk is full")
            self._sync()
        except BaseException as error:
            self._cut(before)
            if isinstance(error, OSError):
                raise StateError(f"{self._journal.name} cannot be written: {error}. Nothing was added.") from error
            raise
        self._checksum, self._n_bytes = checksum, before + len(record)

    def close(self) -> None:
        """Write what is not yet on the disk, and let other processes open the folder."""
        if self._journal is not None and not self._journal.closed:
            if self._owner == os.getpid():
                with suppress(OSError):
                    os.fsync(self._journal.fileno())
            self._journal.close()
        if self._lock is not None:
            self._lock.close()

    def __del__(self) -> None:
        self.close()

    def _check_usable(self) -> None:
        if self._lock is None or self._lock.closed:
            raise StateError(f"The state in {self.path} is closed. Open the folder again.")
        if self._owner != os.getpid():
            raise StateError(
                f"The state in {self.path} was opened by process {self._owner}, and this is a fork of it. Only one "
                "process can change a state."
            )

    def _open_journal(self) -> Iterator[Record]:
        """Open the journal of the snapshot, with its records. Remove the journals of earlier snapshots."""
        path = self.path / f"journal-{self._generation}"
        if self._journal is not None:
            self._journal.close()
        for other in [*self.path.glob("journal-*"), *self.path.glob(f".{SNAPSHOT}.*.part")]:
            if other != path:
                other.unlink()
        self._journal = FileIO(path, "a+", opener=_private)
        self._sync_folder()
        self._journal.seek(0)
        content = memoryview(self._journal.readall())
        self._n_bytes = 0
        for end, checksum, record in _records(content, self._checksum):
            yield record
            self._n_bytes, self._checksum = end, checksum
        rest = content[self._n_bytes :]
        if not rest:
            return
        if not _is_unfinished(rest):
            raise StateError(
                f"{path} is damaged at byte {len(content) - len(rest):,} of {len(content):,}: a checksum does not fit. "
                "Restore the folder from a copy. To go on without the records from there on, cut the file at that byte."
            )
        warn(f"The last record of {path} was not written to its end. Its {len(rest):,} bytes are removed.")
        self._cut(self._n_bytes)

    def _cut(self, n_bytes: int) -> None:
        """Make the journal as long as it was. If this fails, nothing can be appended any more."""
        assert self._journal is not None
        try:
            self._journal.truncate(n_bytes)
        except BaseException:
            self.close()
            raise

    def _sync(self) -> None:
        now = time.monotonic()
        if now - self._synced_at >= self._sync_every:
            assert self._journal is not None
            os.fsync(self._journal.fileno())
            self._synced_at = now

    def _sync_folder(self) -> None:
        """Have the names of files on the disk too. Windows cannot, and does not need to."""
        if sys.platform != "win32":
            folder = os.open(self.path, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _locked(path: Path) -> FileIO:
    """An open file that this process alone holds. The operating system releases it when the process ends."""
    file = FileIO(path, "a", opener=_private)
    try:
        lock_file(file)
    except OSError as error:
        file.close()
        raise StateError(
            f"The state in {path.parent} is open elsewhere. One process at a time can use it: close it there first."
        ) from error
    return file


def _packed(head: dict[str, Any], numbers: Numbers) -> list[Any]:
    """A record as pieces of bytes."""
    text = json.dumps({**head, "shape": numbers.shape}, separators=(",", ":")).encode()
    return [LENGTH.pack(len(text)), text, np.ascontiguousarray(numbers).reshape(-1).view(np.uint8).data]


def _unpacked(record: memoryview) -> Record:
    start = LENGTH.size + LENGTH.unpack_from(record)[0]
    head = json.loads(bytes(record[LENGTH.size : start]))
    return head, np.frombuffer(record[start:], np.int64).reshape(head.pop("shape"))


def _header(pieces: list[Any], checksum: int) -> tuple[bytes, int]:
    """The header of a record, and the checksum of the record, which goes on from that of the one before."""
    for piece in pieces:
        checksum = zlib.crc32(piece, checksum)
    length = sum(map(len, pieces))
    return HEADER.pack(length, zlib.crc32(length.to_bytes(8, "little")), checksum), checksum


def _records(content: memoryview, checksum: int) -> Iterator[tuple[int, int, Record]]:
    """The whole records at the start of some bytes: where each ends, its checksum, and what it says."""
    end = 0
    while (size := _size(content[end:])) is not None and end + size <= len(content):
        record = content[end + HEADER.size : end + size]
        checksum = zlib.crc32(record, checksum)
        if checksum != HEADER.unpack_from(content, end)[2]:
            return
        end += size
        yield end, checksum, _unpacked(record)


def _size(rest: memoryview) -> int | None:
    """The size of the record at the start, with its header; None if there is no valid header."""
    if len(rest) < HEADER.size or zlib.crc32(rest[:8]) != HEADER.unpack_from(rest)[1]:
        return None
    return int(HEADER.size + HEADER.unpack_from(rest)[0])


def _is_unfinished(rest: memoryview) -> bool:
    """Whether these last bytes can be a record that was not written to its end. After a power cut they may be zeros."""
    size = _size(rest)
    return len(rest) < HEADER.size or (size is not None and size >= len(rest)) or not any(rest)
