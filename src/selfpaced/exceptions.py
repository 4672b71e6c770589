"""Errors that say which file and which column."""

from __future__ import annotations


class TableError(ValueError):
    """A table that cannot be read as asked."""
