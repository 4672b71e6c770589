"""Claim: words need no encoder where the base model knows categories, and an ordinal one elsewhere.

    python benchmarks/encoding.py [--data FOLDER] [--runs 3] [--common 100000]

KDD Cup 99 (10%), two tasks of the paper, DOS against PRB and against R2L, with all rows of the rare class and some of
the common one: 38 columns of numbers and 3 of words, up to 66 different ones. The members of Self-paced Ensemble read
the words in several ways; seconds are of fit and prediction, AUCPRC is on 30% of the rows. skrub is tried if it
is installed: pip install skrub
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from record import save, significant, versions_of
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.metrics import aucprc
from text_table import text_table

PACKAGES = ("selfpaced", "scikit-learn", "lightgbm", "pandas")
DEFAULT_DATA = Path(__file__).parents[2] / "shared" / "data"
PROBES = ("ipsweep", "nmap", "portsweep", "satan")
INTRUSIONS = ("ftp_write", "guess_passwd", "imap", "multihop", "phf", "spy", "warezclient", "warezmaster")
FLOODS = ("back", "land", "neptune", "pod", "smurf", "teardrop")
MODELS = {"tree": DecisionTreeClassifier(max_depth=10), "lightgbm": LGBMClassifier(n_estimators=50, verbose=-1)}


def ordinal() -> Any:
    return OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2)


def one_hot() -> Any:
    return OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=100, sparse_output=False)


def of_words(encoder: Any) -> Any:
    return make_column_transformer((encoder, make_column_selector(dtype_include="category")), remainder="passthrough")


def encoders(model: str) -> dict[str, Callable[[], Any] | None]:
    """Each way to read words; None is the model's own."""
    known: dict[str, Callable[[], Any] | None] = {
        "ordinal": lambda: of_words(ordinal()),
        "one-hot": lambda: of_words(one_hot()),
    }
    if model == "lightgbm":
        known = {"its own": None} | known
    try:
        from skrub import TableVectorizer
    except ImportError:
        return known
    return known | {"skrub's TableVectorizer": TableVectorizer}


def tasks(folder: Path, n_common: int) -> dict[str, tuple[pd.DataFrame, Any]]:
    rows = pd.read_parquet(folder / "kddcup99_10_percent.parquet")
    label = rows.columns[-1]
    attack = rows[label].astype(str).str.strip(".").str.removeprefix("b'").str.strip("'.")
    words = rows.select_dtypes(exclude="number").columns.drop(label, errors="ignore")
    features = rows.drop(columns=label).astype(dict.fromkeys(words, "category"))
    found = {}
    for name, rare in (("DOS-PRB", PROBES), ("DOS-R2L", INTRUSIONS)):
        common = attack.isin(FLOODS)
        some = common[common].sample(min(n_common, int(common.sum())), random_state=0).index
        chosen = attack.isin(rare) | attack.index.isin(some)
        found[name] = features[chosen], attack[chosen].isin(rare).to_numpy()
    return found


def measured(model: Any, encoder: Callable[[], Any] | None, X: pd.DataFrame, y: Any, run: int) -> tuple[float, float]:
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=run)
    base = clone(model) if encoder is None else make_pipeline(encoder(), clone(model))
    ensemble = SelfPacedEnsembleClassifier(base, random_state=run)
    begin = time.perf_counter()
    scores = ensemble.fit(X_train, y_train).predict_proba(X_test)[:, 1]
    return aucprc(y_test, scores), time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("SELFPACED_DATA", DEFAULT_DATA)))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--common", type=int, default=100_000)
    options = parser.parse_args()
    results = []
    for task, (X, y) in tasks(options.data, options.common).items():
        for name, model in MODELS.items():
            for way, encoder in encoders(name).items():
                runs = [measured(model, encoder, X, y, run) for run in range(options.runs)]
                scores, seconds = zip(*runs, strict=True)
                spread = stdev(scores) if len(scores) > 1 else float("nan")
                facts = {"aucprc": mean(scores), "sd": spread, "seconds": mean(seconds)}
                numbers = {key: significant(value) for key, value in facts.items()}
                results.append(
                    {"task": task, "rare": int(np.sum(y)), "rows": len(y), "members": name, "words": way, **numbers}
                )
                print(f"{task}, {name}, {way}: AUCPRC {facts['aucprc']:.4f}, {facts['seconds']:.1f} s", flush=True)
    lines = [
        [one["task"], one["members"], one["words"], f"{one['aucprc']:.4f}", f"{one['sd']:.4f}", f"{one['seconds']:.1f}"]
        for one in results
    ]
    print(text_table(["task", "members", "words", "AUCPRC", "sd", "seconds"], lines, words=3))
    print(save("encoding", {"runs": options.runs, "results": results}, versions_of(PACKAGES)))


if __name__ == "__main__":
    main()
