"""Claim: histories are exact, take a fraction of the time of a query, and find what no choice of model finds.

    python benchmarks/history.py [--data FOLDER] [--rows 1754155] [--runs 3] [--skip polars ...]

The transactions of the Fraud Detection Handbook (card_transactions.parquet: simulated, 1,754,155 rows). First the 64
features of customers and terminals in windows of 1, 7 and 30 days, with labels that are known after 7 days: by the
kernel of selfpaced, by the query that a user of DuckDB would write for the same columns, and by polars. Each engine has
a process of its own and one thread; seconds are of the processor, from the columns in memory to the features. Their
values are compared with those of the kernel. Then AUCPRC of Self-paced Ensemble (10 x LightGBM of 50 trees, ratio=3)
with and without the history:

- last 20%: the last 500,000 rows, trained on the first 80% less 7 days, tested on the last 20%
- Handbook: 7 days to train on (from 2018-07-25), 7 days of delay, 7 days to test. Also without the customers whose
  frauds are known on the day of the test, whom the Handbook leaves out as we understand it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from record import save, significant, versions_of
from selfpaced.history import History
from text_table import text_table

PACKAGES = ("selfpaced", "numpy", "duckdb", "polars", "lightgbm")
DEFAULT_DATA = Path(__file__).parents[2] / "shared" / "data"
HISTORY = History("when", ["customer", "terminal"], "amount", delay="7d", base_rate=0.008)
DAY, DELAY = 86_400_000_000, 7 * 86_400_000_000
WINDOWS = {"1d": DAY, "7d": 7 * DAY, "30d": 30 * DAY}
OTHER = {"customer": "terminal", "terminal": "customer"}
SHARE = f"(rare + {HISTORY.smoothing * HISTORY.base_rate}) / (known + {HISTORY.smoothing})"


def by_kernel(rows: pd.DataFrame) -> Any:
    return HISTORY.features(rows, rows["is_fraud"])


def query() -> str:
    """The same features in SQL. `s` is the time in microseconds."""
    columns = []
    for entity, other in OTHER.items():
        partition = f"PARTITION BY {entity} ORDER BY s RANGE BETWEEN"
        for name, span in WINDOWS.items():
            over = f"OVER ({partition} {span} PRECEDING AND 1 PRECEDING)"
            known = f"OVER ({partition} {span + DELAY} PRECEDING AND {DELAY} PRECEDING)"
            share = SHARE.replace("rare", f"coalesce(sum(is_fraud) {known}, 0)").replace("known", f"count(*) {known}")
            made = {
                "rows": f"count(*) {over}",
                "sum": f"coalesce(sum(amount) {over}, 0)",
                "mean": f"avg(amount) {over}",
                "max": f"max(amount) {over}",
                "std": f"stddev_pop(amount) {over}",
                "ratio": f"amount / nullif(avg(amount) {over}, 0)",
                f"distinct_{other}": f"count(DISTINCT {other}) {over}",
                "known": f"count(*) {known}",
                "rare": f"coalesce(sum(is_fraud) {known}, 0)",
                "share": share,
            }
            columns += [f"{formula} AS {entity}_{what}_{name}" for what, formula in made.items()]
        longest = f"ORDER BY s RANGE BETWEEN {WINDOWS['30d']} PRECEDING AND 1 PRECEDING"
        columns.append(f"(s - max(s) OVER (PARTITION BY {entity} {longest})) / 1e6 AS {entity}_since")
        columns.append(f"count(*) OVER (PARTITION BY {entity}, {other} {longest}) > 0 AS {entity}_seen_{other}")
    chosen = ", ".join(f"{name}::FLOAT AS {name}" for name in HISTORY.feature_names)
    source = 'SELECT *, epoch_us("when") AS s FROM rows'
    return f"SELECT {chosen} FROM (SELECT transaction, {', '.join(columns)} FROM ({source})) ORDER BY transaction"


def by_duckdb(rows: pd.DataFrame) -> Any:
    import duckdb

    connection = duckdb.connect()
    connection.sql("SET threads=1")
    connection.register("rows", rows)
    return connection.sql(query()).df()


def by_polars(rows: pd.DataFrame) -> Any:
    import polars as pl

    table = pl.from_pandas(rows).with_columns(s=pl.col("when").dt.epoch("us")).with_columns(at="s")
    prior, parts = HISTORY.smoothing * HISTORY.base_rate, []

    def rolled(sorted_rows: Any, keys: list[str], span: int, **options: Any) -> Any:
        return sorted_rows.rolling(index_column="s", period=f"{span}i", group_by=keys, **options)

    for entity, other in OTHER.items():
        mine, amount = table.sort(entity, "s"), pl.col("amount")
        found = mine.select("transaction")
        for name, span in WINDOWS.items():
            seen = rolled(mine, [entity], span, closed="left").agg(
                pl.len().alias("rows"),
                amount.sum().alias("sum"),
                amount.mean().alias("mean"),
                amount.max().alias("max"),
                amount.std(ddof=0).alias("std"),
                pl.col(other).n_unique().alias(f"distinct_{other}"),
                pl.col("at").max(),
            )
            late = rolled(mine, [entity], span, offset=f"-{span + DELAY}i", closed="both").agg(
                pl.len().alias("known"), pl.col("is_fraud").cast(pl.Int64).sum().alias("rare")
            )
            assert seen["s"].equals(mine["s"])  # the rows are in the same order
            made = (
                seen.drop(entity, "s", "at")
                .hstack(late.drop(entity, "s"))
                .with_columns(
                    ratio=mine["amount"] / pl.when(pl.col("mean") != 0).then(pl.col("mean")),
                    share=(pl.col("rare") + prior) / (pl.col("known") + HISTORY.smoothing),
                )
            )
            found = found.hstack(made.rename({what: f"{entity}_{what}_{name}" for what in made.columns}))
        since = ((mine["s"] - seen["at"]) / 1e6).alias(f"{entity}_since")  # of the last window, the longest
        pairs = table.sort(entity, other, "s")
        again = rolled(pairs, [entity, other], span, closed="left").agg(pl.len() > 0)
        seen_before = pairs.select("transaction", again["len"].alias(f"{entity}_seen_{other}")).sort("transaction")
        parts.append(found.with_columns(since).sort("transaction").hstack(seen_before.drop("transaction")))
    both = parts[0].hstack(parts[1].drop("transaction"))
    return both.select(pl.col(name).cast(pl.Float32) for name in HISTORY.feature_names).to_pandas()


ENGINES = {"selfpaced": by_kernel, "duckdb": by_duckdb, "polars": by_polars}


def peak_memory() -> float:
    """The largest memory of this process in GB. `ru_maxrss` would begin with that of the process that started it."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1e6


