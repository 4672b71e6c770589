"""Claim: an ensemble finds wrong labels among the rows it was trained on.

    python benchmarks/suspects.py [--repeats 2] [--only make_fraud]

Labels are flipped, a model is trained on all rows with the flipped labels, and as many suspects are asked for as labels
were flipped. Measured: the share of flipped rows among the suspects, which is precision and recall at once, and the
average precision of the whole ranking. Two kinds of mistakes: 1% of all labels at random, which with rare frauds makes
most "frauds" false; and a tenth of the frauds with as many honest rows.

Compared with chance, with plain disagreement (the label against the same ensemble's probability of a row it was trained
on), with the same after calibration, and with scores of LightGBM on all rows, cross-fitted in five folds: ranked by the
probability of the label, and with the rows that cleanlab's find_label_issues names put first, if it is installed. The
real data are read from the folder that the environment variable SELFPACED_DATA names.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec
from statistics import mean
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.tree import DecisionTreeClassifier

from accuracy import read_credit_fraud
from record import save, significant, versions_of
from selfpaced.datasets import make_fraud
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from sets import asked_for
from text_table import text_table

Data = tuple[NDArray[Any], NDArray[Any]]
Doubts = NDArray[np.float64]
PACKAGES = ("selfpaced", "scikit-learn", "lightgbm", "numpy")

SETS: dict[str, Callable[[], Data]] = {
    "Credit Fraud": read_credit_fraud,
    "make_fraud, 1:200": lambda: make_fraud(100_000, 500, random_state=0),
}
BASES = {
    "whole trees": DecisionTreeClassifier(),
    "trees with leaves of 20": DecisionTreeClassifier(min_samples_leaf=20),
}


def one_percent(y: NDArray[Any], rng: np.random.Generator) -> NDArray[np.intp]:
    return rng.choice(y.size, y.size // 100, replace=False)


def a_tenth_of_the_frauds(y: NDArray[Any], rng: np.random.Generator) -> NDArray[np.intp]:
    n = int(y.sum()) // 10
    return np.concatenate([rng.choice(np.flatnonzero(y == label), n, replace=False) for label in (0, 1)])


MISTAKES = {"1% of all labels": one_percent, "10% of the frauds, as many others": a_tenth_of_the_frauds}


def doubts_of(model: Any, X: NDArray[Any], y: NDArray[Any]) -> Doubts:
    """One minus the probability of the label."""
    doubts: Doubts = 1 - model.predict_proba(X)[np.arange(y.size), y.astype(np.intp)]
    return doubts


def honest(model: Any, X: NDArray[Any], y: NDArray[Any]) -> Doubts:
    found = model.suspects(X, y, n=y.size, trained_on=True)
    doubts = np.empty(y.size)
    doubts[found.rows] = found.doubts
    return doubts


def by_turns(doubts: Doubts, y: NDArray[Any]) -> Doubts:
    """The most doubted row of each label, then the second of each, and so on."""
    ranks = np.empty(y.size)
    for label in (0, 1):
        rows = np.flatnonzero(y == label)
        ranks[rows[np.argsort(-doubts[rows], kind="stable")]] = np.arange(rows.size)
    return -ranks


def with_ensembles(X: NDArray[Any], y: NDArray[Any], seed: int) -> dict[str, tuple[Doubts, float]]:
    answers: dict[str, tuple[Doubts, float]] = {}
    for name, base in BASES.items():
        for calibration in (None, "isotonic"):
            begin = time.perf_counter()
            model = SelfPacedEnsembleClassifier(base, random_state=seed, n_jobs=-1, calibration=calibration).fit(X, y)
            fitted = time.perf_counter() - begin
            said = "" if calibration is None else ", calibrated"
            answers[f"plain disagreement, SPE of {name}{said}"] = doubts_of(model, X, y), fitted
            doubts, seconds = honest(model, X, y), time.perf_counter() - begin
            answers[f"suspects, SPE of {name}{said}"] = doubts, seconds
            answers[f"suspects of each label, SPE of {name}{said}"] = by_turns(doubts, y), seconds
    return answers


def with_all_rows(X: NDArray[Any], y: NDArray[Any], seed: int) -> dict[str, tuple[Doubts, float]]:
    begin = time.perf_counter()
    labels = y.astype(np.intp)
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    model = LGBMClassifier(verbose=-1, n_jobs=2, random_state=seed)
    probabilities = cross_val_predict(model, X, labels, cv=folds, method="predict_proba")
    own = probabilities[np.arange(y.size), labels]
    answers = {"LightGBM on all rows, 5 folds": (1 - own, time.perf_counter() - begin)}
    if find_spec("cleanlab"):
        from cleanlab.filter import find_label_issues

        is_issue = find_label_issues(labels, probabilities, n_jobs=1)
        answers["the same, cleanlab's issues first"] = (is_issue + 1 - own, time.perf_counter() - begin)
    return answers


def try_all(data: Data, mistakes: Callable[..., NDArray[np.intp]], n_repeats: int) -> dict[str, list[dict[str, float]]]:
    X, truth = data
    trials: dict[str, list[dict[str, float]]] = {}
    for seed in range(n_repeats):
        flipped = mistakes(truth, np.random.default_rng(seed))
        y = truth.copy()
        y[flipped] = 1 - y[flipped]
        is_flipped = np.isin(np.arange(y.size), flipped)
        answers = {"chance": (np.random.default_rng(seed).random(y.size), 0.0)}
        answers |= with_ensembles(X, y, seed) | with_all_rows(X, y, seed)
        for name, (doubts, seconds) in answers.items():
            chosen = np.argsort(-doubts, kind="stable")[: flipped.size]
            trials.setdefault(name, []).append(
                {
                    "found": float(is_flipped[chosen].mean()),
                    "average_precision": float(average_precision_score(is_flipped, doubts)),
                    "seconds": seconds,
                }
            )
    return trials


def summary(trials: list[dict[str, float]]) -> dict[str, float]:
    return {name: significant(mean(trial[name] for trial in trials), 3) for name in trials[0]}


def as_table(summaries: dict[str, dict[str, float]]) -> str:
    rows = [
        [name, f"{facts['found']:.3f}", f"{facts['average_precision']:.3f}", f"{facts['seconds']:.1f}"]
        for name, facts in summaries.items()
    ]
    return text_table(["way", "flipped among suspects", "average precision", "seconds"], rows)


def main() -> None:
    chosen, n_repeats = asked_for(__doc__, SETS, "repeats", 2)
    result: dict[str, Any] = {}
    for name, load in chosen.items():
        X, y = load()
        for said, mistakes in MISTAKES.items():
            trials = try_all((X, y.astype(np.int64)), mistakes, n_repeats)
            result[f"{name}; {said}"] = {way: summary(each) for way, each in trials.items()}
            n_flipped = mistakes(y.astype(np.int64), np.random.default_rng(0)).size
            print(f"\n{name}, {y.size:,} rows, {int(y.sum()):,} frauds; {said}: {n_flipped:,} flipped")
            print(as_table(result[f"{name}; {said}"]), flush=True)
    if chosen == SETS:
        packages = (*PACKAGES, *(["cleanlab"] if find_spec("cleanlab") else []))
        print(save("suspects", {"parameters": {"repeats": n_repeats}, "sets": result}, versions_of(packages)))


if __name__ == "__main__":
    main()
