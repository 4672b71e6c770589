"""Payment Simulation: a month of simulated mobile payments (PaySim), as published and simulated again."""

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
STEP = FEATURES.index("step")

FILE_AGAIN = "paysim_simulated.parquet"
STATISTICS_AGAIN = Statistics(6_366_285, 8245)
MONEY = ["amount", "oldbalanceOrg", "newbalanceOrig", "oldbalanceDest", "newbalanceDest"]


def load(folder: Path) -> tuple[Features, Labels]:
    """Hour, type, amount, the four balances and the bank's own flag, as published.

    The type becomes a whole number in the sorted order of the names; no order is meant, so it suits trees only. The
    two parties' names are left out: they are identities, almost all of them seen once.
    """
    return _features_and_labels(_read(folder))


def load_again(folder: Path) -> tuple[Features, Labels]:
    """The same columns of payments that the published simulator made again, whose file has money in cents."""
    path = find(folder, [FILE_AGAIN], f"a run of the PaySim simulator, or instead the published file from {SOURCE}")
    cents = {f"{name}_cents": name for name in MONEY}
    frame = pd.read_parquet(path, columns=[*cents, "step", "type", "isFlaggedFraud", "isFraud"]).rename(columns=cents)
    return _features_and_labels(frame.assign(**{name: frame[name] / 100 for name in MONEY}))


def _features_and_labels(frame: pd.DataFrame) -> tuple[Features, Labels]:
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


PAYMENT_SIMULATION = Dataset("payment-simulation", "Payment Simulation", load, STATISTICS, files=tuple(FILES))
PAYSIM_SIMULATED = Dataset(
    "paysim-simulated",
    "PaySim, simulated again",
    load_again,
    STATISTICS_AGAIN,
    files=(FILE_AGAIN,),
    stands_for=PAYMENT_SIMULATION.name,
    other_rows=True,
    differs=(
        "These rows are not the published ones. The published simulator made them, with inputs that fit what is known "
        f"of the published file. They are {STATISTICS_AGAIN.n_rows:,} at {STATISTICS_AGAIN.imbalance_ratio:.2f}:1; the "
        f"paper has {STATISTICS.n_rows:,} at {STATISTICS.imbalance_ratio:.2f}:1."
    ),
)
