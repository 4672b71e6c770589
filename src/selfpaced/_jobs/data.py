"""The rows that a command reads: where they are, and how they are read."""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from selfpaced.ensembles.table_scoring import ScoringOptions
from selfpaced.remote_files import shown


@dataclass(frozen=True)
class Data(PathLike[str]):
    """A source with options of reading. Where there are no options, it stands for its path.

    Attributes
    ----------
    source : whatever `open_table` opens; a query, if the options have a connection.
    """

    source: Any
    reading: ScoringOptions = field(default_factory=ScoringOptions)

    def __fspath__(self) -> str:
        return str(self.source)

    def __str__(self) -> str:
        return shown(str(self.source))


def data_of(source: Any) -> Data:
    """A source with its options. One that comes without has none."""
    return source if isinstance(source, Data) else Data(source)
