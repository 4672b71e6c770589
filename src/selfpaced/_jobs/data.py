"""The rows that a command reads: where they are, and how they are read."""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from selfpaced.ensembles.table_scoring import ScoringOptions
from selfpaced.remote_files import shown


@dataclass(frozen=True)
class Data(PathLike[str]):
    """A source with its options for reading.

    Attributes
    ----------
    source : Any
        Whatever `open_table` opens; a query, if the options have a connection.
    """

    source: Any
    reading: ScoringOptions = field(default_factory=ScoringOptions)

    def __fspath__(self) -> str:
        return str(self.source)

    def __str__(self) -> str:
        return shown(str(self.source))


def data_of(source: Any) -> Data:
    """A source with its options. A source that was given alone has no options."""
    return source if isinstance(source, Data) else Data(source)
