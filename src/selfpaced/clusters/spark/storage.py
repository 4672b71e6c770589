"""Files in the local directories of Spark's executors, which hold the rows of partitions and their tags."""

from __future__ import annotations

import os
import pickle
import shutil
import stat
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from selfpaced.exceptions import TableError, pa
from selfpaced.pools import Block, Question, RowsOnDemand, Tags, row_keys
from selfpaced.tables.files import in_blocks

if TYPE_CHECKING:
    from selfpaced.clusters.spark.table import PreparedBatches

# The folder in each of Spark's local directories that holds the folders of all tables.
FOLDER = "selfpaced"
AS_GIVEN, PREPARED, TAGS = "given", "rows", "tags"
ID, CLASS = "__selfpaced_id__", "__selfpaced_class__"
BLOCK_BYTES = 2**26
TRAILER = struct.Struct("<8sQI")  # the end of each file: a magic number, the size and the checksum of the content
MAGIC = b"selfpace"

# Files whose checksums this process has compared: path, inode, size and time of the last change.
_compared: set[tuple[str, int, int, int]] = set()


def write_scratch(path: Path, fill: Callable[[Any], Any]) -> None:
    """A file with what `fill` writes, and its size and checksum. It gets its name when it is complete."""
    unfinished = path.with_name(f".{path.name}.{uuid4().hex}")
    descriptor = os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    try:
        with os.fdopen(descriptor, "w+b") as file:
            fill(file)
            size, checksum = file.tell(), 0
            file.seek(0)
            for part in iter(partial(file.read, 2**20), b""):
                checksum = zlib.crc32(part, checksum)
            file.write(TRAILER.pack(MAGIC, size, checksum))
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def read_scratch(path: Path) -> Any:
    """The content of a file as an Arrow buffer, mapped into memory; None if it is missing or damaged."""
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


def local_directories() -> list[Path]:
    """Spark's local directories on this machine, as it names them to Python workers."""
    return [Path(one) for one in os.environ.get("SPARK_LOCAL_DIRS", "").split(",") if one]


def make_folder(local: Path, table: str) -> Path:
    """The folder of a table in one of the local directories, for its owner alone."""
    folder = local / FOLDER / table
    if not folder.is_dir():
        for one in (folder.parent, folder):
            one.mkdir(mode=0o700, exist_ok=True)
            if stat.S_IMODE(one.stat().st_mode) != 0o700:  # made by somebody else, or under a strange umask
                one.chmod(0o700)
    return folder


def remove_table(table: str) -> None:
    """Remove all files of a table from this executor's local directories."""
    for local in local_directories():
        shutil.rmtree(local / FOLDER / table, ignore_errors=True)
        with suppress(OSError):  # other tables are there
            (local / FOLDER).rmdir()


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _no_directory(f"A Spark executor cannot write to its local directory: {error}.") from error


def _no_directory(reason: str) -> TableError:
    return TableError(f"{reason} Executors need a local directory with space for the features: set spark.local.dir.")


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
        """Refuse rows that differ from those of the opening."""
        if self != found:
            raise TableError(
                f"The DataFrame had {self.n_rows} rows when it was opened. Spark recomputed part of the DataFrame with "
                f"different rows: now there are {found.n_rows} rows, or rows with other ids. Write the DataFrame to "
                "files first, or make its ids and its rows the same whenever they are computed."
            )


@dataclass(frozen=True)
class Written:
    """A partition that has been written: the beginning of its files' names, and its rows.

    The folder is not part of it: every executor looks into its own local directories, and finds what it wrote itself.
    """

    table: str
    number: int
    name: str
    census: Census

    @property
    def path(self) -> Path | None:
        """The beginning of the files' paths; None if this executor has no local directories."""
        local = _local_directory(self.number)
        return None if local is None else local / FOLDER / self.table / self.name


def _local_directory(number: int) -> Path | None:
    """The local directory of a partition: they take turns, as with Spark's own files."""
    locals = local_directories()
    return locals[number % len(locals)] if locals else None


def _file(path: Path, kind: str) -> Path:
    return path.with_name(f"{path.name}.{kind}")


def write_partition(
    batches: Iterable[Any], facts_of: Callable[[Any, str], Any], table: str, attempt: int, number: int
) -> tuple[Written, list[Any]] | None:
    """Write the rows of a partition, and return the facts of each block. None if there are no rows.

    Files of earlier attempts are removed: nobody asks for them any more.
    """
    blocks = map(pa.concat_batches, in_blocks(batches, BLOCK_BYTES))
    first = next(blocks, None)
    if first is None:
        return None
    census, facts = [], []

    def noted_blocks() -> Iterator[Any]:
        for block in chain([first], blocks):
            facts.append(facts_of(block, f"partition {number}"))
            census.append(Census.of(block.column(ID).to_numpy()))
            yield block

    local = _local_directory(number)
    if local is None:
        raise _no_directory("Spark names no local directory to an executor.")
    name = f"{attempt}-{number}-{uuid4().hex}"
    with _writing():
        folder = make_folder(local, table)
        for old in folder.glob("*-*"):
            if int(old.name.lstrip(".").partition("-")[0]) < attempt:
                old.unlink(missing_ok=True)
        _write_batches(_file(folder / name, AS_GIVEN), noted_blocks())
    return Written(table, number, name, Census.summed(census)), facts


