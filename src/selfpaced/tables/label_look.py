"""The labels of a table in files, collected while they are read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import TableError
from selfpaced.tables.formats import import_arrow
from selfpaced.tables.labels import MOST_LABELS, Labels
from selfpaced.tables.roles import Roles
from selfpaced.tables.schema import Described


class LabelLook:
    """Labels as far as they have been read: one byte a row."""

    def __init__(self, roles: Roles) -> None:
        self._roles = roles
        self._known: Any = None
        self._numbers: list[NDArray[np.uint8]] = []

    def add(self, column: Any, file: Described) -> None:
        import pyarrow.compute as pc

        pa = import_arrow()
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if column.null_count or (pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py()):
            raise TableError(
                f"{file.path} has rows without a label. Drop these rows (--drop-unlabelled on the command line), or "
                "label them."
            )
        new = column.unique()
        if self._known is None:
            self._known = new
        elif self._known.type != new.type:
            column, new = self._alike(column, file), self._alike(new, file)
        fresh = new.filter(pc.invert(pc.is_in(new, value_set=self._known)))
        if len(fresh):
            self._known = pa.concat_arrays([self._known, fresh])
        if len(self._known) > MOST_LABELS:
            raise TableError(
                f"The target has more than {MOST_LABELS} different values. It looks like a number to predict "
                "(regression), not like classes. Name a column of classes."
            )
        numbers = pc.index_in(column, value_set=self._known)
        self._numbers.append(numbers.to_numpy(zero_copy_only=False).astype(np.uint8))

    def labels(self) -> Labels:
        """The labels of all rows; one against all others if the roles say so."""
        if self._known is None:
            raise TableError("The table has no rows. At least two classes with two rows each are needed.")
        classes, number_of = np.unique(self._known.to_numpy(zero_copy_only=False), return_inverse=True)
        numbers = number_of.astype(np.uint8)
        codes = np.concatenate([numbers[part] for part in self._numbers])
        # Part by part, because np.bincount takes eight bytes for every row.
        counts = sum(np.bincount(numbers[part], minlength=classes.size) for part in self._numbers)
        labels = Labels(classes, np.asarray(counts, dtype=np.int64), codes)
        positive, target = self._roles.positive, self._roles.target
        return labels if positive is None else labels.separated(positive, target)

    def roles(self) -> Roles:
        """The roles with the positive label as the data have it: 0 is False among booleans."""
        found = [label for label in self._known.to_pylist() if label == self._roles.positive]
        return replace(self._roles, positive=found[0]) if found else self._roles

    def _alike(self, column: Any, file: Described) -> Any:
        pa = import_arrow()
        try:
            return column.cast(self._known.type)
        except pa.ArrowException as error:
            raise TableError(
                f"The labels of {file.path} are {column.type}, those of the files before it {self._known.type}: {error}"
            ) from error
