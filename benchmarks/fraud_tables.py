"""Tables of generated transactions, written block by block so that the largest never lies in memory as float64."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from selfpaced.datasets import make_fraud

N_FEATURES = 30
FRAUDS = 4_000
FEWEST_ROWS_PER_FRAUD = 500
ROWS_PER_BLOCK = 2_000_000


def write_table(folder: Path, n_rows: int, dtype: str) -> None:
    """Write X.npy and y.npy. Every block has a seed of its own, and with it customers and schemes of its own."""
    folder.mkdir(parents=True)
    X = np.lib.format.open_memmap(folder / "X.npy", mode="w+", dtype=dtype, shape=(n_rows, N_FEATURES))
    y = np.lib.format.open_memmap(folder / "y.npy", mode="w+", dtype=np.int64, shape=(n_rows,))
    for seed, start in enumerate(range(0, n_rows, ROWS_PER_BLOCK)):
        rows = slice(start, min(start + ROWS_PER_BLOCK, n_rows))
        n_block = rows.stop - rows.start
        n_frauds = frauds_among(n_rows) * n_block // n_rows
        X[rows], y[rows] = make_fraud(n_block, n_frauds, n_features=N_FEATURES, random_state=seed)


def frauds_among(n_rows: int) -> int:
    """The same number in tables of any size, so that base models see as much; fewer in the small tables of a trial."""
    return min(FRAUDS, n_rows // FEWEST_ROWS_PER_FRAUD)