def _write_batches(path: Path, batches: Iterable[Any]) -> None:
    def fill(sink: Any) -> None:
        writer = None
        for batch in batches:
            writer = writer or pa.ipc.new_stream(sink, batch.schema)
            writer.write_batch(batch)
        if writer is not None:
            writer.close()

    write_scratch(path, fill)


def _read_batches(path: Path) -> list[Any] | None:
    content = read_scratch(path)
    return None if content is None else list(pa.ipc.open_stream(content))


@dataclass(frozen=True)
class Steps:
    """The steps that the tags of a fit have gone through, and those that they go through next."""

    fit: str
    n_done: int  # tags after no step need no file
    next: Sequence[bytes]  # pickled pairs of a step and its arguments

    @property
    def n_all(self) -> int:
        return self.n_done + len(self.next)

    def file(self, path: Path, n_steps: int) -> Path:
        return _file(path, f"{TAGS}-{self.fit}-{n_steps}")


class StoredPartition:
    """The rows of one partition: record batches that are prepared, each of which is a block.

    `tags` are what `save` wrote after some steps; None for rows that no model has seen.
    """

    def __init__(self, batches: Sequence[Any], reading: PreparedBatches, tags: Any = None) -> None:
        self._batches = batches
        self._reading = reading
        changed = pickle.loads(tags) if tags is not None else map(_unseen, batches)
        pairs = zip(batches, changed, strict=True)
        self._tags = [Tags(batch.column(ID).to_numpy(), *classes_and_sums) for batch, classes_and_sums in pairs]

    @cached_property
    def _rows(self) -> list[RowsOnDemand]:
        return [self._reading.rows(batch) for batch in self._batches]

    def save(self, sink: Any) -> None:
        """Write the tags that steps change."""
        pickle.dump([(tags.classes, tags.doubt_sum) for tags in self._tags], sink)

    def advance(self, step: Callable[..., Tags], shared: Sequence[Any]) -> None:
        blocks = zip(self._tags, self._rows, strict=True)
        self._tags = [step(Block(tags, rows), *shared) for tags, rows in blocks]

    def answers(self, question: Question[Any]) -> list[Any]:
        rows: Sequence[RowsOnDemand | None] = self._rows if question.features else [None] * len(self._tags)
        return [question(Block(*both)) for both in zip(self._tags, rows, strict=True)]


def _unseen(batch: Any) -> tuple[Any, Any]:
    """The classes of rows that no model has seen, and the sums of their doubts."""
    return batch.column(CLASS).to_numpy(), np.zeros(batch.num_rows, np.float32)


def open_partition(written: Written, reading: PreparedBatches, steps: Steps) -> StoredPartition | None:
    """A partition after all steps. None if a file that it needs is missing or damaged."""
    path = written.path
    batches = None if path is None else _prepare(path, partial(reading.prepared, path=f"partition {written.number}"))
    if path is None or batches is None:
        return None
    done = read_scratch(steps.file(path, steps.n_all)) if steps.n_all else None
    if done is not None:
        return StoredPartition(batches, reading, done)
    before = read_scratch(steps.file(path, steps.n_done)) if steps.n_done else None
    if steps.n_done and before is None:
        return None
    partition = StoredPartition(batches, reading, before)
    if steps.next:
        for step, shared in map(pickle.loads, steps.next):
            partition.advance(step, shared)
        with _writing():
            write_scratch(steps.file(path, steps.n_all), partition.save)
        forget_tags(path, steps.fit, but=steps.n_all)
    return partition


def _prepare(path: Path, prepared: Callable[[Any], Any]) -> list[Any] | None:
    """The rows in the types of the model. Another task may make the same file, and remove the rows as given."""
    batches = _read_batches(_file(path, PREPARED))
    if batches is not None:
        return batches
    given = _read_batches(_file(path, AS_GIVEN))
    if given is not None:
        with _writing():
            _write_batches(_file(path, PREPARED), map(prepared, given))
        _file(path, AS_GIVEN).unlink(missing_ok=True)
    return _read_batches(_file(path, PREPARED))


def forget_tags(path: Path | None, fit: str, but: int | None = None) -> None:
    """Remove the tags of a fit, except those after so many steps."""
    for file in () if path is None else path.parent.glob(f"{path.name}.{TAGS}-{fit}-*"):
        if but is None or int(file.name.rpartition("-")[2]) != but:
            file.unlink(missing_ok=True)
