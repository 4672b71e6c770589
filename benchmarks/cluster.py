"""Claim: on a cluster a round costs the scoring of the rows where they lie, two jobs, and the rows that are drawn.

    python benchmarks/cluster.py [--rows 2000000] [--engines dask spark] [--partitions 2 8 32]
    python benchmarks/cluster.py --fit [--rows 20000000]
    python benchmarks/cluster.py --blend [--rows 2000000]

The same rows are fitted in memory and on clusters of two workers with one core each, all on this machine: the ratio
tells what a round costs more, not what more machines would gain. The floor is the time of as many empty jobs on the
same partitions. Bytes are those of the answers to the driver, merged and pickled, and of the models to the workers,
each counted once. What is kept are the bytes that the cluster holds after the last round, besides the files that the
rows are read from, divided by the bytes of the features.

With --fit, a whole fit with LightGBM members on Spark is compared with `fit_table` on the same Parquet files.

With --blend, a default blend is fitted. Its recipes ask their own questions, one recipe after the other. If they asked
together, as many jobs would be left as the recipe with the most questions needs. What that would save is the floor of
the other jobs, divided by the time of the fit.

Files are written to .bench/cluster/ and kept there.
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
from selfpaced.clusters.spark.storage import FOLDER as SCRATCH
from selfpaced.datasets import make_fraud
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.ensembles.auto import AutoSelfPacedClassifier
from selfpaced.tables.sources import open_table
from text_table import text_table

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT))  # the clusters are those of the tests
FOLDER = ROOT / ".bench" / "cluster"
N_FEATURES, N_FRAUDS, N_FILES, MEMBERS = 20, 4_000, 32, 10
PACKAGES = ("selfpaced", "scikit-learn", "lightgbm", "numpy", "pyarrow", "dask", "pyspark")


def files(n_rows: int) -> Path:
    """The folder with so many rows, numbered by a column; written file by file if it is not there."""
    folder, done = FOLDER / f"float32-{n_rows}", FOLDER / f"float32-{n_rows}.complete"
    if not done.exists():
        folder.mkdir(parents=True, exist_ok=True)
        n_frauds = max(min(N_FRAUDS, n_rows // 500) // N_FILES, 2)
        for number, part in enumerate(np.array_split(np.arange(n_rows), N_FILES)):
            X, y = make_fraud(part.size, n_frauds, n_features=N_FEATURES, random_state=number)
            rows = pd.DataFrame(X.astype(np.float32), columns=[f"V{i}" for i in range(N_FEATURES)])
            rows.assign(is_fraud=y, number=part).to_parquet(folder / f"{number:04}.parquet", index=False)
        done.touch()
    return folder


def model(base: Any = None) -> SelfPacedEnsembleClassifier:
    return SelfPacedEnsembleClassifier(base or DecisionTreeClassifier(max_depth=10), MEMBERS, random_state=0)


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

    def ask(self, question: Any) -> Any:
        answer = self.engine.ask(question)
        self.traffic.questions += 1
        self.traffic.to_driver += len(pickle.dumps(answer))
        return answer

    def advance(self, step: Any, *shared: Any) -> None:
        self.traffic.to_workers += len(cloudpickle.dumps((step, shared)))
        self.engine.advance(step, *shared)

    def stacked(self, parts: Sequence[Any]) -> Any:
        self.traffic.rows += sum(len(part) for part in parts)
        return self.engine.stacked(parts)


@dataclass
class TimedEngine:
    """An engine that counts questions, and notes how long the answers take."""

    engine: Any
    questions: int = 0
    seconds: float = 0.0

    def ask(self, question: Any) -> Any:
        begin = time.perf_counter()
        answer = self.engine.ask(question)
        self.seconds += time.perf_counter() - begin
        self.questions += 1
        return answer

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)


class OnDask:
    """Tables on a Dask cluster."""

    def __init__(self, folder: Path, place: Path) -> None:
        from tests.cluster.dask_cluster import DaskCluster

        self._folder = folder
        self._cluster = DaskCluster(place)

    def open(self, n_partitions: int) -> Any:
        import dask.dataframe as dd

        rows = dd.read_parquet(self._folder).repartition(npartitions=n_partitions)
        return open_table(rows, target="is_fraud", id_column="number", client=self._cluster.client)

    def empty_job(self, n_partitions: int) -> None:
        client = self._cluster.client
        client.gather(client.map(lambda number: number, list(range(n_partitions)), pure=False))

    def bytes_kept(self) -> int:
        return sum(self._cluster.client.run(bytes_of_worker).values())

    def close(self) -> None:
        self._cluster.close()


class OnSpark:
    """Tables on a Spark cluster."""

    def __init__(self, folder: Path, place: Path) -> None:
        from tests.cluster.spark_cluster import SparkCluster, local_environment

        os.environ.update(local_environment())
        self._folder = folder
        self._cluster = SparkCluster(place)
        self._session = self._cluster.session(executor_memory="2g", java_options="")
        self._empty: dict[int, Any] = {}

    def open(self, n_partitions: int | None) -> Any:
        """The rows dealt out to partitions, or in those in which Spark reads the files."""
        rows = self._session.read.parquet(str(self._folder))
        rows = rows if n_partitions is None else rows.repartition(n_partitions)
        return open_table(rows, target="is_fraud", id_column="number")

    def empty_job(self, n_partitions: int) -> None:
        if n_partitions not in self._empty:
            self._empty[n_partitions] = self._session.range(0, n_partitions, 1, n_partitions).persist()
        self._empty[n_partitions].mapInArrow(no_answer, "answer binary").collect()

    def bytes_kept(self) -> int:
        stored = self._session.sparkContext._jsc.sc().getRDDStorageInfo()
        in_files = (
            path.stat().st_size for local in self._cluster.local_directories() for path in local.glob(f"{SCRATCH}/*/*")
        )
        return sum(one.memSize() + one.diskSize() for one in stored) + sum(in_files)

    def close(self) -> None:
        self._session.stop()
        self._cluster.close()


def bytes_of_worker(dask_worker: Any) -> int:
    """What a Dask worker holds, pickled: it cannot tell the size of tables itself."""
    return sum(len(cloudpickle.dumps(one)) for one in dask_worker.data.values())


def no_answer(batches: Iterator[Any]) -> Iterator[Any]:
    for _ in batches:
        pass
    yield from ()


ENGINES = {"dask": OnDask, "spark": OnSpark}


@contextmanager
def cluster_of(engine: str, folder: Path) -> Iterator[Any]:
    with TemporaryDirectory() as place:
        cluster = ENGINES[engine](folder, Path(place))
        try:
            yield cluster
        finally:
            cluster.close()


def seconds(work: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def floor(cluster: Any, n_partitions: int, n_jobs: float) -> float:
    """The seconds of so many empty jobs: the median of several, after some that warm up."""
    taken = [seconds(lambda: cluster.empty_job(n_partitions)) for _ in range(8)]
    return n_jobs * median(taken[3:])


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


def compare_rounds(folder: Path, engines: Sequence[str], partitions: Sequence[int]) -> dict[str, Any]:
    rows = pd.read_parquet(folder)
    X, y = rows.drop(columns=["is_fraud", "number"]), rows["is_fraud"]
    results = []
    for n_jobs in (1, 2):
        local = model().set_params(n_jobs=n_jobs).fit(X, y)
        results.append({"engine": f"memory, {n_jobs} threads", "partitions": 1, "opening": 0.0, **per_round(local)})
    expected = local.predict_proba(X.iloc[::100])
    for name in engines:
        with cluster_of(name, folder) as cluster:
            for n_partitions in partitions:
                begin = time.perf_counter()
                table = cluster.open(n_partitions)
                opening = significant(time.perf_counter() - begin)
                fitted, traffic = fit_on_cluster(table)
                kept = cluster.bytes_kept() / (len(X) * N_FEATURES * 4)
                if not np.array_equal(fitted.predict_proba(X.iloc[::100]), expected):
                    raise SystemExit(f"{name} with {n_partitions} partitions gave another model")
                facts = per_round(fitted, traffic)
                lowest = significant(floor(cluster, n_partitions, 2))
                facts |= {"floor": lowest, "kept": significant(kept)}
                results.append({"engine": name, "partitions": n_partitions, "opening": opening, **facts})
                print(f"{name}, {n_partitions} partitions: {facts['asking']} s a round, floor {lowest} s", flush=True)
                del table
    print(table_of(results))
    for n_partitions in partitions:
        asking = {one["engine"]: one["asking"] for one in results if one["partitions"] == n_partitions}
        if {"spark", "dask"} <= asking.keys():
            print(
                f"{n_partitions} partitions: Spark takes {asking['spark'] / asking['dask']:.2f} times as long as Dask"
            )
    return {"rows": len(X), "features": N_FEATURES, "minority": int(y.sum()), "per_round": results}


def compare_fits(folder: Path) -> dict[str, Any]:
    """A whole fit of the files, from opening them to the last member."""
    from lightgbm import LGBMClassifier

    base = LGBMClassifier(n_estimators=50, num_leaves=31, verbose=-1)
    begin = time.perf_counter()
    local = model(base).set_params(n_jobs=2).fit_table(open_table(folder, target="is_fraud", id_column="number"))
    taken = {"files": time.perf_counter() - begin}
    with cluster_of("spark", folder) as cluster:
        begin = time.perf_counter()
        table = cluster.open(None)
        opening = time.perf_counter() - begin
        fitted = model(base).set_params(n_jobs=2).fit_table(table)
        taken["spark"] = time.perf_counter() - begin
    sample = pd.read_parquet(folder / "0000.parquet").drop(columns=["is_fraud", "number"]).iloc[::100]
    if not np.array_equal(fitted.predict_proba(sample), local.predict_proba(sample)):
        raise SystemExit("Spark gave another model than the files")
    ratio = taken["spark"] / taken["files"]
    print(f"files {taken['files']:.1f} s, Spark {taken['spark']:.1f} s (opening {opening:.1f} s): {ratio:.2f} times")
    return {"seconds": {name: significant(value) for name, value in taken.items()}, "ratio": significant(ratio)}


def ask_of_blends(folder: Path, engines: Sequence[str], partitions: Sequence[int]) -> dict[str, Any]:
    """What a default blend asks of a cluster, and what it would save if its recipes asked together."""
    results = []
    for name in engines:
        with cluster_of(name, folder) as cluster:
            for n_partitions in partitions:
                table, asked = cluster.open(n_partitions), []

                def begin(table: Any = table, asked: list[TimedEngine] = asked) -> TimedEngine:
                    asked.append(TimedEngine(table.begin()))
                    return asked[-1]

                blend = AutoSelfPacedClassifier(random_state=0)
                whole = seconds(
                    lambda blend=blend, begin=begin, table=table: blend.fit_table(replace(table, begin=begin))
                )
                trained = [one.questions for one in asked[1:]]  # the first one draws the samples for judging
                n_saved = sum(trained) - max(trained)
                facts = {
                    "engine": name,
                    "partitions": n_partitions,
                    "recipes": len(trained),
                    "questions": sum(one.questions for one in asked),
                    "whole": whole,
                    "asking": sum(one.seconds for one in asked),
                    "jobs_saved": n_saved,
                    "saved": floor(cluster, n_partitions, n_saved),
                }
                results.append(
                    {key: significant(value) if isinstance(value, float) else value for key, value in facts.items()}
                )
                print(
                    results[-1],
                    [one.questions for one in asked],
                    f"{facts['saved'] / whole:.1%} of the fit",
                    flush=True,
                )
    return {"features": N_FEATURES, "blends": results}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, help="2,000,000 by default, and 20,000,000 with --fit")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--partitions", nargs="+", type=int, default=[2, 8, 32])
    parser.add_argument("--fit", action="store_true", help="compare whole fits instead of rounds")
    parser.add_argument("--blend", action="store_true", help="fit a default blend instead of one ensemble")
    options = parser.parse_args()
    n_rows = options.rows or (20_000_000 if options.fit else 2_000_000)
    folder = files(n_rows)
    if options.fit:
        name, result = "cluster_fit", {"rows": n_rows, **compare_fits(folder)}
    elif options.blend:
        name, result = "cluster_blend", {"rows": n_rows, **ask_of_blends(folder, options.engines, options.partitions)}
    else:
        name, result = "cluster", compare_rounds(folder, options.engines, options.partitions)
    print(save(name, result, versions_of(PACKAGES)))


def table_of(results: Sequence[dict[str, Any]]) -> str:
    header = [
        "",
        "partitions",
        "open s",
        "ask s",
        "of 1 thread",
        "fit s",
        "floor s",
        "kept",
        "questions",
        "rows",
        "kB in",
        "kB out",
    ]
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
                f"{one.get('floor', 0):.3f}",
                f"{one.get('kept', 0):.2f}",
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
