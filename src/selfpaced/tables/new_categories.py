"""Categories that a model was not trained with, counted while rows are converted."""

from __future__ import annotations

import warnings
from threading import Lock
from typing import Any

from selfpaced.exceptions import NewCategoryWarning
from selfpaced.tables.schema import Schema


class NewCategories:
    """Counts the rows with new categories, by column. Threads can share it."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self._n_rows = 0
        self._lock = Lock()

    def count(self, schema: Schema, before: Any, after: Any) -> None:
        """Count the columns of categories in some rows, given before and after their conversion by the schema."""
        found = {
            column.source: column.n_new(before.column(column.source), after.column(column.name))
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
