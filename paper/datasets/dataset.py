"""A data set of the paper: where it comes from and what it must look like."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Features = NDArray[np.float32]
Labels = NDArray[np.int8]


@dataclass(frozen=True)
class Statistics:
    """What a data set's description says of it. The published ratio has two decimals."""

    n_rows: int
    n_positives: int

    @property
    def imbalance_ratio(self) -> float:
        return (self.n_rows - self.n_positives) / self.n_positives


@dataclass(frozen=True)
class Dataset:
    """A data set and how to get it.

    Attributes
    ----------
    load : from the folder with the published files to numeric features and labels (1 is the rare class).
    expected : rows and positives that the loaded data must have; None if any number is fine.
    to_standardise : columns that models get with mean 0 and deviation 1.
    files : names of files; if one of them is in the folder, the user has the data set.
    stands_for : the name of the paper's data set that this one is used for where its files are missing; None for the
        paper's own.
    other_rows : whether the rows are others than the published ones, so that figures do not compare.
    differs : how the data differ from the paper's, in words for the reader of a table; None if they do not.
    """

    name: str
    title: str
    load: Callable[[Path], tuple[Features, Labels]]
    expected: Statistics | None = None
    to_standardise: tuple[int, ...] = ()
    files: tuple[str, ...] = ()
    stands_for: str | None = None
    other_rows: bool = False
    differs: str | None = None

    @property
    def published_name(self) -> str:
        """The name of the data set in the paper's tables."""
        return self.stands_for or self.name

    def is_in(self, folder: Path) -> bool:
        return any((folder / name).exists() for name in self.files)

    def read(self, folder: Path) -> tuple[Features, Labels]:
        """Load and count: a file that is cut short or of another edition must not pass for the published one."""
        X, y = self.load(folder)
        found = Statistics(len(y), int(y.sum()))
        if self.expected is not None and found != self.expected:
            raise ValueError(
                f"{self.title} should have {self.expected.n_rows:,} rows with {self.expected.n_positives:,} positives, "
                f"but the files hold {found.n_rows:,} with {found.n_positives:,}. Is a part missing?"
            )
        return X, y
