"""A frame in memory, read by the schema of a model: strings as categories, dates as numbers."""

from __future__ import annotations

from typing import Any

from selfpaced.exceptions import TableError
from selfpaced.tables.formats import import_arrow
from selfpaced.tables.kinds import ARROW, PANDAS, kind_of
from selfpaced.tables.new_categories import NewCategories
from selfpaced.tables.schema import Column, Schema


def as_trained(schema: Schema, frame: Any) -> Any:
    """A pandas frame of the features. Columns that have been converted already stay as they are.

    A warning counts the rows with categories that the schema does not have. It points at the line that called the
    method of an ensemble.
    """
    pa = import_arrow()
    batch = as_arrow(frame)
    arrays = [_converted(column, batch) for column in schema.columns]
    table = pa.Table.from_arrays(arrays, names=schema.names)
    new = NewCategories()
    new.count(schema, batch, table)
    new.warn(stacklevel=5)
    return table.to_pandas()


def as_arrow(frame: Any) -> Any:
    pa = import_arrow()
    kind = kind_of(frame)
    if kind is PANDAS:
        return pa.Table.from_pandas(frame, preserve_index=False)
    return frame if kind is ARROW else frame.to_arrow()


def _converted(column: Column, batch: Any) -> Any:
    """A feature, made from its source column; or the feature itself, if the frame already holds it."""
    if column.source not in batch.column_names:
        raise TableError(f"X has no column {column.source!r}, which the model was trained with.")
    source = batch.column(column.source).combine_chunks()
    if (
        column.made_of is not None
        and column.name in batch.column_names
        and import_arrow().types.is_floating(source.type)
    ):
        return batch.column(column.name)
    return column.converted(source, "X")
