"""Tables read batch by batch, and the batches."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from tempfile import TemporaryFile
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import TableError, pa
from selfpaced.pools import GROUP, TABLE_SAMPLE_ROUND, TIME, Ids, Rows, Stream, StreamedPool, ids_under, row_keys
from selfpaced.scoring import Scorer, coded_batch
from selfpaced.tables.files.file import LoadedFile, Reader
from selfpaced.tables.frames import NewCategories
from selfpaced.tables.labels import (
    LabelLook,
    Labels,
    column_groups,
    keys_looked_at,
    refuse_bad,
    refuse_missing_groups,
    refuse_repeated,
    refuse_weightless,
)
from selfpaced.tables.memory import refuse_infinity
from selfpaced.tables.profile import look_through
from selfpaced.tables.schema import Schema
from selfpaced.tables.table import ID, WEIGHT, ClassSplit, Roles, SplitPlan
from selfpaced.tables.times import moments_in, numbers_of

# Before the names of features that are in memory as the schema has them: the column that a feature is made of may have
# the same name.
CONVERTED = "feature: "
MEMORY_FOR_TAGS = 2**31


@dataclass(frozen=True)
class StreamedBatch:
    """The rows from `start` up to `stop`. `where` is the file that they come from."""

    start: int
    stop: int
    schema: Schema
    roles: Roles
    batch: Any
    where: str
    # Counts categories that the schema does not have, whenever features are converted.
    new_categories: NewCategories | None = None
    # Whether the batch has the features as the schema has them, instead of the columns that they are made of.
    is_converted: bool = False

    @property
    def ids(self) -> Ids:
        if self.roles.id_column is None:
            return np.arange(self.start, self.stop, dtype=np.uint64)
        return whole_ids(self.batch.column(self.roles.id_column), self.roles.id_column, self.where)

    def check(self) -> None:
        """Refuse infinity, as `fit` does, with the file and the column; and rows without a group or a time."""
        for name in () if self.is_converted else self.schema.sources:
            column = self.batch.column(name)
            if pa.types.is_floating(column.type):
                refuse_infinity(column, f"Column {name!r} of {self.where}")
        if self.roles.group_column is not None:
            groups = self.batch.column(self.roles.group_column)
            refuse_missing_groups(groups.null_count, len(groups), self._group_column)
        if self.roles.time_column is not None:
            moments_in(self.batch.column(self.roles.time_column), self.roles.time_column)

    def features(self) -> Any:
        """A record batch of the features, as the schema has them."""
        if self.is_converted:
            columns = [self.batch.column(CONVERTED + name) for name in self.schema.names]
            return pa.RecordBatch.from_arrays(columns, names=self.schema.names)
        converted = self.schema.converted(self.batch, self.where)
        if self.new_categories is not None:
            self.new_categories.count(self.schema, self.batch, converted)
        return converted

    def converted(self) -> Any:
        """The rows with their features in the place of the columns that these are made of. They are checked, too."""
        self.check()
        features, along = self.features(), dict.fromkeys(self.roles.read_along)
        names = [*(CONVERTED + name for name in features.schema.names), *along]
        columns = [*features.columns, *(self.batch.column(name) for name in along)]
        return pa.RecordBatch.from_arrays(columns, names=names)

    def features_for(self, scorers: Sequence[Scorer]) -> Any:
        """Columns of numbers; floats for models that read nothing else; a frame if there are columns of other kinds."""
        features = self.features()
        if all(scorer.reads_float32 for scorer in scorers) and not self.schema.has_categories:
            return _float32(features, "C")
        if all(scorer.reads_columns for scorer in scorers) and set(features.schema.types) == {pa.float32()}:
            return _float32(features, "F")
        rows = coded_batch(features) if any(scorer.reads_coded for scorer in scorers) else None
        return features.to_pandas() if rows is None else rows

    def parts(self, most_rows: int) -> Iterator[Self]:
        """The same rows in several batches, none of more than so many rows. Nothing is copied."""
        for start in range(0, self.batch.num_rows, most_rows):
            part = self.batch.slice(start, most_rows)
            begin = self.start + start
            yield replace(self, start=begin, stop=begin + part.num_rows, batch=part)

    def kept(self) -> dict[str, Any]:
        """The columns that are written beside the scores."""
        return {name: self.batch.column(name) for name in self.roles.keep}

    def take(self, positions: NDArray[np.intp]) -> Any:
        where = pa.array(positions)
        some = replace(self, batch=self.batch.take(where)).features()
        columns = {ID: pa.array(self.ids[positions])}
        if self.roles.weight_column is not None:
            columns[WEIGHT] = self._weights(self.batch.column(self.roles.weight_column).take(where))
        if self.roles.group_column is not None:
            hashes = column_groups(self.batch.column(self.roles.group_column).take(where), self._group_column)
            columns[GROUP] = pa.array(hashes)
        if self.roles.time_column is not None:
            times = self.batch.column(self.roles.time_column).take(where)
            columns[TIME] = pa.array(numbers_of(moments_in(times, self.roles.time_column)))
        arrays, names = [*some.columns, *columns.values()], [*some.schema.names, *columns]
        return pa.RecordBatch.from_arrays(arrays, names=names)

    @property
    def _group_column(self) -> str:
        return f"The group column {self.roles.group_column!r} of {self.where}"

    def _weights(self, column: Any) -> Any:
        what = f"The weight column {self.roles.weight_column!r} of {self.where}"
        if column.null_count:
            raise TableError(f"{what} has missing values. Every row needs a weight.")
        try:
            weights = column.cast(pa.float64())
        except pa.ArrowException as error:
            raise TableError(f"{what} is {column.type}. Weights must be numbers.") from error
        refuse_bad(weights.to_numpy(zero_copy_only=False), what)
        return weights


def whole_ids(column: Any, name: str, path: str) -> Ids:
    """A column of ids as unsigned numbers."""
    if not pa.types.is_integer(column.type) or column.null_count:
        raise TableError(
            f"The id column {name!r} of {path} must hold a whole number for every row. It is {column.type} and "
            f"{column.null_count} values are missing."
        )
    wide = pa.uint64() if pa.types.is_unsigned_integer(column.type) else pa.int64()
    return np.asarray(column.cast(wide).to_numpy(), dtype=np.uint64)


def _float32(batch: Any, order: Literal["C", "F"]) -> NDArray[np.float32]:
    """All columns side by side. Large whole numbers are converted through float64, as they are in a frame."""
    numbers = np.empty((batch.num_rows, batch.num_columns), dtype=np.float32, order=order)
    for position, column in enumerate(batch.columns):
        values = column.to_numpy(zero_copy_only=False)
        numbers[:, position] = values if values.dtype.kind == "f" else values.astype(np.float64)
    return numbers


@dataclass
class StreamedTable:
    """Rows in files: the columns that are features, the columns that are not, and how to read them."""

    reader: Reader
    schema: Schema
    roles: Roles
    # The limit of the memory for running sums in bytes. A row takes 4. Larger sums go to a file.
    memory_for_tags: int = MEMORY_FOR_TAGS
    known_labels: Labels | None = field(default=None, repr=False)  # the labels, once they have been read
    is_converted: bool = False  # whether the rows are in memory with the features as the schema has them

    @property
    def n_rows(self) -> int | None:
        """The number of rows; None if there is a filter and nothing has been read yet."""
        return self.reader.n_rows if self.known_labels is None else int(self.known_labels.codes.size)

    @property
    def snapshot(self) -> str | None:
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
        """One pass brings in the rows of the minority, and the rows of the first draw.

        If the plan has the minority, no pass is made: the first draw makes one.
        """
        labels = self.labels()
        if self.roles.id_column is not None and plan.minority is None:
            # The same share of the ids as on a cluster, in one pass over their column.
            limit = keys_looked_at(labels.codes.size)
            looked_at = np.concatenate([ids_under(limit, ids) for _, ids in self._ids()])
            refuse_repeated(np.sort(looked_at), f" in column {self.roles.id_column!r}")
        counts = labels.counts.tolist()
        larger = {number: n for number, n in enumerate(counts) if number != labels.rarest}
        tags = _tags(labels.codes.size, self.memory_for_tags)
        stream = Stream(self, labels.codes, plan.seed, plan.n_threads, tags, plan.on_rows, plan.read)
        if plan.minority is None:
            minority, drawn = stream.begin(labels.rarest, larger, plan.n_draw, plan.first_round)
            refuse_weightless(minority, labels.names[labels.rarest])
        else:
            minority, drawn = plan.minority, {}
        foreseen = {number: (plan.first_round, cutting) for number, cutting in drawn.items()}
        pools = {
            number: StreamedPool(stream, number, list(larger), n, foreseen.get(number)) for number, n in larger.items()
        }
        return ClassSplit(labels.names, counts, labels.rarest, minority, pools, lambda: stream.seconds_reading)

    def identity(self) -> dict[str, Any]:
        roles = {name: repr(value) for name, value in vars(self.roles).items()}
        return {**self.reader.identity(), "features": repr(self.schema.columns), **roles}

    def part(self, chosen: NDArray[np.bool_]) -> Self:
        """A table of some of the rows: those where `chosen` is true."""
        known = None if self.known_labels is None else self.known_labels.part(chosen)
        return replace(self, reader=self.reader.part(chosen), known_labels=known)

    def loaded(self) -> Self:
        columns = dict.fromkeys([*self.schema.sources, *self.roles.columns])
        return replace(self, reader=self.reader.loaded(list(columns)))

    def divided(self, first: NDArray[np.bool_], second: NDArray[np.bool_]) -> tuple[Self, Self]:
        """Two parts of a table in memory. The rows of the table itself leave the memory meanwhile.

        The features of the first part are converted once, for many passes: only they and the columns that are read
        along can be read. The second part keeps its columns.
        """
        one, other = self.part(first), self.part(second)
        (file,) = self.reader.files
        assert isinstance(file, LoadedFile)
        start, converted, kept = 0, [], []
        for rows in file.drain():
            stop = start + rows.num_rows
            some = rows.filter(pa.array(first[start:stop]))
            if some.num_rows:
                batch = StreamedBatch(start, stop, self.schema, self.roles, some, str(file.path))
                converted.append(pa.Table.from_batches([batch.converted()]))
            kept.append(rows.filter(pa.array(second[start:stop])))
            start = stop
        del rows
        pa.default_memory_pool().release_unused()
        features = one.reader.holding(pa.concat_tables(converted, promote_options="permissive"))
        return (
            replace(one, reader=features, is_converted=True),
            replace(other, reader=other.reader.holding(pa.Table.from_batches(kept))),
        )

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
        converted = (replace(batch, new_categories=new).features() for batch in self.batches())
        # A batch of whole numbers with a missing value is a batch of floats.
        batches = [pa.Table.from_batches([batch]) for batch in converted]
        return pa.concat_tables(batches, promote_options="permissive").to_pandas()

    def batches(self) -> Iterator[StreamedBatch]:
        """All rows in order, with the columns that are read along."""
        names = [CONVERTED + name for name in self.schema.names] if self.is_converted else self.schema.sources
        start, known = 0, (self.schema, self.roles)
        for file, batch in self.reader.read([*names, *self.roles.read_along]):
            stop = start + batch.num_rows
            yield StreamedBatch(start, stop, *known, batch, str(file.path), is_converted=self.is_converted)
            start = stop
        if self.n_rows is not None and start != self.n_rows:
            raise TableError(f"The table had {self.n_rows} rows before and has {start} now: its files have changed.")

    def ids_of(self, positions: NDArray[np.intp]) -> Ids:
        if self.roles.id_column is None:
            return positions.astype(np.uint64)
        parts = []
        for start, ids in self._ids():
            here = positions[np.searchsorted(positions, start) : np.searchsorted(positions, start + ids.size)]
            parts.append(ids[here - start])
        return np.concatenate(parts)

    def _ids(self) -> Iterator[tuple[int, Ids]]:
        """The ids batch by batch, each with the position of its first row."""
        assert self.roles.id_column is not None
        start = 0
        for file, batch in self.reader.read([self.roles.id_column]):
            yield start, whole_ids(batch.column(self.roles.id_column), self.roles.id_column, str(file.path))
            start += batch.num_rows

    def joined(self, kept: Sequence[Any]) -> Any:
        return pa.Table.from_batches(kept)

    def picked(self, kept: Any, positions: NDArray[np.intp]) -> Any:
        picked = kept.take(pa.array(positions)).combine_chunks()
        return picked.to_batches()[0] if picked.num_rows else kept.slice(0, 0).to_batches()[0]

    def rows(self, kept: Any, stands_for: NDArray[np.float64] | None = None) -> Rows:
        """Rows sorted by id, features as a pandas frame. An id that occurs twice is refused."""
        table = pa.Table.from_batches([kept]) if isinstance(kept, pa.RecordBatch) else kept
        ids = table.column(ID).to_numpy()
        order = np.argsort(ids, kind="stable")
        table, ids = table.take(pa.array(order)), ids[order]
        refuse_repeated(ids, f" in column {self.roles.id_column!r}")
        along = {"sample_weight": WEIGHT, GROUP: GROUP, TIME: TIME}
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
