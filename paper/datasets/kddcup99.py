"""KDD Cup 1999: connections to a simulated military network, told apart by the kind of attack."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import fetch_kddcup99

from paper.datasets.dataset import Dataset, Features, Labels, Statistics
from paper.datasets.folder import find

SOURCE = "the UCI repository (KDD Cup 1999 Data)"
CATEGORIES = ["protocol_type", "service", "flag"]
COLUMNS = [
    "duration",
    "protocol_type",
    "service",
    "flag",
    "src_bytes",
    "dst_bytes",
    "land",
    "wrong_fragment",
    "urgent",
    "hot",
    "num_failed_logins",
    "logged_in",
    "num_compromised",
    "root_shell",
    "su_attempted",
    "num_root",
    "num_file_creations",
    "num_shells",
    "num_access_files",
    "num_outbound_cmds",
    "is_host_login",
    "is_guest_login",
    "count",
    "srv_count",
    "serror_rate",
    "srv_serror_rate",
    "rerror_rate",
    "srv_rerror_rate",
    "same_srv_rate",
    "diff_srv_rate",
    "srv_diff_host_rate",
    "dst_host_count",
    "dst_host_srv_count",
    "dst_host_same_srv_rate",
    "dst_host_diff_srv_rate",
    "dst_host_same_src_port_rate",
    "dst_host_srv_diff_host_rate",
    "dst_host_serror_rate",
    "dst_host_srv_serror_rate",
    "dst_host_rerror_rate",
    "dst_host_srv_rerror_rate",
    "label",
]

ATTACKS = {
    "DOS": ["back", "land", "neptune", "pod", "smurf", "teardrop"],
    "PRB": ["ipsweep", "nmap", "portsweep", "satan"],
    "R2L": ["ftp_write", "guess_passwd", "imap", "multihop", "phf", "spy", "warezclient", "warezmaster"],
}


@dataclass(frozen=True)
class Edition:
    """One of the two published training files."""

    files: list[str]
    percent10: bool
    counts: dict[str, int]  # rows of each kind of attack

    def statistics(self, rare: str) -> Statistics:
        return Statistics(self.counts["DOS"] + self.counts[rare], self.counts[rare])


FULL = Edition(["kddcup.data", "kddcup.data.gz"], False, {"DOS": 3_883_370, "PRB": 41_102, "R2L": 1126})
TEN_PERCENT = Edition(
    ["kddcup99_10_percent.parquet", "kddcup.data_10_percent", "kddcup.data_10_percent.gz"],
    True,
    {"DOS": 391_458, "PRB": 4107, "R2L": 1126},
)


def load(folder: Path, edition: Edition, rare: str) -> tuple[Features, Labels]:
    """The DOS attacks against the rare kind, "PRB" or "R2L": all 41 features as published, constant ones too.

    The three categories become whole numbers in the sorted order of their names. No order is meant: trees can isolate
    a number in a few splits, but distances and linear models should not be used on them.
    """
    frame = _read(folder, edition)
    for column in CATEGORIES:
        frame[column] = _numbered(frame[column])
    attack = frame.pop("label").astype(str).str.rstrip(".")
    is_rare = attack.isin(ATTACKS[rare]).to_numpy()
    taken = is_rare | attack.isin(ATTACKS["DOS"]).to_numpy()
    return frame[taken].to_numpy(np.float32), is_rare[taken].astype(np.int8)


def _numbered(names: pd.Series) -> pd.Series:
    return names.map({name: number for number, name in enumerate(sorted(names.unique()))}).astype(np.float32)


def _read(folder: Path, edition: Edition) -> pd.DataFrame:
    try:
        path = find(folder, edition.files, SOURCE)
    except FileNotFoundError as not_here:
        return _fetch(edition, not_here)
    return pd.read_parquet(path) if path.suffix == ".parquet" else _read_csv(path)


def _read_csv(path: Path) -> pd.DataFrame:
    # Names kept once each and 32 bits a number: the full file's 4.9 million rows need less than half the memory.
    kinds = {column: "category" if column in [*CATEGORIES, "label"] else np.float32 for column in COLUMNS}
    return pd.read_csv(path, header=None, names=COLUMNS, dtype=kinds, index_col=False)


def _fetch(edition: Edition, not_here: FileNotFoundError) -> pd.DataFrame:
    try:
        frame = fetch_kddcup99(percent10=edition.percent10, as_frame=True).frame
    except OSError as no_network:
        raise FileNotFoundError(
            f"{not_here} scikit-learn's fetch_kddcup99 could not get it either: {no_network}"
        ) from no_network
    frame = frame.set_axis(COLUMNS, axis="columns")
    texts = {column: frame[column].map(_text) for column in [*CATEGORIES, "label"]}
    return frame.assign(**texts)


def _text(name: str | bytes) -> str:
    return name.decode() if isinstance(name, bytes) else name


def _loader(edition: Edition, rare: str) -> Callable[[Path], tuple[Features, Labels]]:
    return partial(load, edition=edition, rare=rare)


def _full(rare: str) -> Dataset:
    name, title = f"kddcup-dos-{rare.lower()}", f"KDDCUP (DOS vs. {rare})"
    return Dataset(name, title, _loader(FULL, rare), FULL.statistics(rare), files=tuple(FULL.files))


def _ten_percent(rare: str) -> Dataset:
    whole, here = _full(rare), TEN_PERCENT.statistics(rare)
    differs = (
        f"This is the official 10% file, with {here.n_rows:,} rows at {here.imbalance_ratio:.2f}:1. The paper has the "
        f"full file, with {FULL.statistics(rare).n_rows:,} at {FULL.statistics(rare).imbalance_ratio:.2f}:1."
    )
    return Dataset(
        f"{whole.name}-10%",
        f"{whole.title}, 10% file",
        _loader(TEN_PERCENT, rare),
        here,
        files=tuple(TEN_PERCENT.files),
        stands_for=whole.name,
        differs=differs,
    )


KDDCUP_DOS_PRB, KDDCUP_DOS_R2L = _full("PRB"), _full("R2L")
KDDCUP_DOS_PRB_10, KDDCUP_DOS_R2L_10 = _ten_percent("PRB"), _ten_percent("R2L")
