"""Some columns of some rows of files, and the plan of reading them."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import TableError, pa
from selfpaced.tables.files.file import File, LoadedFile
from selfpaced.tables.schema import Described, unified_fields
from selfpaced.tables.table import Progress


@dataclass(frozen=True)
class Needed:
    """The columns that will be read."""

    columns: Sequence[str] | None = None  # the features; None for all columns that are not excluded
    exclude: Sequence[str] = ()  # columns that are not features
    others: Sequence[str] = ()  # further columns to read, even if they are excluded from the features

    def __call__(self, names: Iterable[str]) -> list[str]:
        """
        >>> Needed(exclude=["b", "c"], others=["c"])(["a", "b", "c"])
        ['a', 'c']
        """
        wanted = {*self.others} if self.columns is None else {*self.columns, *self.others}
        if self.columns is None:
            return [name for name in names if name not in self.exclude or name in wanted]
        return [name for name in names if name in wanted]


@dataclass(frozen=True)
class ReadPlan:
    """What a user asked for about reading, as `open_table` documents it."""

    types: Mapping[str, str] | None = None
    cache: str | PathLike[str] | None = None
    cache_bytes: int | None = None
    progress: Progress | None = None
    filesystem: Any = None
    connection: Any = None
    version: Any = None
    lenient: bool = False  # whether `types` are the types of a model. Then a file may lack some of these columns.
    # A function from the names of all columns to those that will be read.
    needed: Callable[[Iterable[str]], list[str]] = Needed()

    def tell(self, done: int, total: int | None) -> None:
        if self.progress is not None:
            self.progress(done, total)


DEFAULT_BATCH_ROWS = 2**16


@dataclass(frozen=True)
class RowFilter:
    """A condition that rows must satisfy: an Arrow expression, and the columns it reads."""

    expression: Any
    columns: tuple[str, ...]

    def filtered(self, file: Described, batch: Any, wanted: Sequence[str]) -> list[Any]:
        try:
            rows = pa.Table.from_batches([batch]).filter(self.expression)
        except pa.ArrowException as error:
            raise TableError(f"The filter does not fit the columns of {file.path}: {error}") from error
        batches: list[Any] = rows.select(wanted).combine_chunks().to_batches()
        return batches


@dataclass(frozen=True)
class Reader:
    """The rows of some files."""

    files: Sequence[File | LoadedFile]
    batch_rows: int = DEFAULT_BATCH_ROWS  # rows that are decoded at once
    filter: RowFilter | None = None  # the condition that rows must satisfy
    # Which of the rows that satisfy the condition belong to the table; None if all do.
    chosen: NDArray[np.bool_] | None = None
    loaded_from: Mapping[str, Any] | None = None  # the identity of the reader that rows in memory come from
    snapshot: str | None = None  # the version of a lake table that the rows belong to
    left_out: tuple[str, ...] = ()  # columns of the source that will not be read
    # Objects that must live as long as the reader, such as the temporary folder of its files.
    holds: tuple[Any, ...] = ()

    @property
    def column_names(self) -> list[str]:
        names: list[str] = self.files[0].schema.names
        return names

    @property
    def n_rows(self) -> int | None:
        """The number of rows; None if they must be read to count them."""
        if self.chosen is not None:
            return int(self.chosen.sum())
        return None if self.filter is not None else sum(file.n_rows for file in self.files)

    def read(self, columns: Sequence[str]) -> Iterator[tuple[Described, Any]]:
        """Record batches of some columns, each with the file that it comes from."""
        wanted = list(dict.fromkeys(columns))
        extra = () if self.filter is None else self.filter.columns
        start = 0
        for file in self.files:
            for batch in file.batches(list(dict.fromkeys([*wanted, *extra])), self.batch_rows):
                for part in [batch] if self.filter is None else self.filter.filtered(file, batch, wanted):
                    chosen = self._chosen_of(part, start)
                    start += part.num_rows
                    if chosen.num_rows:
                        yield file, chosen

    def column(self, name: str) -> Any:
        """One column whole, as an Arrow array."""
        return self._table([name]).column(name).combine_chunks()

    def part(self, chosen: NDArray[np.bool_]) -> Reader:
        """A reader of some of the rows: those where `chosen` is true."""
        rows = chosen.copy() if self.chosen is None else self.chosen.copy()
        if self.chosen is not None:
            rows[self.chosen] = chosen
        return replace(self, chosen=rows)

    def loaded(self, columns: Sequence[str]) -> Reader:
        """Some columns of the same rows in memory, for rows that are read more than once."""
        return self.holding(self._table(columns))

    def holding(self, rows: Any) -> Reader:
        """A reader of rows in memory, in the place of these rows."""
        file = LoadedFile(self.files[0].path, rows)
        return Reader([file], self.batch_rows, loaded_from=self.identity(), snapshot=self.snapshot)

    def identity(self) -> dict[str, Any]:
        """What identifies these rows."""
        # The text of an expression is shortened, so it would not identify it.
        expression = None if self.filter is None else self.filter.expression
        return {
            "files": self.loaded_from or [file.identity() for file in self.files],
            "filter": sha256(pickle.dumps(expression)).hexdigest(),
            "chosen": None if self.chosen is None else sha256(self.chosen.tobytes()).hexdigest(),
        }

    def _table(self, columns: Sequence[str]) -> Any:
        """Some columns of all rows, each of a type that fits all files."""
        others = {name for file in self.files for name in file.schema.names} - set(columns)
        fields = unified_fields(self.files, sorted(others))
        schema = pa.schema([(name, fields[name]) for name in columns])
        # Large integers become floats, and times lose their nanoseconds. Models read them so anyway.
        return pa.Table.from_batches([batch.cast(schema, safe=False) for _, batch in self.read(columns)], schema)

    def _chosen_of(self, batch: Any, start: int) -> Any:
        if self.chosen is None:
            return batch
        return batch.filter(pa.array(self.chosen[start : start + batch.num_rows]))
