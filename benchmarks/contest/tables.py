"""All tables of the field: files of one's own, data sets that packages ship, and generated rows.

`credit_fraud.parquet`, `kddcup99_10_percent.parquet`, `card_transactions.parquet` and `paysim_simulated.parquet` are
read from the folder that the environment variable SELFPACED_DATA names.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from contest.keel import keel_tables
from contest.ordered import ORDERED_TABLES
from contest.packaged import packaged_tables
from contest.table import Data, Table, labelled, own_file
from selfpaced.datasets import make_checkerboard, make_fraud

ATTACKS = {
    "normal": ["normal"],
    "DOS": ["back", "land", "neptune", "pod", "smurf", "teardrop"],
    "R2L": ["ftp_write", "guess_passwd", "imap", "multihop", "phf", "spy", "warezclient", "warezmaster"],
    "U2R": ["buffer_overflow", "loadmodule", "perl", "rootkit"],
}


def credit_fraud() -> Data:
    frame = pd.read_parquet(own_file("credit_fraud.parquet"))
    return labelled(frame, frame.pop("Class") == 1)


def credit_fraud_by_time() -> Data:
    """Rows in the order of time. The time itself is left out: no test row has a time that was trained on."""
    frame = pd.read_parquet(own_file("credit_fraud.parquet")).sort_values("Time", kind="stable").drop(columns="Time")
    return labelled(frame, frame.pop("Class") == 1)


def kddcup(rare: str, *common: str) -> Data:
    """One kind of attack against others, without repeated rows: of the published ones, 7 in 10 are repeated.

    A repeated row would be trained on and tested on at the same time.
    """
    frame = pd.read_parquet(own_file("kddcup99_10_percent.parquet")).drop_duplicates()
    attack = frame.pop("label").astype("string").str.rstrip(".")
    kinds = [name for kind in (rare, *common) for name in ATTACKS[kind]]
    kept = attack.isin(kinds)
    frame = frame[kept]
    return labelled(frame, attack[kept].isin(ATTACKS[rare]))


def frauds(n_rows: int, n_frauds: int) -> Data:
    X, y = make_fraud(n_rows, n_frauds, random_state=0)
    return _generated(X, y)


def checkerboard(n_rare: int, n_common: int) -> Data:
    X, y = make_checkerboard(n_rare, n_common, random_state=0)
    return _generated(X, y)


def _generated(X: np.ndarray, y: np.ndarray) -> Data:
    return labelled(pd.DataFrame(X).add_prefix("x"), pd.Series(y == 1))


OWN_FILES = [
    Table("credit-fraud", "ULB", credit_fraud),
    Table("credit-fraud-by-time", "ULB", credit_fraud_by_time, "time"),
    Table("kddcup-r2l", "KDD Cup 99, 10%", partial(kddcup, "R2L", "DOS", "normal")),
    Table("kddcup-u2r", "KDD Cup 99, 10%", partial(kddcup, "U2R", "normal")),
]
GENERATED = [
    *(
        Table(f"make-fraud-{(n_rows - n_rare) // n_rare}", "generated", partial(frauds, n_rows, n_rare))
        for n_rows, n_rare in [(20_200, 200), (100_200, 200), (100_050, 50)]
    ),
    *(
        Table(f"checkerboard-{n_common // n_rare}", "generated", partial(checkerboard, n_rare, n_common))
        for n_rare, n_common in [(500, 10_000), (100, 10_000), (100, 50_000)]
    ),
]


def all_tables() -> dict[str, Table]:
    """Tables by name, small sources first."""
    return {
        table.name: table for table in [*keel_tables(), *packaged_tables(), *GENERATED, *OWN_FILES, *ORDERED_TABLES]
    }
