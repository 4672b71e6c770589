"""Measures one fit of one package. `peers.py` starts it, in the package's own environment; Linux only.

    python benchmarks/peer_worker.py PACKAGE {trees,lightgbm} FOLDER [--predict] [--floor]

FOLDER holds X.npy and y.npy; with categories.json, which says how many categories some columns have, X is made a data
frame. The last line it prints is the result as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier
from sklearn.tree import DecisionTreeClassifier

N_MEMBERS = 10
N_BINS = 20
N_CORES = os.cpu_count() or 1
WARM_UP_ROWS = 20_000

# Filled by the base models, which the packages clone: what they would note in themselves is lost with the clone.
BASE_FIT_SECONDS: list[float] = []


class TimedTree(DecisionTreeClassifier):
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **more: Any) -> Any:
        with appended_to(BASE_FIT_SECONDS):
            return super().fit(X, y, sample_weight=sample_weight, **more)


class TimedLightGBM(LGBMClassifier):
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **more: Any) -> Any:
        with appended_to(BASE_FIT_SECONDS):
            return super().fit(X, y, sample_weight=sample_weight, **more)


@contextmanager
def appended_to(seconds: list[float]) -> Iterator[None]:
    begin = time.perf_counter()
    yield
    seconds.append(time.perf_counter() - begin)


def selfpaced(base: Any) -> Any:
    from selfpaced.ensembles import SelfPacedEnsembleClassifier

    return SelfPacedEnsembleClassifier(base, N_MEMBERS, n_bins=N_BINS, n_jobs=N_CORES, random_state=0)


def self_paced_ensemble(base: Any) -> Any:
    from self_paced_ensemble import SelfPacedEnsembleClassifier

    return SelfPacedEnsembleClassifier(base, N_MEMBERS, k_bins=N_BINS, n_jobs=N_CORES, random_state=0)


def imbalanced_ensemble(base: Any) -> Any:
    from imbens.ensemble import SelfPacedEnsembleClassifier

    return SelfPacedEnsembleClassifier(base, N_MEMBERS, k_bins=N_BINS, n_jobs=N_CORES, random_state=0)


ENSEMBLES: dict[str, Callable[[Any], Any]] = {
    "selfpaced": selfpaced,
    "self-paced-ensemble": self_paced_ensemble,
    "imbalanced-ensemble": imbalanced_ensemble,
}
MEMBERS: dict[str, Callable[[], Any]] = {
    "trees": lambda: TimedTree(max_depth=10),
    "lightgbm": lambda: TimedLightGBM(n_estimators=50, verbose=-1),
}


class PeakMemory:
    """The most memory this process has had since the object was made, above what it had then."""

    def __init__(self) -> None:
        Path("/proc/self/clear_refs").write_text("5")  # the kernel's word for "forget the peak"
        self._before = _status_bytes("VmRSS")

    def read(self) -> int:
        return _status_bytes("VmHWM") - self._before


def _status_bytes(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    kilobytes = next(line.split()[1] for line in lines if line.startswith(field))
    return 1024 * int(kilobytes)


def measure_fit(model: Any, X: Any, y: Any) -> dict[str, float]:
    BASE_FIT_SECONDS.clear()
    whole: list[float] = []
    memory = PeakMemory()
    with appended_to(whole):
        model.fit(X, y)
    base_fits = sum(BASE_FIT_SECONDS)
    return {
        "fit_seconds": whole[0],
        "base_fit_seconds": base_fits,
        "rest_seconds": whole[0] - base_fits,
        "peak_bytes": memory.read(),
        "data_bytes": X.nbytes if isinstance(X, np.ndarray) else int(X.memory_usage().sum()),
    }


def measure_predict(model: Any, X: Any) -> float:
    seconds: list[float] = []
    with appended_to(seconds):
        model.predict_proba(X)
    return seconds[0]


def measure_scoring_floor(model: Any, X: Any, y: Any) -> float:
    """What LightGBM alone needs for the rows that a fit must score: the majority, by as many models as members."""
    honest = X[y == 0]
    seconds: list[float] = []
    for member in model.estimators_:
        with appended_to(seconds):
            member.predict_proba(honest, num_threads=N_CORES)
    return sum(seconds)


def rows_in(folder: Path) -> Any:
    """The features: an array, or a data frame with categories and missing values."""
    X, categories = np.load(folder / "X.npy"), folder / "categories.json"
    if not categories.exists():
        return X
    import pandas as pd

    columns: dict[str, Any] = {f"x{position}": column for position, column in enumerate(X.T)}
    for position, n_categories in json.loads(categories.read_text()).items():
        codes = np.nan_to_num(columns[f"x{position}"], nan=-1).astype(int)
        columns[f"x{position}"] = pd.Categorical.from_codes(codes, [f"value {code}" for code in range(n_categories)])
    return pd.DataFrame(columns)


def warm_up(model: Any, X: Any, y: Any) -> None:
    """Imports, thread pools and worker processes are started before anything is measured."""
    model.fit(X[:WARM_UP_ROWS], y[:WARM_UP_ROWS]).predict_proba(X[:WARM_UP_ROWS])


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", choices=ENSEMBLES)
    parser.add_argument("members", choices=MEMBERS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--predict", action="store_true")
    parser.add_argument("--floor", action="store_true")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    X, y = rows_in(options.folder), np.load(options.folder / "y.npy")
    make, base = ENSEMBLES[options.package], MEMBERS[options.members]
    warm_up(make(base()), X, y)
    model = make(base())
    result: dict[str, Any] = measure_fit(model, X, y)
    if options.predict:
        result["predict_seconds"] = measure_predict(model, X)
    if options.floor:
        result["floor_seconds"] = result["base_fit_seconds"] + measure_scoring_floor(model, X, y)
    result["versions"] = {name: version(name) for name in (options.package, "scikit-learn", "lightgbm", "numpy")}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
