"""Claim: stopping early saves members, not quality: what an eval_set chooses is seldom better than a fixed number.

    python benchmarks/stopping.py [--splits 10] [--only fraud]

The pacing of SPE depends on the number of members n: `alpha = tan(i * pi / 2n)`. A fit of 50 that stops at 12 keeps the
first, gentler rounds of the schedule of 50; a fit of 12 goes through a whole schedule. Both are measured, beside fixed
numbers of members, on random stratified splits in 60% to train on, 20% to stop by and 20% to test on: AUCPRC on the
test rows, members kept, seconds of the fit as a share of those of the 50, and how far the score on the rows to
stop by is above the one on the test rows: what the choice of a round promises too much. Credit Fraud is read from
`credit_fraud.parquet` in the folder that the environment variable SELFPACED_DATA names.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import mean, median, stdev
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier
from sklearn.metrics import average_precision_score
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from accuracy import Features, Labels, read_credit_fraud
from record import save, significant, versions_of
from selfpaced.callbacks import Callback, EarlyStopping, FitPlan, Round
from selfpaced.datasets import make_checkerboard, make_fraud
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from text_table import text_table

Rows = tuple[Features, Labels]

MOST_MEMBERS = 50
PATIENCE = (5, 10)
LONGEST = f"n = {MOST_MEMBERS}"
ON_ALL = f"{LONGEST}, trained on the 80%"
PACKAGES = ("selfpaced", "scikit-learn", "lightgbm", "numpy")
DATA: dict[str, Callable[[], Rows]] = {
    "Credit Fraud": read_credit_fraud,
    "checkerboard": lambda: make_checkerboard(random_state=0),
    "generated frauds": lambda: make_fraud(random_state=0),
}
BASES = {
    "tree of depth 10": DecisionTreeClassifier(max_depth=10),
    "LightGBM 10 rounds": LGBMClassifier(n_estimators=10, verbose=-1),
}


@dataclass(frozen=True)
class Split:
    """Rows to train on, to stop by and to test on, each as features and labels."""

    train: Rows
    stop: Rows
    test: Rows

    @property
    def train_and_stop(self) -> Rows:
        return np.vstack([self.train[0], self.stop[0]]), np.concatenate([self.train[1], self.stop[1]])


@dataclass(frozen=True)
class Fitted:
    """A model and how long it took to come by it."""

    model: Any
    seconds: float


@dataclass(frozen=True)
class Trial:
    """One way on one split. `promised` is the score on the rows to stop by, if they were not trained on."""

    aucprc: float
    promised: float
    members: int
    seconds: float


class Clock(Callback):
    """Seconds from the beginning of the fit to the end of each round."""

    def on_fit_begin(self, plan: FitPlan) -> None:
        self.plan = plan
        self.begin = time.perf_counter()
        self.seconds: dict[int, float] = {}

    def on_round_end(self, round: Round) -> None:
        self.seconds[round.number] = time.perf_counter() - self.begin


def spe(base: Any, n_members: int, seed: int, rows: Rows, eval_set: Rows | None = None) -> Fitted:
    model = SelfPacedEnsembleClassifier(base, n_members, n_jobs=-1, random_state=seed, callbacks=Clock())
    model.fit(*rows, eval_set=eval_set)
    return Fitted(model, model.callbacks.seconds[n_members])


def stopped(whole: Fitted, patience: int) -> Fitted:
    """What early stopping would have left of a fit, which would have gone the same way up to there."""
    stopping = EarlyStopping(patience)
    stopping.on_fit_begin(whole.model.callbacks.plan)
    for note in whole.model.rounds_:
        stop = stopping.on_round_end(note)
        if stop is not None:
            break
    kept = whole.model.with_model(whole.model.model_.first(stopping.best_round_))
    return Fitted(kept, whole.model.callbacks.seconds[note.number])


def all_ways(base: Any, split: Split, seed: int) -> Iterator[tuple[str, Fitted]]:
    """Every way to a model. All fits on the 60% score the rows to stop by, so that their seconds compare."""
    for n_members in (10, 20):
        yield f"n = {n_members}", spe(base, n_members, seed, split.train, split.stop)
    whole = spe(base, MOST_MEMBERS, seed, split.train, split.stop)
    yield LONGEST, whole
    for patience in PATIENCE:
        found = stopped(whole, patience)
        yield f"stopped, patience {patience}", found
        again = spe(base, len(found.model.estimators_), seed, split.train)
        yield f"refitted, patience {patience}", Fitted(again.model, found.seconds + again.seconds)
    yield ON_ALL, spe(base, MOST_MEMBERS, seed, split.train_and_stop)


def split_by(seed: int, X: Features, y: Labels) -> Split:
    X_train, X_rest, y_train, y_rest = train_test_split(X, y, test_size=0.4, stratify=y, random_state=seed)
    X_stop, X_test, y_stop, y_test = train_test_split(X_rest, y_rest, test_size=0.5, stratify=y_rest, random_state=seed)
    return Split((X_train, y_train), (X_stop, y_stop), (X_test, y_test))


def aucprc(model: Any, rows: Rows) -> float:
    return float(average_precision_score(rows[1], model.predict_proba(rows[0])[:, 1]))


def try_all(base: Any, X: Features, y: Labels, n_splits: int) -> dict[str, list[Trial]]:
    """Ways take turns within a split, so that a busy minute of the machine does not hit one of them alone."""
    trials: dict[str, list[Trial]] = defaultdict(list)
    for seed in range(n_splits):
        split = split_by(seed, X, y)
        for name, found in all_ways(base, split, seed):
            promised = np.nan if name == ON_ALL else aucprc(found.model, split.stop)
            trial = Trial(aucprc(found.model, split.test), promised, len(found.model.estimators_), found.seconds)
            trials[name].append(trial)
    return trials


def summary(trials: list[Trial], longest: list[Trial]) -> dict[str, Any]:
    """Scores as they are and against the longest fit on the same split, of which the splits' own luck is taken off."""
    scores = [trial.aucprc for trial in trials]
    gains = [trial.aucprc - other.aucprc for trial, other in zip(trials, longest, strict=True)]
    promises = [trial.promised - trial.aucprc for trial in trials]
    facts = {
        "aucprc_mean": mean(scores),
        "aucprc_sd": spread_of(scores),
        "gain_mean": mean(gains),
        "gain_sd": spread_of(gains),
        "promised_too_much": mean(promises),
        "members_median": median(trial.members for trial in trials),
        "seconds_of_longest": median(a.seconds / b.seconds for a, b in zip(trials, longest, strict=True)),
    }
    return {name: significant(value, 3) for name, value in facts.items() if not np.isnan(value)} | {
        "members": [trial.members for trial in trials],
        "aucprc": [significant(score) for score in scores],
    }


