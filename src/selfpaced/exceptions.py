"""Errors and warnings that say which file, and what to do."""

from __future__ import annotations


class TableError(ValueError):
    """A table that cannot be read as asked."""


class ModelFileError(ValueError):
    """A model file that cannot be written or read as asked."""


class CheckpointError(ValueError):
    """A checkpoint that is damaged, or that belongs to another fit."""


class UnreachableRuleError(ValueError):
    """A rule for a threshold that no threshold meets on these rows. It says what can be reached."""


class UnknownRuleError(ValueError):
    """What is no rule for a threshold. `complaint` is what is wrong with it, without a list of the rules."""

    def __init__(self, complaint: str, listed: str = "") -> None:
        super().__init__(f"{complaint} {listed}".strip())
        self.complaint = complaint


class ModelVersionWarning(UserWarning):
    """A model that was saved with other versions of the packages it is made of."""


class PickledModelWarning(UserWarning):
    """A model that is loaded from a pickle, which may run any code."""
