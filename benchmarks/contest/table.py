"""A named table with a rare class."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Labels = NDArray[np.int8]
Order = Literal["random", "time", "groups"]
DEFAULT_DATA = Path(__file__).parents[3] / "shared" / "data"


def own_file(name: str) -> Path:
    return Path(os.environ.get("SELFPACED_DATA", DEFAULT_DATA)) / name


@dataclass(frozen=True)
class Data:
    """Features and labels: text columns have the type `category`, missing values are NaN, the rare class is 1.

    No split depends on the order of the rows, unless the table says that they are in the order of time. `groups` has
    the number of each row's group, if the table is split by groups.
    """

    X: pd.DataFrame
    y: Labels
    groups: NDArray[np.int64] | None = None

    @property
    def n_rare(self) -> int:
        return int(self.y.sum())

    @property
    def imbalance(self) -> float:
        """Common rows for each rare one."""
        return (self.y.size - self.n_rare) / self.n_rare

    @property
    def categories(self) -> list[str]:
        return list(self.X.select_dtypes("category").columns)


@dataclass(frozen=True)
class Table:
    """What a table is called, where its rows come from, and how they are read."""

    name: str
    source: str
    load: Callable[[], Data]
    order: Order = "random"


def labelled(frame: pd.DataFrame, is_rare: pd.Series, groups: NDArray[np.int64] | None = None) -> Data:
    """A frame without its target, with plain column names and one type for text."""
    X = frame.reset_index(drop=True)
    X.columns = [str(name).replace("[", "_").replace("]", "_").replace("<", "_") for name in X.columns]
    text = X.select_dtypes(["object", "string", "category", "bool"]).columns
    numbers = X.columns.difference(text)
    X = X.astype(dict.fromkeys(text, "string")).astype(dict.fromkeys(text, "category"))
    return Data(X.astype(dict.fromkeys(numbers, "float64")), is_rare.to_numpy().astype(np.int8), groups)
