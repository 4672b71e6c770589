"""Claim: one row with its history and its score takes below a millisecond, with 100,000 customers in the state.

    python benchmarks/history_service.py [--customers 100000] [--rows 1000000] [--calls 5000]

Random payments of customers at terminals over 40 days are the state, in a folder. A service then scores one payment
after the other by ten LightGBM members of 50 trees, which were trained with the history, and adds it to the state. The
customers of the calls are drawn anew, so most of them are asked for the first time. One entity has 100,000 rows in its
window. Milliseconds are of the processor, because other programs take their share of the clock; those of the clock are
printed beside them. The targets are those for scoring.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier

from record import save, significant, versions_of
from selfpaced import SelfPacedEnsembleClassifier
from selfpaced.history import History, HistoryState
from text_table import text_table

PACKAGES = ("selfpaced", "numpy", "lightgbm")
HISTORY = History("when", ["customer", "terminal"], "amount", delay="7d", base_rate=0.01)
DAYS, N_TRAIN, N_HUGE = 40, 50_000, 100_000
START = pd.Timestamp("2025-01-01")
TARGETS = {"score": (1.0, 3.0)}  # milliseconds: median, and 99% of calls
HEADER = ["call", "p50 ms", "p99 ms", "clock p50", "clock p99", "target p50, p99"]


def payments(rng: np.random.Generator, n_rows: int, n_customers: int) -> tuple[pd.DataFrame, Any]:
    """Payments in the order of time; frauds are more likely at some terminals."""
    terminals = rng.integers(0, 10_000, n_rows)
    frame = pd.DataFrame(
        {
            "number": np.arange(n_rows),
            "when": START + pd.to_timedelta(np.sort(rng.integers(0, DAYS * 86_400, n_rows)), unit="s"),
            "customer": [f"customer {number}" for number in rng.integers(0, n_customers, n_rows)],
            "terminal": terminals,
            "amount": rng.integers(1, 100_000, n_rows) / 100,
        }
    )
    return frame, (rng.random(n_rows) < np.where(terminals < 500, 0.1, 0.005)).astype(int)


def trained(X: pd.DataFrame, y: Any) -> SelfPacedEnsembleClassifier:
    features = HISTORY.add(X, y).drop(columns=["number", "when", "customer"])[-N_TRAIN:]
    base = LGBMClassifier(n_estimators=50, verbose=-1, n_jobs=1)
    return SelfPacedEnsembleClassifier(base, random_state=0).fit(features, y[-N_TRAIN:])


def timed(call: Callable[[Any], Any], rows: Iterable[Any]) -> dict[str, float]:
    """Milliseconds of the processor and of the clock."""
    spent = []
    for row in rows:
        before = time.thread_time(), time.perf_counter()
        call(row)
        spent.append((time.thread_time() - before[0], time.perf_counter() - before[1]))
    quantiles = 1e3 * np.percentile(spent, [50, 99], axis=0)
    names = ("p50", "clock_p50", "p99", "clock_p99")
    return {name: significant(value, 3) for name, value in zip(names, quantiles.ravel(), strict=True)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--customers", type=int, default=100_000)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--calls", type=int, default=5_000)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    X, y = payments(rng, options.rows, options.customers)
    X.loc[options.rows - N_HUGE :, "terminal"] = 10_000  # one terminal with many rows
    model = trained(X, y)
    with TemporaryDirectory() as folder:
        place = Path(folder) / "state"
        start = time.process_time()
        state = HISTORY.state(X, y, id_column="number", folder=place)
        made = time.process_time() - start
        found = measured(rng, model, state, options)
        start = time.process_time()
        state.compact()
        compacted = time.process_time() - start
        state.close()
        start = time.process_time()
        state = HistoryState.open(place, HISTORY)
        opened = time.process_time() - start
        size = (place / "snapshot").stat().st_size / state.n_rows
        n_rows = state.n_rows
        state.close()
    rows = [
        [name, *(each[key] for key in ("p50", "p99", "clock_p50", "clock_p99")), TARGETS.get(name, "")]
        for name, each in found.items()
    ]
    print(text_table(HEADER, [[str(value) for value in row] for row in rows]))
    print(f"{n_rows:,} rows, {size:.0f} bytes each. Seconds of the processor: {made:.2f} to make the state, ", end="")
    print(f"{compacted:.2f} to write a snapshot, {opened:.2f} to open it.")
    facts = {"rows": n_rows, "customers": options.customers, "bytes per row": significant(size, 3)}
    seconds = {"made": made, "snapshot": compacted, "opened": opened}
    print(save("history_service", facts | {"milliseconds": found, "seconds": seconds}, versions_of(PACKAGES)))


def measured(rng: np.random.Generator, model: Any, state: HistoryState, options: argparse.Namespace) -> dict[str, Any]:
    asked, _ = payments(rng, options.calls, options.customers)
    late = START + pd.Timedelta(days=DAYS)
    asked["when"] = late + pd.to_timedelta(np.arange(len(asked)), unit="s")
    asked["number"] += options.rows
    rows = [row | {"when": row["when"].isoformat()} for row in asked.to_dict("records")]
    score = model.row_scorer(history=state)
    for row in rows[:20]:
        score(row)  # what is prepared once
    huge = [row | {"terminal": 10_000} for row in rows[:1000]]
    return {
        "score": timed(score, rows),
        "features, 100,000 rows, first": timed(state.features, huge[:1]),
        "features": timed(state.features, rows),
        "features, 100,000 rows": timed(state.features, huge),
        "update": timed(state.update, rows),
        "learn": timed(lambda row: state.learn([row["number"]], [1]), rows),
    }


if __name__ == "__main__":
    main()