def spread_of(values: list[float]) -> float:
    return stdev(values) if len(values) > 1 else 0.0


def as_table(summaries: dict[str, dict[str, Any]]) -> str:
    rows = [
        [
            name,
            f"{facts['aucprc_mean']:.3f}",
            f"{facts['aucprc_sd']:.3f}",
            f"{facts['gain_mean']:+.4f}",
            f"{facts['gain_sd']:.4f}",
            f"{facts['promised_too_much']:+.3f}" if "promised_too_much" in facts else "",
            f"{facts['members_median']:g}",
            f"{facts['seconds_of_longest']:.2f}",
        ]
        for name, facts in summaries.items()
    ]
    return text_table(["way", "AUCPRC", "sd", f"against {LONGEST}", "sd", "promised", "members", "time"], rows)


def measured(chosen: dict[str, Any], n_splits: int) -> Iterator[tuple[str, dict[str, Any]]]:
    for data, read in chosen.items():
        X, y = read()
        for kind, base in BASES.items():
            trials = try_all(base, X, y, n_splits)
            summaries = {way: summary(some, trials[LONGEST]) for way, some in trials.items()}
            print(f"\n{data}, {kind}: {y.size:,} rows, {y.sum()} rare, {n_splits} splits\n{as_table(summaries)}")
            yield f"{data}, {kind}", summaries


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--only", default="", metavar="TEXT", help="data whose name contains this; saves nothing")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    chosen = {name: read for name, read in DATA.items() if options.only.lower() in name.lower()}
    results = dict(measured(chosen, options.splits))
    if chosen == DATA:
        parameters = {"splits": options.splits, "most_members": MOST_MEMBERS}
        print(save("stopping", {"parameters": parameters, "results": results}, versions_of(PACKAGES)))


if __name__ == "__main__":
    main()
