"""Question: do recipes that are blended for money saved, or for alerts of a budget, save more than those for AUCPRC?

    python benchmarks/goals.py [--splits 8]

Three recipes are cross-fitted on the training rows (three folds). Every blend of their log-odds on a grid of weights is
judged by these scores alone: by AUCPRC, by the money that it saves with the decision p * amount > 5 after an isotonic
calibration, and by the recall of the best rows. The recipes are then trained on all training rows, and the three chosen
blends are compared on test rows, over random splits, as differences to the blend for AUCPRC. Common rows are thinned so
that a run takes minutes; the calibration is fitted to the thinned rows. The data is read from the folder that the
environment variable SELFPACED_DATA names.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression
from sklearn.model_selection import StratifiedKFold, train_test_split

from record import save, significant, versions_of
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.ensembles.auto import base_model, columns_of
from selfpaced.metrics import aucprc
from text_table import text_table

PACKAGES = ("selfpaced", "scikit-learn", "lightgbm", "numpy", "scipy")
N_COMMON, N_RARE, N_FOLDS, ALERT = 10_000, 400, 3, 5.0
TABLES = {"credit_fraud": ("Class", "Amount"), "paysim_simulated": ("isFraud", "amount_cents")}
UNITS = {"amount_cents": 100}  # in one unit of money
STEPS = 4  # weights are multiples of a quarter
WEIGHTS = [np.array(each) / STEPS for each in product(range(STEPS + 1), repeat=3) if sum(each) == STEPS]

Floats = NDArray[np.float64]


@cache
def table(name: str) -> Any:
    return pd.read_parquet(Path(os.environ.get("SELFPACED_DATA", "../shared/data")) / f"{name}.parquet")


def read(name: str, seed: int) -> tuple[Any, NDArray[np.bool_], Floats]:
    """The features, the labels and the amounts of a thinned table."""
    target, amount = TABLES[name]
    frame = table(name)
    is_rare = frame[target].to_numpy() == 1
    rng = np.random.default_rng(seed)
    some = [
        rng.choice(np.flatnonzero(of), min(most, of.sum()), replace=False)
        for of, most in ((is_rare, N_RARE), (~is_rare, N_COMMON))
    ]
    rows = np.sort(np.concatenate(some))
    X = frame.drop(columns=[target]).select_dtypes("number").iloc[rows].reset_index(drop=True)
    return X, is_rare[rows], frame[amount].to_numpy(dtype=np.float64)[rows] / UNITS.get(amount, 1)


def recipes(X: Any, seed: int) -> list[Any]:
    columns = columns_of(X, None)
    kinds: list[tuple[str, dict[str, Any]]] = [("lightgbm", {}), ("extra_trees", {"ratio": 10}), ("logistic", {})]
    return [SelfPacedEnsembleClassifier(base_model(kind, columns), 5, random_state=seed, **how) for kind, how in kinds]


def log_odds(model: Any, X: Any) -> Floats:
    found: Floats = logit(np.clip(model.predict_proba(X)[:, 1], 1e-6, 1 - 1e-6))
    return found


def cross_fitted(X: Any, y: NDArray[np.bool_], seed: int) -> Floats:
    found = np.empty((y.size, 3))
    for train, test in StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed).split(X, y):
        for number, recipe in enumerate(recipes(X, seed)):
            found[test, number] = log_odds(recipe.fit(X.iloc[train], y[train]), X.iloc[test])
    return found


def saved(y: NDArray[np.bool_], probabilities: Floats, amounts: Floats) -> float:
    """The share of all amounts of rare rows that decisions row by row save, after the cost of the alerts."""
    alerts = probabilities * amounts > ALERT
    return float((amounts[alerts & y].sum() - ALERT * alerts.sum()) / amounts[y].sum())


def found_by_best(y: NDArray[np.bool_], scores: Floats) -> float:
    """The recall of as many of the best rows as there are rare rows."""
    best = np.argsort(-scores)[: int(y.sum())]
    return float(y[best].sum() / y.sum())


def calibrated(scores: Floats, y: NDArray[np.bool_]) -> Any:
    return IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(expit(scores), y)


def split_results(name: str, seed: int) -> dict[str, dict[str, float]]:
    X, y, amounts = read(name, seed)
    train, test = train_test_split(np.arange(y.size), test_size=0.4, stratify=y, random_state=seed)
    honest = cross_fitted(X.iloc[train], y[train], seed)
    final = np.stack([log_odds(one.fit(X.iloc[train], y[train]), X.iloc[test]) for one in recipes(X, seed)], axis=1)
    standard = honest.std(axis=0)  # so that a weight means the same for every recipe
    honest, final = honest / standard, final / standard

    def money(scores: Floats) -> float:
        halves = np.arange(scores.size) % 2 == 0  # each half is calibrated by the other
        probabilities = np.empty(scores.size)
        for half in (halves, ~halves):
            probabilities[half] = calibrated(scores[~half], y[train][~half]).predict(expit(scores[half]))
        return saved(y[train], probabilities, amounts[train])

    goals: dict[str, Callable[[Floats], float]] = {
        "aucprc": lambda scores: aucprc(y[train], scores),
        "cost": money,
        "recall@budget": lambda scores: found_by_best(y[train], scores),
    }
    results = {}
    for goal, value in goals.items():
        weights = max(WEIGHTS, key=lambda each: value(honest @ each))
        scores = final @ weights
        probabilities = calibrated(honest @ weights, y[train]).predict(expit(scores))
        results[goal] = {
            "aucprc": aucprc(y[test], scores),
            "cost": saved(y[test], probabilities, amounts[test]),
            "recall@budget": found_by_best(y[test], scores),
        }
    return results


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--splits", type=int, default=8)
    n_splits = options.parse_args().splits
    warnings.simplefilter("ignore")
    rows = []
    for name in TABLES:
        results = [split_results(name, seed) for seed in range(n_splits)]
        for goal in ("cost", "recall@budget"):
            reached, by_aucprc = (np.array([each[by][goal] for each in results]) for by in (goal, "aucprc"))
            gain = reached - by_aucprc
            reach = 1.645 * gain.std(ddof=1) / np.sqrt(n_splits)
            figures = [reached.mean(), by_aucprc.mean(), gain.mean(), gain.mean() - reach, gain.mean() + reach]
            names = ("reached", "by_aucprc", "gain", "low", "high")
            rows.append({"table": name, "goal": goal, **dict(zip(names, map(significant, figures), strict=True))})
            print(rows[-1], flush=True)
    print(text_table(list(rows[0]), [[str(value) for value in row.values()] for row in rows], words=2))
    print(save("goals", {"splits": n_splits, "goals": rows}, versions_of(PACKAGES)))


if __name__ == "__main__":
    main()
