"""Claim: frames with categories are scored faster than by LightGBM itself, and one row in 0.3 milliseconds.

    python benchmarks/scoring.py [--rows 500000] [--repeats 3] [--only frame] [--leave-out auto]
    python benchmarks/scoring.py --rows 30000 --only blend      # a default blend: the second call, and single rows

A generated table (`payment_table.py`): 118 columns, 20 of them categories, a third of the values missing, 3.5% rare
rows. The ensemble has ten LightGBM members of 50 rounds, and uses all cores, as LightGBM does in what it is compared
with. Ratios count, not seconds: both sides of a ratio are measured in turn, and the median of the repeats is taken.
The cases "lightgbm" and "auto" are `selfpaced train` as a command, by its option --base; "auto", its default, compares
several kinds of members and takes much longer. A run with --only is not saved.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier
from sklearn.base import clone

from payment_table import payment_table
from record import save, significant, versions_of
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.ensembles.auto import AutoSelfPacedClassifier
from selfpaced.tables.sources import open_table
from text_table import text_table

PACKAGES = ("selfpaced", "lightgbm", "scikit-learn", "pandas", "pyarrow", "numpy")
N_MEMBERS, N_ROUNDS, N_ROUNDS_ALONE = 10, 50, 100
N_CALLS = 10_000
SHARE_TRAINED_ON = 0.7
N_ROWS_OF_BLEND = 20_000


@dataclass(frozen=True)
class Result:
    """A figure and the target that it should stay below, or above if `at_least`."""

    case: str
    title: str
    figure: float
    target: float
    at_least: bool = False

    @property
    def line(self) -> list[str]:
        sign = "at least" if self.at_least else "at most"
        is_met = self.figure >= self.target if self.at_least else self.figure <= self.target
        return [self.case, self.title, f"{self.figure:.3g}", f"{sign} {self.target:g}", "yes" if is_met else "NO"]


class Trial:
    """The table, the ensemble and LightGBM alone, trained once for all cases."""

    def __init__(self, n_rows: int, repeats: int) -> None:
        X, y = payment_table(n_rows)
        n_train = int(SHARE_TRAINED_ON * n_rows)
        self.whole = X, y
        self.X, self.y, self.X_test = X[:n_train], y[:n_train], X[n_train:]
        self.repeats = repeats
        self.base = LGBMClassifier(n_estimators=N_ROUNDS, verbose=-1)
        self.ensemble = SelfPacedEnsembleClassifier(self.base, N_MEMBERS, n_jobs=-1, random_state=0)
        self.model = clone(self.ensemble).fit(self.X, self.y)
        self.alone = LGBMClassifier(n_estimators=N_ROUNDS_ALONE, verbose=-1).fit(self.X, self.y)

    def in_turn(self, *functions: Callable[[], Any]) -> list[float]:
        """The median seconds of each function. They take turns, so that a busy minute hits all of them."""
        runs = [[_seconds(function) for function in functions] for _ in range(self.repeats)]
        return [median(column) for column in zip(*runs, strict=True)]


def _seconds(function: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin


def frame(trial: Trial) -> list[Result]:
    ours, theirs = trial.in_turn(
        lambda: trial.model.predict_proba(trial.X_test), lambda: trial.alone.predict_proba(trial.X_test)
    )
    per_tree = theirs / N_ROUNDS_ALONE / (ours / (N_MEMBERS * N_ROUNDS))
    return [Result("frame", "LightGBM's time per tree / ours", per_tree, 2, at_least=True)]


def file(trial: Trial) -> list[Result]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        trial.X_test.to_parquet(path)
        table = open_table(path)
        of_file, of_frame, reading = trial.in_turn(
            lambda: trial.model.predict_proba_table(path),
            lambda: trial.model.predict_proba(trial.X_test),
            lambda: [batch.features() for batch in table.batches()],
        )
    return [
        Result(
            "file",
            "scoring Parquet / scoring the frame and reading",
            of_file / (of_frame + reading),
            1.3,
        )
    ]


def fit(trial: Trial) -> list[Result]:
    """The floor: the members' own fits, and LightGBM's own predictions of all rows that a fit has to score."""
    common = trial.X[trial.y == 0]
    floors: list[float] = []

    def floor() -> None:
        scored = sum(_seconds(lambda m=m: m.predict_proba(common)) for m in trial.model.estimators_)  # type: ignore[misc]
        floors.append(scored + sum(note.seconds_fitting for note in trial.model.rounds_))

    whole, _ = trial.in_turn(lambda: clone(trial.ensemble).fit(trial.X, trial.y), floor)
    alone, _ = trial.in_turn(lambda: clone(trial.alone).fit(trial.X, trial.y), lambda: None)
    return [
        Result("fit", "whole fit / members' fits and LightGBM's scoring", whole / median(floors), 1.5),
        Result("fit", "whole fit / LightGBM with 100 rounds on all rows", whole / alone, 4),
    ]


def calibration(trial: Trial) -> list[Result]:
    calibrated = clone(trial.ensemble).set_params(calibration="isotonic")
    with_it, without = trial.in_turn(
        lambda: calibrated.fit(trial.X, trial.y), lambda: clone(trial.ensemble).fit(trial.X, trial.y)
    )
    return [Result("calibration", "calibrated fit / uncalibrated fit", with_it / without, 2.2)]


def single(trial: Trial) -> list[Result]:
    """One row after the other, each a dictionary of 118 values."""
    score = trial.model.row_scorer()
    rows = trial.X_test[:1000].to_dict("records")
    milliseconds = [1e3 * _seconds(lambda row=row: score(row)) for row in rows * (N_CALLS // len(rows))]  # type: ignore[misc]
    half, most = np.percentile(milliseconds, [50, 99])
    return [
        Result("single", "one row, median of milliseconds", float(half), 0.3),
        Result("single", "one row, 99% of calls take at most, milliseconds", float(most), 1.0),
    ]


def blend(trial: Trial) -> list[Result]:
    """A default blend of 70 columns, ten of them categories: the second call with one row and with 2,000 rows."""
    names = [f"number_{number}" for number in range(60)] + [f"category_{number}" for number in range(10)]
    rows, labels = trial.X[names][:N_ROWS_OF_BLEND], trial.y[:N_ROWS_OF_BLEND]
    model = AutoSelfPacedClassifier(random_state=0).fit(rows, labels)
    many = trial.X_test[names][:2000]
    for some in (many[:1], many):
        model.predict_proba(some)  # prepares what does not depend on the rows
    score = model.row_scorer()
    row, frame = many.iloc[0].to_dict(), many[:1]
    score(row)
    seconds = trial.in_turn(lambda: score(row), lambda: model.predict_proba(frame), lambda: model.predict_proba(many))
    kept = ", ".join(each.name for each in model.recipes_ if each.weight)
    print(f"The blend has {len(model.estimators_)} members: {kept}.")
    titles = {"row_scorer, one row": 10, "predict_proba, one row of a frame": 10, "predict_proba, 2,000 rows": 75}
    return [
        Result("blend", f"{title}, milliseconds", 1e3 * each, target)
        for (title, target), each in zip(titles.items(), seconds, strict=True)
    ]


def command(trial: Trial, base: str) -> list[Result]:
    """`selfpaced train` from a Parquet file to a model file, imports included, and LightGBM's fit on the same rows."""
    X, y = trial.whole
    with tempfile.TemporaryDirectory() as folder:
        path, page = Path(folder) / "rows.parquet", Path(folder) / "report.html"
        X.assign(label=y).to_parquet(path)
        words = ["train", path, "--target", "label", "--base", base, "-o", Path(folder) / "model.skops", "-q"]

        def run(*more: object) -> None:
            subprocess.run([sys.executable, "-m", "selfpaced", *map(str, [*words, *more])], check=True)

        alone, plain, with_report = trial.in_turn(
            lambda: clone(trial.alone).fit(X, y), run, lambda: run("--report", page)
        )
    told = f"selfpaced train --base {base}"
    return [
        Result(base, f"{told} / LightGBM with 100 rounds on all rows", plain / alone, 4),
        Result(base, f"{told} --report / LightGBM with 100 rounds on all rows", with_report / alone, 5),
    ]


CASES: dict[str, Callable[[Trial], list[Result]]] = {
    "frame": frame,
    "file": file,
    "fit": fit,
    "calibration": calibration,
    "single": single,
    "blend": blend,
    "lightgbm": partial(command, base="lightgbm"),
    "auto": partial(command, base="auto"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", choices=CASES, action="append")
    parser.add_argument("--leave-out", choices=CASES, action="append", default=[])
    options = parser.parse_args()
    trial = Trial(options.rows, options.repeats)
    chosen = [name for name in options.only or CASES if name not in options.leave_out]
    results = [result for name in chosen for result in CASES[name](trial)]
    print(text_table(["case", "what", "figure", "target", "met"], [result.line for result in results], words=2))
    if not options.only:
        figures = [vars(result) | {"figure": significant(result.figure)} for result in results]
        facts = {"rows": options.rows, "repeats": options.repeats, "results": figures}
        print(save("scoring", facts, versions_of(PACKAGES)))


if __name__ == "__main__":
    main()
