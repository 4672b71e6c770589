"""Record Linkage: pairs of records of a German cancer registry, compared field by field."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from paper.datasets.dataset import Dataset, Features, Labels, Statistics
from paper.datasets.folder import find

SOURCE = "the UCI repository (Record Linkage Comparison Patterns; the blocks are inside donation.zip)"
BLOCKS = range(1, 11)
COMPARISONS = [
    "cmp_fname_c1",
    "cmp_fname_c2",
    "cmp_lname_c1",
    "cmp_lname_c2",
    "cmp_sex",
    "cmp_bd",
    "cmp_bm",
    "cmp_by",
    "cmp_plz",
]
STATISTICS = Statistics(5_749_132, 20_931)


def load(folder: Path) -> tuple[Features, Labels]:
    """The nine comparisons, missing ones as NaN. The records' numbers are left out: they are names, not features."""
    blocks = [_read(folder, number) for number in BLOCKS]
    y = np.concatenate([block.pop("is_match").to_numpy(np.int8) for block in blocks])
    return np.concatenate([block[COMPARISONS].to_numpy(np.float32) for block in blocks]), y


def _read(folder: Path, number: int) -> pd.DataFrame:
    path = find(folder, [f"block_{number}.csv", f"block_{number}.zip"], SOURCE)
    kinds = {**dict.fromkeys(COMPARISONS, np.float32), "is_match": bool}
    return pd.read_csv(path, usecols=list(kinds), dtype=kinds, na_values="?")


RECORD_LINKAGE = Dataset("record-linkage", "Record Linkage", load, STATISTICS)