def measure(engine: str, rows: pd.DataFrame, output: Path) -> None:
    """Print the seconds of an engine and its peak memory beyond that of the rows, and save the features."""
    before = peak_memory()
    begin = time.process_time()
    features = ENGINES[engine](rows)
    seconds = time.process_time() - begin
    peak = peak_memory() - before
    np.save(output, features.to_numpy(np.float32))
    print(json.dumps({"engine": engine, "seconds": significant(seconds), "peak GB": significant(peak)}))


def compared(options: argparse.Namespace) -> list[dict[str, Any]]:
    """All engines, one after the other: their seconds as multiples of the kernel's, and the largest difference."""
    results: list[dict[str, Any]] = []
    with TemporaryDirectory() as folder:
        for engine in (engine for engine in ENGINES if engine not in options.skip):
            output = Path(folder) / f"{engine}.npy"
            command = [sys.executable, __file__, "--engine", engine, "--output", output]
            command += ["--data", options.data, "--rows", str(options.rows)]
            printed = subprocess.run(
                command, env=os.environ | {"POLARS_MAX_THREADS": "1"}, stdout=subprocess.PIPE, check=True
            ).stdout
            one = json.loads(printed)
            ours, theirs = (np.load(Path(folder) / f"{name}.npy") for name in ("selfpaced", engine))
            largest = np.nanmax(np.abs(theirs - ours) / np.maximum(np.abs(ours), 1), axis=0)
            one["as long"] = significant(one["seconds"] / results[0]["seconds"]) if results else 1.0
            one["missing elsewhere"] = int((np.isnan(ours) != np.isnan(theirs)).sum())
            one["largest difference"] = significant(float(largest.max()))
            one["feature"] = HISTORY.feature_names[int(largest.argmax())]
            results.append(one)
            print(one, flush=True)
    return results


