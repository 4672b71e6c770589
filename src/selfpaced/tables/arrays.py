"""Rows in memory with their labels: the table of `fit(X, y)`, and of arrays that `open_table` opens."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from sklearn.utils import check_array

from selfpaced.pools.memory import MemoryPool
from selfpaced.tables.files import fingerprint
from selfpaced.tables.labels import Labels, read_labels
from selfpaced.tables.memory import InMemoryTable
from selfpaced.tables.roles import Roles
from selfpaced.tables.schema import Schema
from selfpaced.tables.table import ClassSplit, SplitPlan


@dataclass(frozen=True)
class LabelledTable:
    """Rows in memory whose labels are known.

    Attributes
    ----------
    source : Any, default=None
        The array that holds the rows. A resumed fit recognises them by it. None if a fit cannot be resumed.
    schema : Schema | None, default=None
        How the rows were read from a frame with strings or dates; None for other rows.
    """

    rows: InMemoryTable
    known_labels: Labels
    source: Any = None
    schema: Schema | None = None
    roles: Roles = field(default_factory=Roles)
    snapshot: None = None

    @property
    def bytes_in_memory(self) -> int:
        return int(self.rows.n_rows * self.rows.bytes_per_row)

    def labels(self) -> Labels:
        return self.known_labels

    def split(self, plan: SplitPlan) -> ClassSplit:
        return split_classes(self.rows, self.known_labels, plan.seed, plan.n_threads)

    def identity(self) -> dict[str, Any]:
        """A memory map is identified by its file and its offset in the file, any other array by its content."""
        path = getattr(self.source, "filename", None)
        content = _in_file(self.source, Path(path)) if path else joblib.hash(np.ascontiguousarray(self.source))
        labels = joblib.hash((self.known_labels.classes, self.known_labels.codes))
        return {"shape": self.source.shape, "features": content, "labels": labels}


def _in_file(array: Any, path: Path) -> dict[str, Any]:
    whole = array
    while isinstance(whole.base, np.ndarray):  # an array that is a part of a memory map
        whole = whole.base
    start = array.offset + array.ctypes.data - whole.ctypes.data
    return {"file": str(path), **fingerprint(path), "start": start, "strides": array.strides, "type": str(array.dtype)}


def open_array(array: Any, target: Any = None) -> LabelledTable:
    """An array, such as a memory map, which is read where it is. `target` are its labels."""
    checked = check_array(array, dtype="numeric", ensure_all_finite="allow-nan", input_name="X")
    return LabelledTable(InMemoryTable(checked), read_labels(target, checked), array)


def split_classes(rows: InMemoryTable, labels: Labels, seed: int, n_threads: int) -> ClassSplit:
    """The rarest class is the minority."""
    pools = {
        number: MemoryPool(rows, labels.ids(number), number, seed, n_threads)
        for number in range(labels.classes.size)
        if number != labels.rarest
    }
    minority = rows.rows(labels.ids(labels.rarest))
    return ClassSplit(labels.names, labels.counts.tolist(), labels.rarest, minority, pools)
