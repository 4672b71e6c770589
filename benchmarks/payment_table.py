"""A generated table in the shape of real payment data: wide, with categories and many missing values."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

N_NUMBERS = 98
N_CATEGORICAL = 20
SHARE_RARE = 0.035
SHARE_MISSING = 1 / 3
# Numbers of categories, in turn.
SIZES = (3, 5, 8, 20, 60, 300)


def payment_table(n_rows: int, seed: int = 0) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """98 columns of numbers, a third of them float32 and a quarter rounded, and 20 of categories."""
    rng = np.random.default_rng(seed)
    is_rare = rng.uniform(size=n_rows) < SHARE_RARE
    columns: dict[str, object] = {}
    for number in range(N_NUMBERS):
        shift = 0.6 if number % 7 == 0 else 0.1
        values = rng.normal(size=n_rows) * (1 + number % 5) + shift * is_rare
        if number % 4 == 0:
            values = values.round(1)
        values[rng.uniform(size=n_rows) < SHARE_MISSING] = np.nan
        columns[f"number_{number}"] = values.astype(np.float32) if number % 3 == 0 else values
    for number in range(N_CATEGORICAL):
        size = SIZES[number % len(SIZES)]
        codes = (rng.integers(0, size, n_rows) + is_rare * rng.integers(0, max(2, size // 4), n_rows)) % size
        codes[rng.uniform(size=n_rows) < SHARE_MISSING] = -1
        columns[f"category_{number}"] = pd.Categorical.from_codes(codes, [f"value {code}" for code in range(size)])
    return pd.DataFrame(columns), is_rare.astype(np.int64)


def write_payment_table(folder: Path, n_rows: int) -> None:
    """Write X.npy and y.npy, categories as codes, and categories.json with the number of categories by position."""
    X, y = payment_table(n_rows)
    folder.mkdir(parents=True)
    numbers = np.lib.format.open_memmap(folder / "X.npy", mode="w+", dtype=np.float64, shape=X.shape)
    categories = {}
    for position, (_, column) in enumerate(X.items()):
        if isinstance(column.dtype, pd.CategoricalDtype):
            categories[position] = len(column.cat.categories)
            column = column.cat.codes.replace(-1, np.nan)
        numbers[:, position] = column
    np.save(folder / "y.npy", y)
    (folder / "categories.json").write_text(json.dumps(categories))
