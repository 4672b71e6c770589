"""A table in files that is read from start to end, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from tempfile import TemporaryFile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import TableError
from selfpaced.pools.keys import Ids, ids_under, row_keys
from selfpaced.pools.reserved_rounds import TABLE_SAMPLE_ROUND
from selfpaced.pools.rows import GROUP, Rows
from selfpaced.pools.streamed import Stream, StreamedPool
from selfpaced.tables.batch import StreamedBatch, whole_ids
from selfpaced.tables.formats import import_arrow
from selfpaced.tables.label_look import LabelLook
from selfpaced.tables.labels import Labels
from selfpaced.tables.look import look_through
from selfpaced.tables.new_categories import NewCategories
from selfpaced.tables.reader import Reader
from selfpaced.tables.repeated_ids import keys_looked_at, refuse_repeated
from selfpaced.tables.roles import ID, WEIGHT, Roles
from selfpaced.tables.schema import Schema
from selfpaced.tables.table import ClassSplit, SplitPlan
from selfpaced.tables.weights import refuse_weightless


@dataclass
class StreamedTable:
    """Rows in files: the columns that are features, the columns that are not, and how to read them.

    Attributes
    ----------
    memory_for_tags : int
        The limit of the memory for running sums in bytes. A row takes 4. Larger sums go to a file.
    known_labels : Labels | None, default=None
        The labels, once they have been read.
    """

    reader: Reader
    schema: Schema
    roles: Roles
    memory_for_tags: int = 2**31
    known_labels: Labels | None = field(default=None, repr=False)

    @property
    def n_rows(self) -> int | None:
        """The number of rows; None if there is a filter and nothing has been read yet."""
        return self.reader.n_rows if self.known_labels is None else int(self.known_labels.codes.size)

    @property
    def snapshot(self) -> str | None:
        """The version of a lake table that the rows are from."""
        return self.reader.snapshot

    @property
    def bytes_in_memory(self) -> int | None:
        """The bytes of rows that have been loaded; None for rows in files."""
        n_rows = self.n_rows
        return None if self.reader.loaded_from is None or n_rows is None else 8 * n_rows * len(self.schema.sources)

    def labels(self) -> Labels:
        """The classes, and the number of each row's class. The target is read once."""
        if self.known_labels is None:
            if self.roles.target is None:
                raise ValueError("The table was opened without a target: open_table(..., target='column of labels').")
            look = LabelLook(self.roles)
            look_through(self.reader, {self.roles.target: look})
            self.known_labels, self.roles = look.labels(), look.roles()
        return self.known_labels

    def split(self, plan: SplitPlan) -> ClassSplit:
        """One pass brings in the rows of the minority, and the rows of the first draw."""
        labels = self.labels()
        if self.roles.id is not None:
            self._refuse_repeated_ids(labels.codes.size)
        counts = labels.counts.tolist()
        larger = {number: n for number, n in enumerate(counts) if number != labels.rarest}
        tags = _tags(labels.codes.size, self.memory_for_tags)
        stream = Stream(self, labels.codes, plan.seed, plan.n_threads, tags, plan.on_rows)
        minority, drawn = stream.begin(labels.rarest, larger, plan.n_draw, plan.first_round)
        refuse_weightless(minority, labels.names[labels.rarest])
        foreseen = {number: (plan.first_round, cutting) for number, cutting in drawn.items()}
        pools = {
            number: StreamedPool(stream, number, list(larger), n, foreseen.get(number)) for number, n in larger.items()
        }
        return ClassSplit(labels.names, counts, labels.rarest, minority, pools, lambda: stream.seconds_reading)

    def identity(self) -> dict[str, Any]:
        roles = {name: repr(value) for name, value in vars(self.roles).items()}
        return {**self.reader.identity(), "features": repr(self.schema.columns), **roles}

    def part(self, chosen: NDArray[np.bool_]) -> StreamedTable:
        """A table of some of the rows: those where `chosen` is true."""
        known = None if self.known_labels is None else self.known_labels.part(chosen)
        return replace(self, reader=self.reader.part(chosen), known_labels=known)

    def loaded(self) -> StreamedTable:
        """The same table in memory."""
        columns = dict.fromkeys([*self.schema.sources, *self.roles.columns])
        return replace(self, reader=self.reader.loaded(list(columns)))

    def column(self, name: str) -> Any:
        """One column whole, as an Arrow array."""
        return self.reader.column(name)

    def sample(self, n_rows: int, seed: int = 0) -> Any:
        """A pandas frame of the features of some rows, drawn at random but kept in order."""
        assert self.n_rows is not None
        keys = row_keys(np.arange(self.n_rows, dtype=np.uint64), seed, TABLE_SAMPLE_ROUND)
        some = np.zeros(self.n_rows, dtype=bool)
        some[np.argsort(keys)[:n_rows]] = True
        return self.part(some).features()

    def features(self, new: NewCategories | None = None) -> Any:
        """The features of all rows as a pandas frame. `new` counts the categories that the schema does not have."""
        pa = import_arrow()
        converted = (replace(batch, new_categories=new).features() for batch in self.batches())
        # A batch of whole numbers with a missing value is a batch of floats.
        batches = [pa.Table.from_batches([batch]) for batch in converted]
        return pa.concat_tables(batches, promote_options="permissive").to_pandas()

    def batches(self) -> Iterator[StreamedBatch]:
        """All rows in order, with the columns that are read along."""
        start = 0
        for file, batch in self.reader.read([*self.schema.sources, *self.roles.read_along]):
            yield StreamedBatch(start, start + batch.num_rows, self.schema, self.roles, batch, str(file.path))
            start += batch.num_rows
        if self.n_rows is not None and start != self.n_rows:
            raise TableError(f"The table had {self.n_rows} rows before and has {start} now: its files have changed.")

    def ids_of(self, positions: NDArray[np.intp]) -> Ids:
        if self.roles.id is None:
            return positions.astype(np.uint64)
        parts = []
        for start, ids in self._ids():
            here = positions[np.searchsorted(positions, start) : np.searchsorted(positions, start + ids.size)]
            parts.append(ids[here - start])
        return np.concatenate(parts)

    def _ids(self) -> Iterator[tuple[int, Ids]]:
        """The ids batch by batch, each with the position of its first row."""
        assert self.roles.id is not None
        start = 0
        for file, batch in self.reader.read([self.roles.id]):
            yield start, whole_ids(batch.column(self.roles.id), self.roles.id, str(file.path))
            start += batch.num_rows

    def _refuse_repeated_ids(self, n_rows: int) -> None:
        """Check the same share of the ids as on a cluster, in one pass over their column."""
        limit = keys_looked_at(n_rows)
        parts = [ids_under(limit, batch_ids) for _, batch_ids in self._ids()]
        refuse_repeated(np.sort(np.concatenate(parts)), f" in column {self.roles.id!r}")

    def joined(self, kept: Sequence[Any]) -> Any:
        pa = import_arrow()
        return pa.Table.from_batches(kept)

    def picked(self, kept: Any, positions: NDArray[np.intp]) -> Any:
        pa = import_arrow()
        picked = kept.take(pa.array(positions)).combine_chunks()
        return picked.to_batches()[0] if picked.num_rows else kept.slice(0, 0).to_batches()[0]

    def rows(self, kept: Any, stands_for: NDArray[np.float64] | None = None) -> Rows:
        """Rows sorted by id, features as a pandas frame. An id that occurs twice is refused."""
        pa = import_arrow()
        table = pa.Table.from_batches([kept]) if isinstance(kept, pa.RecordBatch) else kept
        ids = table.column(ID).to_numpy()
        order = np.argsort(ids, kind="stable")
        table, ids = table.take(pa.array(order)), ids[order]
        refuse_repeated(ids, f" in column {self.roles.id!r}")
        along = {"sample_weight": WEIGHT, GROUP: GROUP}
        metadata = {name: table.column(at).to_numpy() for name, at in along.items() if at in table.column_names}
        stands_for = None if stands_for is None else stands_for[order]
        return Rows(ids, table.select(self.schema.names).to_pandas(), metadata, stands_for)


def _tags(n_rows: int, most_bytes: int) -> NDArray[np.float32]:
    """A running sum for each row: in memory, or in an unnamed temporary file, which disappears even after a crash."""
    if 4 * n_rows <= most_bytes:
        return np.zeros(n_rows, dtype=np.float32)
    with TemporaryFile() as file:
        file.truncate(4 * n_rows)
        return np.memmap(file, dtype=np.float32, mode="r+", shape=(n_rows,))
