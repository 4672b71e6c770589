"""The errors and warnings of this package."""

from __future__ import annotations


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
