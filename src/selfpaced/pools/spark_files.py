"""What a Spark executor does with the scratch files of its partitions.

The rows of a partition are written as Spark hands them over, and again as models read them, once these are known: then
the first file is removed. The tags are written after every step. All files of a partition begin with one random name.
Whenever Spark computes a partition again it gets another name, so that tags never meet rows of another order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from selfpaced.pools import scratch
from selfpaced.pools.spark import unpacked
from selfpaced.pools.spark_rows import ID, Census, Partition, Reading, in_blocks

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
        return None if local is None else local / scratch.FOLDER / self.table / self.name


def _local(number: int) -> Path | None:
    """The local directory of a partition: they take turns, as with Spark's own files."""
    locals = scratch.local_directories()
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
        folder = scratch.make_folder(local, table)
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

    def fill(sink: scratch.ScratchWriter) -> None:
        writer = None
        for batch in batches:
            writer = writer or pa.ipc.new_stream(sink, batch.schema)
            writer.write_batch(batch)
        if writer is not None:
            writer.close()

    scratch.write(path, fill)


def _read_batches(path: Path) -> list[Any] | None:
    import pyarrow as pa

    content = scratch.read(path)
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
    scratch.touch(path.parent)
    batches = _prepared(path, reading)
    if batches is None:
        return None
    done = scratch.read(steps.file(path, steps.n_all)) if steps.n_all else None
    if done is not None:
        return Partition(batches, reading, done)
    before = scratch.read(steps.file(path, steps.n_done)) if steps.n_done else None
    if steps.n_done and before is None:
        return None
    partition = Partition(batches, reading, before)
    if steps.next:
        for one in steps.next:
            step, shared = unpacked(one)
            partition.advance(step, shared)
        with _writing():
            scratch.write(steps.file(path, steps.n_all), partition.save)
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
    for local in scratch.local_directories():
        scratch.remove_folder(local, table)
