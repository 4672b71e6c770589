"""Claim: an ensemble is calibrated by its own training rows as well as by a hold-out, and loses no row to it.

    python benchmarks/calibration.py [--splits 10] [--only checkerboard]

Measured on 30% of the rows after training on 70%, over random stratified splits: Brier score, log loss, expected
calibration error (15 bins of equally many rows), mean predicted probability over the base rate, AUCPRC and seconds.
The real data are read from the folder that the environment variable SELFPACED_DATA names.

The ways to calibrate:

- none, and the closed form for classes that are thinned out ("prior");
- by copies of the members, as `SelfPacedEnsembleClassifier(calibration=...)` does;
- by a hold-out: 80% are trained on, scikit-learn's CalibratedClassifierCV(FrozenEstimator(...)) sees the other 20%;
- by five whole ensembles: scikit-learn's CalibratedClassifierCV(cv=5, ensemble=False);
- by the scores of the training rows themselves, which is wrong, to show how wrong.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import average_precision_score, brier_score_loss, log_loss
from sklearn.model_selection import StratifiedShuffleSplit, train_test_split
from sklearn.tree import DecisionTreeClassifier

from accuracy import read_credit_fraud
from record import save, significant, versions_of
from selfpaced.calibration import expected_calibration_error
from selfpaced.datasets import make_checkerboard, make_fraud
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from sets import asked_for
from text_table import text_table

sys.path.append(str(Path(__file__).parent.parent))  # the paper's loaders stand beside the package
from paper.datasets import DATASETS, data_folder

Data = tuple[NDArray[Any], NDArray[Any]]
PACKAGES = ("selfpaced", "scikit-learn", "lightgbm", "numpy")


def kddcup(folder: Path) -> Data:
    X, y = DATASETS["kddcup-dos-r2l-10%"].read(folder)
    return X, y.astype(np.int64)


SETS: dict[str, Callable[[], Data]] = {
    "Credit Fraud": read_credit_fraud,
    "KDD Cup 99, DOS-R2L, 10%": lambda: kddcup(data_folder()),
    "checkerboard, 1:50": lambda: make_checkerboard(1000, 50_000, random_state=0),
    "make_fraud, 1:200": lambda: make_fraud(100_000, 500, random_state=0),
}
BASES = {
    "trees of depth 10": DecisionTreeClassifier(max_depth=10),
    "LightGBM, 20 rounds": LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=1),
}


def with_parameter(calibration: str | None) -> Callable[[Any, Data], Any]:
    return lambda model, train: clone(model).set_params(calibration=calibration).fit(*train)


def by_training_rows(model: Any, train: Data) -> Any:
    return clone(model).fit(*train).recalibrated(*train)


def by_hold_out(method: str) -> Callable[[Any, Data], Any]:
    def fit(model: Any, train: Data) -> Any:
        X, X_aside, y, y_aside = train_test_split(*train, test_size=0.2, stratify=train[1], random_state=0)
        return CalibratedClassifierCV(FrozenEstimator(clone(model).fit(X, y)), method=method).fit(X_aside, y_aside)

    return fit


def by_whole_ensembles(model: Any, train: Data) -> Any:
    return CalibratedClassifierCV(clone(model), method="isotonic", cv=5, ensemble=False).fit(*train)


WAYS: dict[str, Callable[[Any, Data], Any]] = {
    "none": with_parameter(None),
    "prior": with_parameter("prior"),
    "copies, sigmoid": with_parameter("sigmoid"),
    "copies, beta": with_parameter("beta"),
    "copies, isotonic": with_parameter("isotonic"),
    "hold-out, sigmoid": by_hold_out("sigmoid"),
    "hold-out, isotonic": by_hold_out("isotonic"),
    "five ensembles, isotonic": by_whole_ensembles,
    "training rows, isotonic": by_training_rows,
}


@dataclass(frozen=True)
class Trial:
    """One way on one split. Log loss is in thousandths; Brier score and calibration error in ten thousandths."""

    brier: float
    log_loss: float
    calibration_error: float
    mean_to_base_rate: float
    aucprc: float
    fit_seconds: float


def try_way(fit: Callable[[Any, Data], Any], model: Any, train: Data, test: Data) -> Trial:
    begin = time.perf_counter()
    fitted = fit(model, train)
    seconds = time.perf_counter() - begin
    X, y = test
    probabilities = fitted.predict_proba(X)[:, 1]
    return Trial(
        1e4 * brier_score_loss(y, probabilities),
        1e3 * log_loss(y, np.clip(probabilities, 1e-12, 1 - 1e-12)),
        1e4 * expected_calibration_error(y, probabilities),
        probabilities.mean() / y.mean(),
        average_precision_score(y, probabilities),
        seconds,
    )


def try_all(base: Any, data: Data, n_splits: int) -> dict[str, list[Trial]]:
    X, y = data
    trials: dict[str, list[Trial]] = {name: [] for name in WAYS}
    for seed, (train, test) in enumerate(StratifiedShuffleSplit(n_splits, test_size=0.3, random_state=0).split(X, y)):
        model = SelfPacedEnsembleClassifier(base, random_state=seed, n_jobs=-1)
        for name, fit in WAYS.items():
            trials[name].append(try_way(fit, model, (X[train], y[train]), (X[test], y[test])))
    return trials


def summary(trials: list[Trial]) -> dict[str, Any]:
    columns = {name: [asdict(trial)[name] for trial in trials] for name in asdict(trials[0])}
    means = {name: significant(mean(values)) for name, values in columns.items()}
    ratios = columns["mean_to_base_rate"]
    return means | {
        "mean_to_base_rate_sd": significant(stdev(ratios)) if len(ratios) > 1 else 0.0,
        "splits_within_10_percent": sum(abs(ratio - 1) <= 0.1 for ratio in ratios),
    }


def as_table(summaries: dict[str, dict[str, Any]], n_splits: int) -> str:
    header = ["way", "Brier", "log loss", "error", "mean / rate", "sd", "within 10%", "AUCPRC", "fit s"]
    rows = [
        [
            name,
            f"{facts['brier']:.2f}",
            f"{facts['log_loss']:.2f}",
            f"{facts['calibration_error']:.2f}",
            f"{facts['mean_to_base_rate']:.3f}",
            f"{facts['mean_to_base_rate_sd']:.3f}",
            f"{facts['splits_within_10_percent']}/{n_splits}",
            f"{facts['aucprc']:.4f}",
            f"{facts['fit_seconds']:.2f}",
        ]
        for name, facts in summaries.items()
    ]
    return text_table(header, rows)


def main() -> None:
    chosen, n_splits = asked_for(__doc__, SETS, "splits", 10)
    result: dict[str, Any] = {}
    for name, load in chosen.items():
        data = load()
        for base_name, base in BASES.items():
            summaries = {way: summary(trials) for way, trials in try_all(base, data, n_splits).items()}
            result[f"{name}; {base_name}"] = summaries
            print(f"\n{name}, {data[1].size:,} rows, {data[1].sum():,} rare; SPE of 10 {base_name}")
            print(as_table(summaries, n_splits), flush=True)
    if chosen == SETS:
        print(save("calibration", {"parameters": {"splits": n_splits}, "sets": result}, versions_of(PACKAGES)))


if __name__ == "__main__":
    main()
