"""Payments with values of all types, as tests of the service send them."""

import numpy as np
import pandas as pd

from selfpaced.datasets import make_fraud


def mixed_rows(n_rows=1500):
    """Numbers, strings that look like numbers, times, booleans and missing values; `fraud` is the label."""
    X, y = make_fraud(n_rows=n_rows, n_frauds=n_rows // 16, n_features=4, random_state=0)
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(X, columns=["amount", "balance", "age", "risk"])
    rows["code"] = rng.choice(["007", "12", "3.5"], n_rows, p=[0.6, 0.3, 0.1])
    rows["when"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 90 * 86400, n_rows), unit="s")
    rows["abroad"] = rng.random(n_rows) < 0.3
    rows["visits"] = rng.integers(0, 9, n_rows)
    rows.loc[rng.random(n_rows) < 0.1, ["balance"]] = np.nan
    rows.loc[rng.random(n_rows) < 0.1, ["code"]] = None
    return rows.assign(fraud=y)
