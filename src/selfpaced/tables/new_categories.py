"""Categories that a model was not trained with, counted while rows are converted."""

from __future__ import annotations

import warnings
from threading import Lock
from typing import Any

from selfpaced.exceptions import NewCategoryWarning
from selfpaced.tables.formats import import_arrow
from selfpaced.tables.schema import Schema


class NewCategories:
    """Counts the rows with new categories, by column. Threads can share it.

    A new category is read as a missing value. So the count is the number of missing values after the conversion, less
    the number before it, and needs no look at the strings.
    """

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self._n_rows = 0
        self._lock = Lock()

    def count(self, schema: Schema, before: Any, after: Any) -> None:
        """Count the columns of categories in some rows, given before and after their conversion by the schema."""
        found = {
            column.source: after.column(column.name).null_count - _n_missing(before.column(column.source))
            for column in schema.columns
            if column.categories is not None
        }
        with self._lock:
            self._n_rows += after.num_rows
            for name, n_rows in found.items():
                if n_rows:
                    self.counts[name] = self.counts.get(name, 0) + n_rows

    def warn(self, stacklevel: int = 2) -> None:
        """Warn once about all columns. `stacklevel` counts from the caller, as for `warnings.warn`."""
        if self.counts:
            warnings.warn(NewCategoryWarning(self.counts, self._n_rows), stacklevel=stacklevel + 1)


def _n_missing(column: Any) -> int:
    """The number of missing values of an array or a chunked array. A dictionary may hold one, too."""
    if import_arrow().types.is_dictionary(column.type):
        chunks = getattr(column, "chunks", [column])
        if any(chunk.dictionary.null_count for chunk in chunks):
            return sum(chunk.dictionary_decode().null_count for chunk in chunks)
    return int(column.null_count)
