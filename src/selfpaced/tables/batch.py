"""Consecutive rows of a table in files, on their way to models and pools."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import TableError
from selfpaced.pools.keys import Ids
from selfpaced.pools.rows import GROUP
from selfpaced.scoring import ArrowRows, Scorer
from selfpaced.tables.formats import import_arrow
from selfpaced.tables.groups import column_groups, refuse_missing_groups
from selfpaced.tables.new_categories import NewCategories
from selfpaced.tables.roles import ID, WEIGHT, Roles
from selfpaced.tables.schema import Schema
from selfpaced.tables.weights import refuse_bad


@dataclass(frozen=True)
class StreamedBatch:
    """The rows from `start` up to `stop`. `where` is the file that they come from.

    Attributes
    ----------
    new_categories : NewCategories | None, default=None
        Counts categories that the schema does not have, whenever features are converted.
    """

    start: int
    stop: int
    schema: Schema
    roles: Roles
    batch: Any
    where: str
    new_categories: NewCategories | None = None

    @property
    def ids(self) -> Ids:
        if self.roles.id is None:
            return np.arange(self.start, self.stop, dtype=np.uint64)
        return whole_ids(self.batch.column(self.roles.id), self.roles.id, self.where)

    def check(self) -> None:
        """Refuse infinity, as `fit` does, with the name of the file and the column; and rows without a group."""
        import pyarrow.compute as pc

        pa = import_arrow()
        for name in self.schema.sources:
            column = self.batch.column(name)
            if pa.types.is_floating(column.type) and pc.any(pc.is_inf(column)).as_py():
                raise TableError(
                    f"Column {name!r} of {self.where} contains infinity. Replace it by a finite number, or by a "
                    "missing value if the base model accepts missing values."
                )
        if self.roles.group is not None:
            refuse_missing_groups(self.batch.column(self.roles.group), self._group_column)

    def features(self) -> Any:
        """A record batch of the features, as the schema has them."""
        converted = self.schema.converted(self.batch, self.where)
        if self.new_categories is not None:
            self.new_categories.count(self.schema, self.batch, converted)
        return converted

    def features_for(self, scorers: Sequence[Scorer]) -> Any:
        """A pandas frame; plain numbers for models that read nothing else; the batch itself for those that read it."""
        if all(scorer.reads_float32 for scorer in scorers) and not self.schema.has_categories:
            return _float32(self.features())
        if all(scorer.reads_arrow for scorer in scorers):
            return ArrowRows(self.features())
        return self.features().to_pandas()

    def parts(self, most_rows: int) -> Iterator[StreamedBatch]:
        """The same rows in several batches, none of more than so many rows. Nothing is copied."""
        for start in range(0, self.batch.num_rows, most_rows):
            part = self.batch.slice(start, most_rows)
            begin = self.start + start
            yield replace(self, start=begin, stop=begin + part.num_rows, batch=part)

    def kept(self) -> dict[str, Any]:
        """The columns that are written beside the scores."""
        return {name: self.batch.column(name) for name in self.roles.keep}

    def take(self, positions: NDArray[np.intp]) -> Any:
        pa = import_arrow()
        where = pa.array(positions)
        some = replace(self, batch=self.batch.take(where)).features()
        columns = {ID: pa.array(self.ids[positions])}
        if self.roles.weight is not None:
            columns[WEIGHT] = self._weights(self.batch.column(self.roles.weight).take(where))
        if self.roles.group is not None:
            hashes = column_groups(self.batch.column(self.roles.group).take(where), self._group_column)
            columns[GROUP] = pa.array(hashes)
        arrays, names = [*some.columns, *columns.values()], [*some.schema.names, *columns]
        return pa.RecordBatch.from_arrays(arrays, names=names)

    @property
    def _group_column(self) -> str:
        return f"The group column {self.roles.group!r} of {self.where}"

    def _weights(self, column: Any) -> Any:
        pa = import_arrow()
        what = f"The weight column {self.roles.weight!r} of {self.where}"
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
    pa = import_arrow()
    if not pa.types.is_integer(column.type) or column.null_count:
        raise TableError(
            f"The id column {name!r} of {path} must hold a whole number for every row. It is {column.type} and "
            f"{column.null_count} values are missing."
        )
    wide = pa.uint64() if pa.types.is_unsigned_integer(column.type) else pa.int64()
    ids: Ids = column.cast(wide).to_numpy().astype(np.uint64)
    return ids


def _float32(batch: Any) -> NDArray[np.float32]:
    """All columns side by side. Large whole numbers are converted through float64, as they are in a frame."""
    numbers = np.empty((batch.num_rows, batch.num_columns), dtype=np.float32)
    for position, column in enumerate(batch.columns):
        values = column.to_numpy(zero_copy_only=False)
        numbers[:, position] = values if values.dtype.kind == "f" else values.astype(np.float64)
    return numbers
