"""Record Linkage: pairs of records of a German cancer registry, compared field by field; and pairs of FEBRL."""

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

FEBRL_FILE = "febrl_pairs.parquet"
FEBRL_STATISTICS = Statistics(3_784_546, 13_919)


def load(folder: Path) -> tuple[Features, Labels]:
    """The nine comparisons, missing ones as NaN. The records' numbers are left out: they are names, not features."""
    blocks = [_read(folder, number) for number in BLOCKS]
    y = np.concatenate([block.pop("is_match").to_numpy(np.int8) for block in blocks])
    return np.concatenate([block[COMPARISONS].to_numpy(np.float32) for block in blocks]), y


def load_febrl(folder: Path) -> tuple[Features, Labels]:
    """Pairs of generated persons. They have states, and no sexes: `cmp_state` takes the place of `cmp_sex`."""
    path = find(
        folder, [FEBRL_FILE], f"a comparison of the FEBRL records, or instead the published blocks from {SOURCE}"
    )
    columns = ["cmp_state" if name == "cmp_sex" else name for name in COMPARISONS]
    frame = pd.read_parquet(path, columns=[*columns, "is_match"])
    return frame[columns].to_numpy(np.float32), frame["is_match"].to_numpy(np.int8)


def _read(folder: Path, number: int) -> pd.DataFrame:
    path = find(folder, _names(number), SOURCE)
    kinds = {**dict.fromkeys(COMPARISONS, np.float32), "is_match": bool}
    return pd.read_csv(path, usecols=list(kinds), dtype=kinds, na_values="?")


def _names(number: int) -> list[str]:
    return [f"block_{number}.csv", f"block_{number}.zip"]


ALL_FILES = tuple(name for number in BLOCKS for name in _names(number))
RECORD_LINKAGE = Dataset("record-linkage", "Record Linkage", load, STATISTICS, files=ALL_FILES)
FEBRL_PAIRS = Dataset(
    "febrl-pairs",
    "FEBRL pairs",
    load_febrl,
    FEBRL_STATISTICS,
    files=(FEBRL_FILE,),
    stands_for=RECORD_LINKAGE.name,
    other_rows=True,
    differs=(
        "These rows are not the published ones. They are comparisons of generated persons with typing errors (FEBRL), "
        f"with {FEBRL_STATISTICS.n_rows:,} rows at {FEBRL_STATISTICS.imbalance_ratio:.2f}:1; the paper has "
        f"{STATISTICS.n_rows:,} at {STATISTICS.imbalance_ratio:.2f}:1. They have 24,235 different patterns, "
        "which training and test rows share: in the split of run 0, 99.8% of the test rows, and 94.3% of the matches "
        "among them, have a pattern of training rows."
    ),
)
