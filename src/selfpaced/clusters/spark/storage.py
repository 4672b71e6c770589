"""Rows of Spark partitions in files of the executors."""

from __future__ import annotations

import os
import shutil
import stat
import struct
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import numpy as np

from selfpaced.clusters.spark.messages import unpacked
from selfpaced.exceptions import TableError
from selfpaced.pools import Block, RowsOnDemand, Tags, row_keys

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

    def write_scratch(self, content: Any) -> int:
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


def write_scratch(path: Path, fill: Callable[[ScratchWriter], None]) -> None:
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


def read_scratch(path: Path) -> Any:
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


def touch_scratch(folder: Path) -> None:
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


BLOCK_BYTES = 2**26
AS_GIVEN, PREPARED, TAGS = "given", "rows", "tags"


class NoScratchError(Exception):
    """An executor cannot write scratch files."""


@dataclass(frozen=True)
class Written:
    """A partition that has been written: the beginning of its files' names, and its rows.

    The folder is not told: every executor looks into its own local directories, and finds what it wrote itself.
    """

    table: str
    number: int
    name: str
    census: Census

    @property
    def path(self) -> Path | None:
        """The beginning of the files' paths; None if this executor has no local directories."""
        local = _local(self.number)
        return None if local is None else local / FOLDER / self.table / self.name


def _local(number: int) -> Path | None:
    """The local directory of a partition: they take turns, as with Spark's own files."""
    locals = local_directories()
    return locals[number % len(locals)] if locals else None


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise NoScratchError(f"A Spark executor cannot write to its local directories: {error}.") from error


def write_partition(
    batches: Iterable[Any], tell: Callable[[Any], Any], table: str, attempt: int, number: int
) -> tuple[Written, list[Any]] | None:
    """Write the rows of a partition as they come, and give what is told of each block. None if there are no rows.

    Files of earlier attempts are removed: nobody asks for them any more.
    """
    census, facts = [], []
    blocks = in_blocks(batches, BLOCK_BYTES)
    first = next(blocks, None)
    if first is None:
        return None

    def told_blocks() -> Iterable[Any]:
        block = first
        while block is not None:
            facts.append(tell(block))
            census.append(Census.of(block.column(ID).to_numpy()))
            yield block
            block = next(blocks, None)

    local = _local(number)
    if local is None:
        raise NoScratchError("Spark names no local directory to an executor.")
    with _writing():
        folder = make_folder(local, table)
        for old in folder.glob("*-*"):
            if int(old.name.lstrip(".").partition("-")[0]) < attempt:
                old.unlink(missing_ok=True)
        name = f"{attempt}-{number}-{uuid4().hex}"
        _write_batches(_file(folder / name, AS_GIVEN), told_blocks())
    return Written(table, number, name, Census.summed(census)), facts


def _file(path: Path, kind: str) -> Path:
    return path.with_name(f"{path.name}.{kind}")


def _write_batches(path: Path, batches: Iterable[Any]) -> None:
    import pyarrow as pa

    def fill(sink: ScratchWriter) -> None:
        writer = None
        for batch in batches:
            writer = writer or pa.ipc.new_stream(sink, batch.schema)
            writer.write_batch(batch)
        if writer is not None:
            writer.close()

    write_scratch(path, fill)


def _read_batches(path: Path) -> list[Any] | None:
    import pyarrow as pa

    content = read_scratch(path)
    return None if content is None else list(pa.ipc.open_stream(content))


@dataclass(frozen=True)
class Steps:
    """The steps that tags have gone through, and those that they go through next.

    Attributes
    ----------
    fit : str
        Whose tags they are.
    n_done : int
        How many steps there were before. Tags after no step need not be there.
    next : Sequence[bytes]
        The others, packed.
    """

    fit: str
    n_done: int
    next: Sequence[bytes]

    @property
    def n_all(self) -> int:
        return self.n_done + len(self.next)

    def file(self, path: Path, n_steps: int) -> Path:
        return _file(path, f"{TAGS}-{self.fit}-{n_steps}")


def open_partition(written: Written, reading: Reading, steps: Steps) -> Partition | None:
    """A partition after all steps. None if a file that it is made of is not there as it was written."""
    path = written.path
    if path is None:
        return None
    touch_scratch(path.parent)
    batches = _prepared(path, reading)
    if batches is None:
        return None
    done = read_scratch(steps.file(path, steps.n_all)) if steps.n_all else None
    if done is not None:
        return Partition(batches, reading, done)
    before = read_scratch(steps.file(path, steps.n_done)) if steps.n_done else None
    if steps.n_done and before is None:
        return None
    partition = Partition(batches, reading, before)
    if steps.next:
        for one in steps.next:
            step, shared = unpacked(one)
            partition.advance(step, shared)
        with _writing():
            write_scratch(steps.file(path, steps.n_all), partition.save)
        forget_tags(path, steps.fit, but=steps.n_all)
    return partition


