"""Claim: on Credit Fraud, SPE ranks frauds better than what users take instead, from a few hundred rows a member.

    python benchmarks/accuracy.py [--splits 5] [--only SPE]

Measured: AUCPRC on 30% of the rows after training on 70%, over random stratified splits. The data is read from
`credit_fraud.parquet` in the folder that the environment variable SELFPACED_DATA names.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

import numpy as np
import pandas as pd
from imblearn.ensemble import BalancedRandomForestClassifier
from lightgbm import LGBMClassifier
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.tree import DecisionTreeClassifier

from record import save, significant, versions_of
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from text_table import text_table

Features = NDArray[np.float64]
Labels = NDArray[np.int8]

DEFAULT_DATA = Path(__file__).parent.parent.parent / "shared" / "data"
FILE = "credit_fraud.parquet"
PACKAGES = ("selfpaced", "scikit-learn", "lightgbm", "imbalanced-learn", "numpy")


@dataclass(frozen=True)
class RowsUsed:
    """Rows trained on: by one member, and by all models of the fit together."""

    per_member: int
    total: int


@dataclass(frozen=True)
class Method:
    """A classifier for a seed, and how to count the rows it was trained on."""

    make: Callable[[int], Any]
    rows_used: Callable[[Any, Labels], RowsUsed]


def rows_of_rounds(model: Any, y: Labels) -> RowsUsed:
    # The warm-up model is not a member, but its rows were trained on.
    counts = [note.n_rows for note in model.rounds_]
    return RowsUsed(max(counts), sum(counts))


def all_rows(model: Any, y: Labels) -> RowsUsed:
    return RowsUsed(y.size, y.size)


def all_rows_in_each_tree(model: Any, y: Labels) -> RowsUsed:
    return RowsUsed(y.size, y.size * len(model.estimators_))


def balanced_rows_in_each_tree(model: Any, y: Labels) -> RowsUsed:
    balanced = 2 * int(y.sum())
    return RowsUsed(balanced, balanced * len(model.estimators_))


def spe(base: Any, **parameters: Any) -> Method:
    return Method(
        lambda seed: SelfPacedEnsembleClassifier(base, n_jobs=-1, random_state=seed, **parameters), rows_of_rounds
    )


def lightgbm(**parameters: Any) -> Method:
    return Method(lambda seed: LGBMClassifier(random_state=seed, verbose=-1, **parameters), all_rows)


def hist_gradient_boosting(**parameters: Any) -> Method:
    return Method(lambda seed: HistGradientBoostingClassifier(random_state=seed, **parameters), all_rows)


METHODS = {
    "SPE_10, LightGBM 10 rounds": spe(LGBMClassifier(n_estimators=10, verbose=-1)),
    "SPE_10, LightGBM 50 rounds": spe(LGBMClassifier(n_estimators=50, verbose=-1)),
    "SPE_10, tree of depth 10": spe(DecisionTreeClassifier(max_depth=10)),
    "under-bagging (n_bins=1), tree of depth 10": spe(DecisionTreeClassifier(max_depth=10), n_bins=1),
    "LightGBM 100 rounds": lightgbm(),
    "LightGBM 100 rounds, is_unbalance": lightgbm(is_unbalance=True),
    "LightGBM 300 rounds, learning rate 0.02": lightgbm(n_estimators=300, learning_rate=0.02),
    "HistGradientBoosting": hist_gradient_boosting(),
    "HistGradientBoosting, balanced": hist_gradient_boosting(class_weight="balanced"),
    "random forest, 100 trees": Method(
        lambda seed: RandomForestClassifier(n_jobs=-1, random_state=seed), all_rows_in_each_tree
    ),
    "balanced random forest, 100 trees": Method(
        lambda seed: BalancedRandomForestClassifier(n_jobs=-1, random_state=seed), balanced_rows_in_each_tree
    ),
}


@dataclass(frozen=True)
class Trial:
    """One method on one split."""

    aucprc: float
    fit_seconds: float
    rows: RowsUsed


def read_credit_fraud() -> tuple[Features, Labels]:
    path = Path(os.environ.get("SELFPACED_DATA", DEFAULT_DATA)) / FILE
    if not path.exists():
        print(f"{FILE} was not found. Set SELFPACED_DATA to the folder that holds it.", file=sys.stderr)
        sys.exit(2)
    table = pd.read_parquet(path)
    return table.drop(columns="Class").to_numpy(dtype=np.float64), table["Class"].to_numpy()


def try_method(method: Method, seed: int, X: Features, y: Labels, train: Any, test: Any) -> Trial:
    model = method.make(seed)
    X_train, y_train = X[train], y[train]
    begin = time.perf_counter()
    model.fit(X_train, y_train)
    seconds = time.perf_counter() - begin
    scores = model.predict_proba(X[test])[:, 1]
    return Trial(float(average_precision_score(y[test], scores)), seconds, method.rows_used(model, y_train))


def try_all(methods: dict[str, Method], X: Features, y: Labels, n_splits: int) -> dict[str, list[Trial]]:
    """Methods take turns within a split, so that a busy minute of the machine does not hit one of them alone."""
    trials: dict[str, list[Trial]] = {name: [] for name in methods}
    splits = StratifiedShuffleSplit(n_splits, test_size=0.3, random_state=0).split(X, y)
    for seed, (train, test) in enumerate(splits):
        for name, method in methods.items():
            trials[name].append(try_method(method, seed, X, y, train, test))
            print(f"split {seed}: {name}: {trials[name][-1].aucprc:.3f}", flush=True)
    return trials


def summary(trials: list[Trial]) -> dict[str, Any]:
    scores = [trial.aucprc for trial in trials]
    return {
        "aucprc_mean": significant(mean(scores)),
        "aucprc_sd": significant(stdev(scores) if len(scores) > 1 else 0.0),
        "aucprc": [significant(score) for score in scores],
        "fit_seconds_median": significant(median(trial.fit_seconds for trial in trials), 3),
        "rows_per_member": trials[0].rows.per_member,
        "rows_in_total": trials[0].rows.total,
    }


def as_table(summaries: dict[str, dict[str, Any]]) -> str:
    rows = [
        [
            name,
            f"{facts['aucprc_mean']:.3f}",
            f"{facts['aucprc_sd']:.3f}",
            f"{facts['fit_seconds_median']:.2f}",
            f"{facts['rows_per_member']:,}",
            f"{facts['rows_in_total']:,}",
        ]
        for name, facts in summaries.items()
    ]
    return text_table(["method", "AUCPRC", "sd", "fit s", "rows a member", "rows in total"], rows)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--only", default="", metavar="TEXT", help="methods whose name contains this; saves nothing")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    X, y = read_credit_fraud()
    chosen = {name: method for name, method in METHODS.items() if options.only.lower() in name.lower()}
    summaries = {name: summary(trials) for name, trials in try_all(chosen, X, y, options.splits).items()}
    parameters = {"rows": y.size, "frauds": int(y.sum()), "features": X.shape[1], "splits": options.splits}
    print(f"\nCredit Fraud, {y.size:,} rows, {y.sum()} frauds, {options.splits} splits 70/30\n{as_table(summaries)}")
    if chosen == METHODS:
        print(save("accuracy", {"parameters": parameters, "methods": summaries}, versions_of(PACKAGES)))


if __name__ == "__main__":
    main()
