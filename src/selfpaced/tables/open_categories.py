"""Strings for models that were trained on a frame in memory, and know their categories by themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from selfpaced.tables.formats import import_arrow
from selfpaced.tables.schema import Column, Schema, coded, strings_of


@dataclass(frozen=True)
class OpenColumn(Column):
    """A column of strings whose known categories are not all that there can be.

    Strings that are not known become further categories of their batch, as they are in a frame: the model decides what
    they mean. The known categories are none if they were strings in training.
    """

    def n_new(self, before: Any, after: Any) -> int:
        import pyarrow.compute as pc

        assert self.categories is not None
        chunks = getattr(after, "chunks", [after])
        n_known = len(self.categories)
        return sum(pc.sum(pc.greater_equal(one.indices, n_known)).as_py() or 0 for one in chunks) if n_known else 0

    def _category(self, array: Any) -> Any:
        import pyarrow.compute as pc

        pa = import_arrow()
        strings, known = strings_of(array), pa.array(self.categories, pa.string())
        numbers = pc.index_in(strings, value_set=known)
        if numbers.null_count > strings.null_count:
            new = strings.filter(pc.is_null(numbers)).unique().drop_null()
            known = pa.concat_arrays([known, new.take(pc.array_sort_indices(new))])
            numbers = pc.index_in(strings, value_set=known)
        return coded(array, numbers, known)


def with_open_categories(schema: Schema) -> Schema:
    """The same features, with new strings as categories of their own."""
    return Schema(
        tuple(
            column if column.categories is None else OpenColumn(column.name, column.type, column.categories)
            for column in schema.columns
        )
    )