def _prepared(path: Path, reading: Reading) -> list[Any] | None:
    """The rows as models read them. Another task may make the same file, and remove that of the rows as given."""
    batches = _read_batches(_file(path, PREPARED))
    if batches is not None:
        return batches
    given = _read_batches(_file(path, AS_GIVEN))
    if given is not None:
        with _writing():
            _write_batches(_file(path, PREPARED), map(reading.prepared, given))
        _file(path, AS_GIVEN).unlink(missing_ok=True)
    return _read_batches(_file(path, PREPARED))


def forget_tags(path: Path | None, fit: str, but: int | None = None) -> None:
    """Remove the tags of a fit, but those after so many steps."""
    for file in () if path is None else path.parent.glob(f"{path.name}.{TAGS}-{fit}-*"):
        if but is None or int(file.name.rpartition("-")[2]) != but:
            file.unlink(missing_ok=True)


def remove_table(table: str) -> None:
    """Remove all files of a table from this executor's local directories."""
    for local in local_directories():
        remove_folder(local, table)


ID, CLASS = "__selfpaced_id__", "__selfpaced_class__"


class Reading(Protocol):
    """How record batches of a frame are read. It travels to the executors."""

    def prepared(self, batch: Any) -> Any:
        """The rows of a record batch as models read them, with the columns `ID` and `CLASS`."""

    def rows(self, batch: Any) -> RowsOnDemand:
        """Features and metadata of rows that are prepared."""


@dataclass(frozen=True)
class Census:
    """How many rows there are, and the sum of their ids' keys: the same for the same rows in any order."""

    n_rows: int
    key_sum: int

    @classmethod
    def of(cls, signed_ids: Any) -> Census:
        keys = row_keys(signed_ids.view(np.uint64), 0, 0)
        return cls(keys.size, int(np.add.reduce(keys, dtype=np.uint64)))

    @classmethod
    def summed(cls, parts: Iterable[Census]) -> Census:
        parts = list(parts)
        return cls(sum(part.n_rows for part in parts), sum(part.key_sum for part in parts) % 2**64)

    def require(self, found: Census) -> None:
        """Refuse rows that are not those of the beginning."""
        if self != found:
            raise TableError(
                f"The DataFrame had {self.n_rows} rows when it was opened. Spark has computed parts of it again since "
                f"then, and now there are {found.n_rows} rows, or rows with other ids. Write the DataFrame to files "
                "first, or make its ids and its rows the same whenever they are computed."
            )


class Partition:
    """The rows of one partition, or of a part of it.

    Parameters
    ----------
    batches : Sequence[Any]
        Record batches that are prepared; each is a block.
    tags : Any, default=None
        What `save` wrote after some steps; None for rows that no model has seen.
    """

    def __init__(self, batches: Sequence[Any], reading: Reading, tags: Any = None) -> None:
        self._batches = batches
        self._reading = reading
        self._tags = [_first_tags(batch) for batch in batches]
        if tags is not None:
            self._restore(tags)

    @cached_property
    def _rows(self) -> list[RowsOnDemand]:
        return [self._reading.rows(batch) for batch in self._batches]

    def save(self, sink: Any) -> None:
        """Write the tags that steps change."""
        for tags in self._tags:
            sink.write(tags.doubt_sum.tobytes())
        for tags in self._tags:
            sink.write(tags.classes.tobytes())

    def _restore(self, content: Any) -> None:
        n_rows = sum(tags.ids.size for tags in self._tags)
        doubts = np.frombuffer(content, np.float32, n_rows)
        classes = np.frombuffer(content, np.uint8, n_rows, offset=doubts.nbytes)
        ends = np.cumsum([tags.ids.size for tags in self._tags])[:-1]
        parts = zip(self._tags, np.split(classes, ends), np.split(doubts, ends), strict=True)
        self._tags = [Tags(tags.ids, of_classes, of_doubts) for tags, of_classes, of_doubts in parts]

    def advance(self, step: Callable[..., Tags], shared: Sequence[Any]) -> None:
        blocks = zip(self._tags, self._rows, strict=True)
        self._tags = [step(Block(tags, rows), *shared) for tags, rows in blocks]

    def answer(self, question: Callable[[Block], Any], *, features: bool) -> list[Any]:
        """The answers of all blocks."""
        rows: Sequence[RowsOnDemand | None] = self._rows if features else [None] * len(self._tags)
        return [question(Block(*both)) for both in zip(self._tags, rows, strict=True)]


def _first_tags(batch: Any) -> Tags:
    ids, classes = (batch.column(name).to_numpy() for name in (ID, CLASS))
    return Tags(ids, classes, np.zeros(ids.size, dtype=np.float32))


def in_blocks(batches: Iterable[Any], block_bytes: int) -> Iterator[Any]:
    """The rows of many small record batches in fewer of about so many bytes."""
    waiting: list[Any] = []
    n_bytes = 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            n_bytes += batch.nbytes
        if n_bytes >= block_bytes:
            yield _joined(waiting)
            waiting, n_bytes = [], 0
    if waiting:
        yield _joined(waiting)


def _joined(batches: Sequence[Any]) -> Any:
    import pyarrow as pa

    return pa.concat_batches(batches)
