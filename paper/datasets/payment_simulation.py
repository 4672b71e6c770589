"""Payment Simulation: a month of simulated mobile payments (PaySim)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from paper.datasets.dataset import Dataset, Features, Labels, Statistics
from paper.datasets.folder import find

FILES = ["PS_20174392719_1491204439457_log.csv", "payment_simulation.csv", "payment_simulation.parquet"]
SOURCE = "Kaggle (ealaxi/paysim1)"
FEATURES = [
    "step",
    "type",
    "amount",
    "oldbalanceOrg",
    "newbalanceOrig",
    "oldbalanceDest",
    "newbalanceDest",
    "isFlaggedFraud",
]
STATISTICS = Statistics(6_362_620, 8213)


def load(folder: Path) -> tuple[Features, Labels]:
    """Hour, type, amount, the four balances and the bank's own flag, as published.

    The type becomes a whole number in the sorted order of the names; no order is meant, so it suits trees only. The
    two parties' names are left out: they are identities, almost all of them seen once.
    """
    frame = _read(folder)
    y = frame.pop("isFraud").to_numpy(np.int8)
    kinds = frame["type"]
    frame["type"] = kinds.map({name: number for number, name in enumerate(sorted(kinds.unique()))}).astype(np.float32)
    return frame[FEATURES].to_numpy(np.float32), y


def _read(folder: Path) -> pd.DataFrame:
    path, columns = find(folder, FILES, SOURCE), [*FEATURES, "isFraud"]
    if path.suffix == ".parquet":
        return pd.read_parquet(path, columns=columns)
    # 32 bits halve the memory, and equal amounts and balances stay equal.
    return pd.read_csv(path, usecols=columns, dtype={**dict.fromkeys(FEATURES, np.float32), "type": "category"})


PAYMENT_SIMULATION = Dataset("payment-simulation", "Payment Simulation", load, STATISTICS)
