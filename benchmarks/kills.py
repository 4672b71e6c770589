"""Claim: whatever is killed during a fit on a cluster, and whenever, the fit ends with the model of a fit in memory.

    python benchmarks/kills.py [--kills 20] [--engines dask spark] [--rows 30000] [--seed 0]

Every kill is a `kill -9` at a random moment of a fit with a checkpoint: of a worker (an executor on Spark), after which
the same fit goes on, or of the driver with all its processes, after which another driver resumes from the checkpoint.
The scheduler or master is not killed: it is the cluster. Members are boosted trees and single trees in turn.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import psutil
from lightgbm import LGBMClassifier
from sklearn.tree import DecisionTreeClassifier

from record import RESULTS, save, versions_of
from selfpaced.datasets import make_fraud
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.persistence import save_model
from selfpaced.persistence.files import load_model
from selfpaced.tables.sources import open_table
from text_table import text_table

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT))  # the clusters are those of the tests
MEMBERS, PARTITIONS, N_FEATURES, N_FRAUDS = 8, 4, 10, 300
TREE, BOOSTER = DecisionTreeClassifier(max_depth=8), LGBMClassifier(n_estimators=20, verbose=-1)
MOST_SECONDS, SECONDS_OF_THE_FIRST = 600, 1.0
HEADER = ["engine", "base", "killed", "rows", "rounds finished", "identical"]
PACKAGES = ("selfpaced", "scikit-learn", "numpy", "lightgbm", "dask", "pyspark")


def model(base: str) -> SelfPacedEnsembleClassifier:
    return SelfPacedEnsembleClassifier({"tree": TREE, "lightgbm": BOOSTER}[base], MEMBERS, random_state=0)


def dumped(fitted: SelfPacedEnsembleClassifier) -> list[Any]:
    """All there is to know of the members."""
    return [
        each.booster_.model_to_string()
        if isinstance(each, LGBMClassifier)
        else {name: np.asarray(value).tolist() for name, value in each.tree_.__getstate__().items()}
        for each in fitted.estimators_
    ]


class Dask:
    """A scheduler and two workers."""

    killed_part = "a worker"

    def __init__(self, folder: Path) -> None:
        from tests.cluster.dask_cluster import DaskCluster

        self._cluster = DaskCluster(folder)
        self.address = self._cluster.client.scheduler.address
        self.close = self._cluster.close

    def kill_a_part(self) -> None:
        self._cluster.kill_a_worker()
        self._cluster.start_worker()

    @staticmethod
    @contextmanager
    def table(address: str, path: str) -> Iterator[Any]:
        import dask.dataframe as dd
        from distributed import Client

        with Client(address) as client:
            frame = dd.read_parquet(path).repartition(npartitions=PARTITIONS)
            yield open_table(frame, target="is_fraud", id_column="number", client=client)


class Spark:
    """A master and two workers with an executor each."""

    killed_part = "an executor"

    def __init__(self, folder: Path) -> None:
        from tests.cluster.spark_cluster import SparkCluster

        self._cluster = SparkCluster(folder)
        self.address = self._cluster.url
        self.close = self._cluster.close

    def kill_a_part(self) -> None:
        self._cluster.kill_an_executor()

    @staticmethod
    @contextmanager
    def table(address: str, path: str) -> Iterator[Any]:
        from pyspark.sql import SparkSession

        from tests.cluster.spark_cluster import SETTINGS, WARM_WORKERS

        memory = {"spark.executor.memory": "512m"}
        spark = SparkSession.builder.master(address).config(map=SETTINGS | WARM_WORKERS | memory).getOrCreate()
        frame = spark.read.parquet(path).repartition(PARTITIONS)
        yield open_table(frame, target="is_fraud", id_column="number")
        spark.stop()


ENGINES = {"dask": Dask, "spark": Spark}


def drive(engine: str, address: str, path: str, base: str, folder: str) -> None:
    """What a driver's process does."""
    with (Path(folder) / "log.txt").open("a") as log:
        os.dup2(log.fileno(), sys.stdout.fileno())
        os.dup2(log.fileno(), sys.stderr.fileno())
    with ENGINES[engine].table(address, path) as table:
        fitted = model(base).fit_table(table, checkpoint=Path(folder) / "checkpoint")
    save_model(fitted, Path(folder) / "model.skops")


# Drivers are forks of a process that has imported what they need: to import it takes longer than a fit.
PROCESSES = get_context("forkserver")
PROCESSES.set_forkserver_preload(
    ["__main__", "dask.dataframe", "distributed", "pyspark.sql", "selfpaced.clusters.spark.table"]
)


