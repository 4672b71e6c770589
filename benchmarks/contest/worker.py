"""Fits one method on splits of a table, in the method's own environment. `runner.py` starts it; Linux only.

    python -m contest.worker METHOD FOLDER MOST_SECONDS SPLIT[=SECONDS] ...

FOLDER holds table.parquet, whose last column is the label, and test-SPLIT.npy, which marks the test rows. For each
split the scores of the test rows are written to scores-SPLIT.npy, then a line of JSON says what was measured. A fit
that takes more than MOST_SECONDS of processor time ends the process by the signal SIGXCPU; 0 is no limit.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from contest.methods import METHODS, Method
from contest.threads import N_THREADS

REPOSITORY = Path(__file__).parents[2]
LONGEST_REASON = 300


class Stopwatch:
    """Seconds since it was made, and how busy other processes have kept the cores."""

    def __init__(self) -> None:
        self._begin = time.perf_counter()
        self._all, self._own = _cpu_seconds_of_all(), _cpu_seconds_of_this()

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._begin

    @property
    def cpu_seconds(self) -> float:
        """The seconds that this process and its finished children kept cores busy: the same on a busy machine."""
        return _cpu_seconds_of_this() - self._own

    @property
    def busy_share(self) -> float:
        """The share of the machine's time that went to other processes: 0 on a quiet machine."""
        others = _cpu_seconds_of_all() - self._all - self.cpu_seconds
        return max(0.0, others / (self.seconds * (os.cpu_count() or 1)))


def _cpu_seconds_of_all() -> float:
    user, nice, system = map(int, Path("/proc/stat").read_text().split()[1:4])
    return (user + nice + system) / os.sysconf("SC_CLK_TCK")


def _cpu_seconds_of_this() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def measured(method: Method, folder: Path, split: int, seconds: float | None) -> dict[str, Any]:
    """One fit. Imports are done while the model is made, before the time is taken."""
    table = pd.read_parquet(folder / "table.parquet")
    X, y = table.iloc[:, :-1], table.iloc[:, -1].to_numpy()
    is_test = np.load(folder / f"test-{split}.npy")
    train, test, labels = X[~is_test], X[is_test], y[~is_test]
    model = method.make(split) if seconds is None else method.make(split, seconds)
    fitting = Stopwatch()
    model.fit(train, labels)
    facts = {
        "fit_seconds": fitting.seconds,
        "fit_cpu_seconds": fitting.cpu_seconds,
        "busy_share": fitting.busy_share,
    }
    predicting = Stopwatch()
    scores = np.asarray(model.predict_proba(test))[:, 1]
    facts["predict_seconds"] = predicting.seconds
    np.save(folder / f"scores-{split}.npy", scores)
    return facts | {"split": split, "threads": N_THREADS} | ({} if seconds is None else {"budget_seconds": seconds})


def attempted(method: Method, folder: Path, split: int, seconds: float | None) -> dict[str, Any]:
    """What was measured, or why nothing was."""
    try:
        return measured(method, folder, split, seconds)
    except Exception as error:
        # Results are published: where this machine keeps the repository is not their matter.
        reason = f"{type(error).__name__}: {error}".replace(f"{REPOSITORY}{os.sep}", "")
        return {"split": split, "error": reason[:LONGEST_REASON]}


def limit_processor_time(seconds: float) -> None:
    """From now on. The system counts whole seconds, of this process; its children have as many of their own."""
    if seconds:
        import resource

        used = time.process_time()
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(used + seconds), resource.RLIM_INFINITY))


def main() -> None:
    name, folder, most_seconds, *splits = sys.argv[1:]
    # Tools talk to the terminal at will: only the results go to the true output.
    results, sys.stdout = sys.stdout, sys.stderr
    warnings.simplefilter("ignore")
    for text in splits:
        split, _, seconds = text.partition("=")
        limit_processor_time(float(most_seconds))
        facts = attempted(METHODS[name], Path(folder), int(split), float(seconds) if seconds else None)
        print(json.dumps(facts), file=results, flush=True)


if __name__ == "__main__":
    main()
