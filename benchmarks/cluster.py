"""Claim: on a cluster a round costs the scoring of the rows where they lie, some tasks, and the rows that are drawn.

    python benchmarks/cluster.py [--rows 2000000] [--engines dask spark] [--partitions 2 8 32]

The same rows are fitted in memory and on clusters of two workers with one core each, all on this machine: the ratio
tells what a round costs more, not what more machines would gain. Bytes are those of the answers to the driver, merged
and pickled, and of the models to the workers, each counted once. Files are written to .bench/cluster/ and kept there.
"""

from __future__ import annotations

import argparse
import os
import pickle
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import cloudpickle
import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

from record import save, significant, versions_of
from selfpaced import SelfPacedEnsembleClassifier, open_table
from selfpaced.datasets import make_fraud
from text_table import text_table

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT))  # the clusters are those of the tests
FOLDER = ROOT / ".bench" / "cluster"
N_FEATURES, N_FRAUDS, N_FILES, MEMBERS = 20, 4_000, 32, 10
PACKAGES = ("selfpaced", "scikit-learn", "numpy", "pyarrow", "dask", "pyspark")


def files(n_rows: int) -> Path:
    """The folder with so many rows, numbered by a column; written if it is not there."""
    folder, done = FOLDER / str(n_rows), FOLDER / f"{n_rows}.complete"
    if not done.exists():
        folder.mkdir(parents=True, exist_ok=True)
        X, y = make_fraud(n_rows, min(N_FRAUDS, n_rows // 500), n_features=N_FEATURES, random_state=0)
        rows = pd.DataFrame(X, columns=[f"V{i}" for i in range(N_FEATURES)])
        rows = rows.assign(is_fraud=y, number=np.arange(n_rows))
        for number, part in enumerate(np.array_split(np.arange(n_rows), N_FILES)):
            rows.iloc[part].to_parquet(folder / f"{number:04}.parquet", index=False)
        done.touch()
    return folder


def model() -> SelfPacedEnsembleClassifier:
    return SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=10), MEMBERS, random_state=0)


@dataclass
class Traffic:
    """What has travelled in one fit."""

    rows: int = 0
    to_driver: int = 0
    to_workers: int = 0
    questions: int = 0


@dataclass
class WeighingEngine:
    """An engine that notes what travels."""

    engine: Any
    traffic: Traffic = field(default_factory=Traffic)

    def ask(self, question: Any, merge: Callable[[Sequence[Any]], Any], *, features: bool) -> Any:
        answer = self.engine.ask(question, merge, features=features)
        self.traffic.questions += 1
        self.traffic.to_driver += len(pickle.dumps(answer))
        return answer

    def advance(self, step: Any, *shared: Any) -> None:
        self.traffic.to_workers += len(cloudpickle.dumps((step, shared)))
        self.engine.advance(step, *shared)

    def stacked(self, parts: Sequence[Any]) -> Any:
        self.traffic.rows += sum(len(part) for part in parts)
        return self.engine.stacked(parts)


@contextmanager
def dask_tables(folder: Path) -> Iterator[Callable[[int], Any]]:
    import dask.dataframe as dd

    from tests.cluster.dask_cluster import DaskCluster

    with TemporaryDirectory() as place:
        cluster = DaskCluster(Path(place))
        try:
            yield lambda n_partitions: open_table(
                dd.read_parquet(folder).repartition(npartitions=n_partitions),
                target="is_fraud",
                id="number",
                client=cluster.client,
            )
        finally:
            cluster.close()


@contextmanager
def spark_tables(folder: Path) -> Iterator[Callable[[int], Any]]:
    from tests.cluster.spark_cluster import SparkCluster, local_environment

    os.environ.update(local_environment())
    with TemporaryDirectory() as place:
        cluster = SparkCluster(Path(place))
        try:
            session = cluster.session(executor_memory="2g", java_options="")
            yield lambda n_partitions: open_table(
                session.read.parquet(str(folder)).repartition(n_partitions), target="is_fraud", id="number"
            )
            session.stop()
        finally:
            cluster.close()


ENGINES = {"dask": dask_tables, "spark": spark_tables}


def fit_on_cluster(table: Any) -> tuple[Any, Traffic]:
    engines: list[WeighingEngine] = []

    def begin() -> WeighingEngine:
        engines.append(WeighingEngine(table.begin()))
        return engines[-1]

    fitted = model().fit_table(replace(table, begin=begin))
    return fitted, engines[0].traffic


def per_round(fitted: Any, traffic: Traffic | None = None) -> dict[str, float]:
    """The median of the rounds but the warm-up, and what has travelled divided by all rounds."""
    rounds = fitted.rounds_[1:]
    result = {
        "asking": median(round.seconds_scoring + round.seconds_drawing for round in rounds),
        "fitting": median(round.seconds_fitting for round in rounds),
    }
    if traffic is not None:
        result |= {name: value / len(fitted.rounds_) for name, value in vars(traffic).items()}
    return {name: significant(value) for name, value in result.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--partitions", nargs="+", type=int, default=[2, 8, 32])
    options = parser.parse_args()
    folder = files(options.rows)
    rows = pd.read_parquet(folder)
    X, y = rows.drop(columns=["is_fraud", "number"]), rows["is_fraud"]
    results = []
    for n_jobs in (1, 2):
        local = model().set_params(n_jobs=n_jobs).fit(X, y)
        results.append({"engine": f"memory, {n_jobs} threads", "partitions": 1, "opening": 0.0, **per_round(local)})
    expected = local.predict_proba(X.iloc[::100])
    for name in options.engines:
        with ENGINES[name](folder) as open_partitions:
            for n_partitions in options.partitions:
                begin = time.perf_counter()
                table = open_partitions(n_partitions)
                opening = significant(time.perf_counter() - begin)
                fitted, traffic = fit_on_cluster(table)
                if not np.array_equal(fitted.predict_proba(X.iloc[::100]), expected):
                    raise SystemExit(f"{name} with {n_partitions} partitions gave another model")
                facts = per_round(fitted, traffic)
                results.append({"engine": name, "partitions": n_partitions, "opening": opening, **facts})
                print(f"{name}, {n_partitions} partitions: {facts['asking']} s a round", flush=True)
                del table
    print(table_of(results))
    result = {"rows": options.rows, "features": N_FEATURES, "minority": int(y.sum()), "per_round": results}
    print(save("cluster", result, versions_of(PACKAGES)))


def table_of(results: Sequence[dict[str, Any]]) -> str:
    header = ["", "partitions", "open s", "ask s", "of 1 thread", "fit s", "questions", "rows", "kB in", "kB out"]
    alone = results[0]["asking"]
    return text_table(
        header,
        [
            [
                str(one["engine"]),
                str(one["partitions"]),
                f"{one['opening']:.2f}",
                f"{one['asking']:.3f}",
                f"{one['asking'] / alone:.2f}",
                f"{one['fitting']:.3f}",
                f"{one.get('questions', 0):.1f}",
                f"{one.get('rows', 0):,.0f}",
                f"{one.get('to_driver', 0) / 1000:,.0f}",
                f"{one.get('to_workers', 0) / 1000:,.0f}",
            ]
            for one in results
        ],
    )


if __name__ == "__main__":
    main()