class Driver:
    """A fit in a process of its own."""

    def __init__(self, given: list[str], folder: Path) -> None:
        self._checkpoint = folder / "checkpoint"
        self._log = folder / "log.txt"
        self._process = PROCESSES.Process(target=drive, args=[*given, str(folder)])
        self._process.start()

    def wait_for_rounds(self, n_rounds: int) -> None:
        """Until so many rounds are finished; for none, until it is known what is to be fitted."""
        deadline = time.monotonic() + MOST_SECONDS
        while not (self._checkpoint / "plan.json").exists() or self.rounds_finished() < n_rounds:
            if not self._process.is_alive() or time.monotonic() > deadline:
                raise RuntimeError(f"The fit did not go on:\n{self._log.read_text()[-3000:]}")
            time.sleep(0.01)

    def wait(self) -> None:
        self._process.join(MOST_SECONDS)
        if self._process.exitcode != 0:
            raise RuntimeError(f"The fit failed:\n{self._log.read_text()[-3000:]}")

    def is_running(self) -> bool:
        return self._process.is_alive()

    def rounds_finished(self) -> int:
        return len(list(self._checkpoint.glob("round-*.skops")))

    def kill(self) -> None:
        """With Spark's JVM, as when a machine fails."""
        processes = [*psutil.Process(self._process.pid).children(recursive=True), psutil.Process(self._process.pid)]
        for one in processes:
            with suppress(psutil.NoSuchProcess):  # it went with another
                one.kill()
        self._process.join()


def kill(cluster: Any, what: str, given: list[str], folder: Path, moment: float) -> dict[str, Any] | None:
    """One fit with one kill, at a moment in rounds, as 2.7; None if the rounds were over by then."""
    driver = Driver(given, folder)
    driver.wait_for_rounds(0)
    begin = time.monotonic()
    driver.wait_for_rounds(int(moment))
    per_round = (time.monotonic() - begin) / int(moment) if moment >= 1 else SECONDS_OF_THE_FIRST
    time.sleep(moment % 1 * per_round)
    finished = driver.rounds_finished()
    if finished > MEMBERS or not driver.is_running():
        driver.wait()
        return None
    if what == "the driver":
        driver.kill()
        finished = driver.rounds_finished()
        driver = Driver(given, folder)
    else:
        cluster.kill_a_part()
    driver.wait()
    return {"killed": what, "rounds finished": finished}


def kills_on(engine: str, options: argparse.Namespace, rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
    features, dice = rows.drop(columns=["is_fraud", "number"]), random.Random(options.seed)
    expected = {base: dumped(model(base).fit(features, rows["is_fraud"])) for base in ("tree", "lightgbm")}
    n_found = 0
    with TemporaryDirectory() as temporary:
        here = Path(temporary)
        rows.to_parquet(here / "rows.parquet", index=False)
        cluster = ENGINES[engine](here)
        try:
            while n_found < options.kills:
                base, what = _next(cluster, n_found)
                given, folder = [engine, cluster.address, str(here / "rows.parquet"), base], here / "fit"
                folder.mkdir()
                note = kill(cluster, what, given, folder, dice.uniform(0, MEMBERS + 1))
                if note is not None:
                    identical = dumped(load_model(folder / "model.skops")) == expected[base]
                    yield {"engine": engine, "rows": len(rows), "base": base, **note, "identical": identical}
                    n_found += 1
                shutil.rmtree(folder)
        finally:
            cluster.close()


def _next(cluster: Any, number: int) -> tuple[str, str]:
    return ("tree", "lightgbm")[number // 2 % 2], (cluster.killed_part, "the driver")[number % 2]


def main() -> None:
    from tests.cluster.spark_cluster import local_environment

    os.environ.update(local_environment())  # before the process starts whose forks are the drivers
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20, help="on each engine")
    parser.add_argument("--engines", nargs="+", choices=sorted(ENGINES), default=sorted(ENGINES))
    parser.add_argument("--rows", type=int, default=30_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    X, y = make_fraud(options.rows, N_FRAUDS, n_features=N_FEATURES, random_state=0)
    rows = pd.DataFrame(X, columns=[f"V{i}" for i in range(N_FEATURES)]).assign(is_fraud=y, number=np.arange(len(y)))
    found = _of_other_engines(options.engines)
    for engine in options.engines:
        for one in kills_on(engine, options, rows):
            print(one, flush=True)
            found.append(one)
            # A run of an hour that is broken off keeps what it has.
            record = {"members": MEMBERS, "partitions": PARTITIONS, "kills": found}
            save("kills", record, versions_of(PACKAGES))
    print(text_table(HEADER, [[str(one[name]) for name in HEADER] for one in found], words=3))
    print(f"{sum(one['identical'] for one in found)} of {len(found)} models are identical to the one in memory.")


def _of_other_engines(engines: list[str]) -> list[dict[str, Any]]:
    """What the record has of engines that are not asked about now."""
    record = RESULTS / "kills.json"
    kept = json.loads(record.read_text())["kills"] if record.exists() else []
    return [one for one in kept if one["engine"] not in engines]


if __name__ == "__main__":
    main()
