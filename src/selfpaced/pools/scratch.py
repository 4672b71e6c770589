"""Scratch files of a machine: written once, checked when they are read, removed in the end.

A file is written under another name and then renamed, so that it is there as a whole or not at all. It ends with its
size and its checksum. A file that is gone, cut off or changed is answered by None: whoever needs it makes it again.

Folders belong to the user alone (mode 0700). Those of processes that were killed are removed by whoever comes next.
"""

from __future__ import annotations

import os
import shutil
import stat
import struct
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

# The folder in each of Spark's local directories that holds the folders of all tables.
FOLDER = "selfpaced"
OWNER = "owner"
# A folder whose owner cannot be looked up is stale when nobody has used it for so long.
SECONDS_UNTIL_STALE = 24 * 3600
TRAILER = struct.Struct("<8sQI")
MAGIC = b"selfpace"
# Where Spark's local directories lie beside each other: in local mode, and on a standalone cluster.
SIBLINGS = ((1, "blockmgr-*"), (3, "spark-*/executor-*/blockmgr-*"))

# Files whose checksums this process has compared: path, inode, size and time of the last change.
_compared: set[tuple[str, int, int, int]] = set()


class ScratchWriter:
    """A file in the making, as a sink of bytes."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._size = 0
        self._checksum = 0
        self.closed = False

    def write(self, content: Any) -> int:
        self._checksum = zlib.crc32(content, self._checksum)
        size = memoryview(content).nbytes
        self._size += size
        self._file.write(content)
        return size

    def finish(self) -> None:
        self._file.write(TRAILER.pack(MAGIC, self._size, self._checksum))

    def flush(self) -> None:
        self._file.flush()

    def tell(self) -> int:
        return self._size


def local_directories() -> list[Path]:
    """Spark's local directories on this machine, as it names them to Python workers."""
    return [Path(one) for one in os.environ.get("SPARK_LOCAL_DIRS", "").split(",") if one]


def make_folder(local: Path, name: str) -> Path:
    """A folder of a table in one of the local directories. Stale folders beside it are removed."""
    folder = local / FOLDER / name
    if not folder.is_dir():
        sweep(local)
        for one in (folder.parent, folder):
            one.mkdir(mode=0o700, exist_ok=True)
            if stat.S_IMODE(one.stat().st_mode) != 0o700:  # made by somebody else, or under a strange umask
                one.chmod(0o700)
        (folder / OWNER).write_text(_process())
    return folder


def write(path: Path, fill: Callable[[ScratchWriter], None]) -> None:
    """A file with what `fill` writes, under its name as soon as it is whole."""
    unfinished = path.with_name(f".{path.name}.{uuid4().hex}")
    descriptor = os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            writer = ScratchWriter(file)
            fill(writer)
            writer.finish()
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def read(path: Path) -> Any:
    """The content of a file as an Arrow buffer, mapped into memory; None if it is not there as it was written."""
    import pyarrow as pa

    try:
        with pa.memory_map(str(path)) as mapped:
            content = mapped.read_buffer()
        status = path.stat()
    except OSError:
        return None
    size = content.size - TRAILER.size
    if size < 0:
        return None
    magic, told_size, checksum = TRAILER.unpack(content[size:].to_pybytes())
    if magic != MAGIC or told_size != size:
        return None
    content = content[:size]
    key = (str(path), status.st_ino, status.st_size, status.st_mtime_ns)
    if key not in _compared:
        if zlib.crc32(content) != checksum:
            return None
        _compared.add(key)
    return content


def touch(folder: Path) -> None:
    """Show that a folder is in use."""
    with suppress(OSError):
        os.utime(folder)


def remove_folder(local: Path, name: str) -> None:
    """Remove the folder of a table from a local directory."""
    shutil.rmtree(local / FOLDER / name, ignore_errors=True)
    with suppress(OSError):  # other tables are there
        (local / FOLDER).rmdir()


def sweep(local: Path) -> None:
    """Remove the folders of processes that are gone, in a local directory and in those beside it."""
    for folder in _folders(local):
        with suppress(OSError):
            if folder.lstat().st_uid == os.getuid() and _is_stale(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _folders(local: Path) -> Iterator[Path]:
    yield from local.glob(f"{FOLDER}/*")
    for levels, pattern in SIBLINGS:
        if len(local.parents) >= levels and local.match(pattern):
            yield from local.parents[levels - 1].glob(f"{pattern}/{FOLDER}/*")


def _is_stale(folder: Path) -> bool:
    if time.time() - folder.stat().st_mtime > SECONDS_UNTIL_STALE:
        return True
    try:
        owner = (folder / OWNER).read_text()
    except OSError:
        return False  # it is being made
    system, _, process = owner.rpartition(" ")
    return bool(process) and system == _system() and _start_of(int(process.partition(":")[0])) != process


def _process() -> str:
    """The process that started this one's daemon, an executor: its system, number and start. Empty if unknown."""
    parent = _start_of(os.getppid(), of_parent=True)
    return "" if parent is None else f"{_system()} {parent}"


def _system() -> str:
    """The machine since its last start, and the set of processes that this one can see."""
    try:
        return f"{Path('/proc/sys/kernel/random/boot_id').read_text().strip()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def _start_of(process: int, *, of_parent: bool = False) -> str | None:
    """The number of a process and when it started: numbers are used again. None if there is no such process."""
    try:
        # The second field, a name in brackets, may hold anything.
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    if of_parent:
        return _start_of(int(fields[1]))
    return f"{process}:{fields[19]}"
