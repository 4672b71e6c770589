"""The errors and warnings of this package."""

from __future__ import annotations

from collections.abc import Mapping


class TableError(ValueError):
    """Raised if a table cannot be read with the given options."""


class ModelFileError(ValueError):
    """Raised if a model file cannot be written or read."""


class CheckpointError(ValueError):
    """Raised if a checkpoint is damaged or belongs to another fit."""


class UnreachableRuleError(ValueError):
    """Raised if no threshold meets a rule on the given rows. The message says what can be reached."""


class UnknownRuleError(ValueError):
    """Raised if a text is not a rule for a threshold. `complaint` is the message without the list of the rules."""

    def __init__(self, complaint: str, listed: str = "") -> None:
        super().__init__(f"{complaint} {listed}".strip())
        self.complaint = complaint


class ModelVersionWarning(UserWarning):
    """Warns that a model was saved with other versions of its packages."""


class PickledModelWarning(UserWarning):
    """Warns that a model is loaded from a pickle, which can run any code."""


class NewCategoryWarning(UserWarning):
    """Warns that rows have categories that the model was not trained with, which it reads as missing values.

    `counts` has the number of such rows by column, and `n_rows` the number of all rows.

    >>> str(NewCategoryWarning({"shop": 3, "country": 1}, 1000))[74:]
    "'shop' in 3 rows, 'country' in 1 row of 1,000."
    """

    def __init__(self, counts: Mapping[str, int], n_rows: int) -> None:
        listed = ", ".join(f"{name!r} in {count:,} row{'' if count == 1 else 's'}" for name, count in counts.items())
        most = [name for name, count in counts.items() if 2 * count > n_rows]
        hint = f" Most rows of {most[0]!r} are concerned: check how its values are written." if most else ""
        super().__init__(
            f"Some categories are new to the model, which reads them as missing values: {listed} of {n_rows:,}.{hint}"
        )
        self.counts = dict(counts)
        self.n_rows = n_rows
