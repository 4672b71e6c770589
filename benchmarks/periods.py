"""Claim: where rows change over time, recipes are judged and calibrated better by other periods than by random rows.

    python benchmarks/periods.py [--only campaigns] [--show]

The default blend is trained on the first 70% of the rows, with and without `times`, and measured on the last 30% by
AUCPRC, by the sum of the probabilities divided by the rare rows, and by how far the expected and the found rare rows of
six ranges of scores are apart, in all, as a share of the rare rows. The tables are those in the order of time of
`contest/ordered.py`, generated with other seeds than those of the field, and three that were published or simulated.
Every figure is saved in `benchmarks/results/periods.json` at once, and `--show` prints them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score

from contest import ordered
from contest.runner import by_score
from contest.splits import held_out_rows
from contest.table import Data
from contest.tables import all_tables
from record import recorded, save, versions_of
from selfpaced.ensembles.auto import AutoSelfPacedClassifier
from text_table import text_table

NAME = "periods"
PACKAGES = ("selfpaced", "scikit-learn", "lightgbm", "catboost", "numpy")
GENERATED = {"campaigns": ordered.campaigns, "drift": ordered.drift, "payments": ordered.payments}
PUBLISHED = ("credit-fraud-by-time", "paysim-by-time", "cards-history-by-time")
SEEDS = (1, 2, 3)


def tables() -> dict[str, Callable[[], Data]]:
    generated = {f"{name}, seed {seed}": partial(make, seed=seed) for name, make in GENERATED.items() for seed in SEEDS}
    return generated | {name: all_tables()[name].load for name in PUBLISHED}


def measured(data: Data, *, by_time: bool) -> dict[str, float]:
    is_test = held_out_rows(data, 0, "time")
    X, y, later = data.X[~is_test], data.y[~is_test], data.y[is_test]
    model = AutoSelfPacedClassifier(calibration="isotonic", random_state=0)
    begin = time.process_time()
    model.fit(X, y, times=np.arange(y.size) if by_time else None)
    seconds = time.process_time() - begin
    scores = model.predict_proba(data.X[is_test])[:, 1]
    wrong = sum(abs(expected - found) for expected, found in by_score(scores, later))
    return {
        "aucprc": round(float(average_precision_score(later, scores)), 4),
        "expected": round(float(scores.sum() / later.sum()), 3),
        "wrong": round(float(wrong / later.sum()), 2),
        "cpu": round(seconds, 1),
    }


def shown(found: dict[str, Any]) -> str:
    header = ["table", "AUCPRC", "by time", "expected", "by time", "wrong", "by time", "CPU s", "by time"]
    columns = [(figure, way) for figure in ("aucprc", "expected", "wrong", "cpu") for way in ("rows", "times")]
    rows = [[name, *(str(each[way][figure]) for figure, way in columns)] for name, each in found.items()]
    return text_table(header, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="tables whose names contain it")
    parser.add_argument("--show", action="store_true", help="print what was measured, and run nothing")
    options = parser.parse_args()
    found = recorded(NAME).get("tables", {})
    for name, load in tables().items():
        if options.only in name and not options.show:
            data = load()
            found[name] = {way: measured(data, by_time=way == "times") for way in ("rows", "times")}
            save(NAME, {"tables": found}, versions_of(PACKAGES))
            print(name, found[name], flush=True)
    print(shown(found))


if __name__ == "__main__":
    main()
