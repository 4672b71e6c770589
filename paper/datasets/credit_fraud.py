"""Credit Fraud: card payments of European card holders, September 2013."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import fetch_openml

from paper.datasets.dataset import Dataset, Features, Labels, Statistics
from paper.datasets.folder import find

FILES = ["credit_fraud.parquet", "creditcard.csv"]
SOURCE = "OpenML (data set 1597, 'creditcard') or Kaggle (mlg-ulb/creditcardfraud)"


def load(folder: Path) -> tuple[Features, Labels]:
    """Time, V1..V28 (principal components) and Amount, as published."""
    frame = _read(folder)
    y = frame.pop("Class").astype(int).to_numpy(np.int8)
    return frame.to_numpy(np.float32), y


def _read(folder: Path) -> pd.DataFrame:
    try:
        path = find(folder, FILES, SOURCE)
    except FileNotFoundError as not_here:
        return _fetch(not_here)
    return pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)


def _fetch(not_here: FileNotFoundError) -> pd.DataFrame:
    try:
        return fetch_openml(data_id=1597, as_frame=True).frame
    except OSError as no_network:
        raise FileNotFoundError(f"{not_here} OpenML could not be reached either: {no_network}") from no_network


# The paper speaks of normalised features. V1..V28 are; Time and Amount, as published, would drown them in a distance.
TIME, AMOUNT = 0, 29
CREDIT_FRAUD = Dataset("credit-fraud", "Credit Fraud", load, Statistics(284_807, 492), to_standardise=(TIME, AMOUNT))