def splits(rows: pd.DataFrame) -> dict[str, tuple[Any, Any]]:
    """Training and test rows of each protocol, by position."""
    when, week = rows["when"], pd.Timedelta(days=7)
    n_rows, place = len(rows), np.arange(len(rows))
    first_test = when.iloc[n_rows - 100_000]
    begin = pd.Timestamp("2018-07-25")
    test = (when >= begin + 2 * week) & (when < begin + 3 * week)
    return {
        "last 20%": (
            np.flatnonzero((place >= n_rows - 500_000) & (when < first_test - week)),
            place[n_rows - 100_000 :],
        ),
        "Handbook": (np.flatnonzero((when >= begin) & (when < begin + week)), np.flatnonzero(test)),
        "Handbook, without customers of known frauds": (
            np.flatnonzero((when >= begin) & (when < begin + week)),
            np.flatnonzero(test & ~_known_to_be_defrauded(rows, begin, week)),
        ),
    }


def _known_to_be_defrauded(rows: pd.DataFrame, begin: pd.Timestamp, week: pd.Timedelta) -> Any:
    """Whether the customer of a row had a fraud since the first day of training, known before the day of the row."""
    frauds = rows[(rows["is_fraud"] == 1) & (rows["when"] >= begin)]
    first_known = (frauds.groupby("customer")["when"].min().dt.floor("D") + week + pd.Timedelta(days=1)).rename("known")
    return (rows["when"].dt.floor("D") >= rows["customer"].map(first_known)).to_numpy()


def judged(rows: pd.DataFrame, n_runs: int) -> list[dict[str, Any]]:
    from lightgbm import LGBMClassifier

    from selfpaced import SelfPacedEnsembleClassifier
    from selfpaced.metrics import aucprc

    y = rows["is_fraud"].to_numpy()
    raw = pd.DataFrame({"amount": rows["amount"], "hour": rows["when"].dt.hour, "weekday": rows["when"].dt.day_of_week})
    results = []
    for protocol, (train, test) in splits(rows).items():
        history = HISTORY.with_base_rate(y[train])
        tables = {"raw columns": raw, "and the history": pd.concat([raw, history.features(rows, y)], axis=1)}
        for name, X in tables.items():
            scores = []
            for seed in range(n_runs):
                base = LGBMClassifier(n_estimators=50, verbose=-1, n_jobs=1)
                model = SelfPacedEnsembleClassifier(base, 10, ratio=3, random_state=seed)
                scores.append(aucprc(y[test], model.fit(X.iloc[train], y[train]).predict_proba(X.iloc[test])[:, 1]))
            numbers = {"mean": significant(mean(scores)), "runs": [significant(score) for score in scores]}
            results.append({"protocol": protocol, "features": name, **numbers})
            print(results[-1], flush=True)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("SELFPACED_DATA", DEFAULT_DATA)))
    parser.add_argument("--rows", type=int, default=1_754_155, help="the first rows to compute features of")
    parser.add_argument("--runs", type=int, default=3, help="seeds of each protocol; 0 judges no model")
    parser.add_argument("--skip", nargs="*", default=[], choices=["duckdb", "polars"])
    parser.add_argument("--engine", choices=ENGINES, help=argparse.SUPPRESS)
    parser.add_argument("--output", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    rows = pd.read_parquet(options.data / "card_transactions.parquet")
    if options.engine:
        measure(options.engine, rows.head(options.rows), options.output)
        return
    engines = compared(options)
    accuracy = judged(rows, options.runs) if options.runs else []
    print(text_table(list(engines[0]), [[str(value) for value in one.values()] for one in engines]))
    lines = [[one["protocol"], one["features"], f"{one['mean']:.4f}"] for one in accuracy]
    print(text_table(["protocol", "features", "AUCPRC"], lines, words=2))
    print(save("history", {"rows": options.rows, "engines": engines, "accuracy": accuracy}, versions_of(PACKAGES)))


if __name__ == "__main__":
    main()
