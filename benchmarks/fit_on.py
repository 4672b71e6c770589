"""Claim: members that do not depend on each other are trained faster on a Dask cluster than by the driver.

    python benchmarks/fit_on.py [--rows 400000] [--rare 40000] [--repeats 3]

Under-bagging with LightGBM members of one thread, on two workers with one core each: two members at a time, at best.
Driver and workers share this machine, so that at least two free cores are needed for a gain. The members are compared,
too.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier

from record import save, significant, versions_of
from selfpaced.datasets import make_fraud
from selfpaced.ensembles import UnderBaggingClassifier
from selfpaced.tables.sources import open_table
from text_table import text_table

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT))  # the clusters are those of the tests
MEMBERS, N_FEATURES, PARTITIONS = 8, 20, 2
PACKAGES = ("selfpaced", "scikit-learn", "numpy", "lightgbm", "dask")


def model() -> UnderBaggingClassifier:
    base = LGBMClassifier(n_estimators=100, n_jobs=1, verbose=-1)
    return UnderBaggingClassifier(base, MEMBERS, random_state=0)


@contextmanager
def on_dask(folder: Path) -> Iterator[tuple[Any, dict[str, Any]]]:
    import dask.dataframe as dd

    from tests.cluster.dask_cluster import DaskCluster

    cluster = DaskCluster(folder)
    try:
        yield dd.read_parquet(folder / "rows.parquet").repartition(npartitions=PARTITIONS), {"client": cluster.client}
    finally:
        cluster.close()


def measured(folder: Path, n_repeats: int) -> Iterator[dict[str, Any]]:
    """Seconds of a fit without the opening of the table, with members of the driver and of the cluster."""
    with on_dask(folder) as (frame, options):
        known: list[str] = []
        for fit_on in ("driver", "executor"):
            table = open_table(frame, target="is_fraud", id_column="number", fit_on=fit_on, **options)
            seconds = []
            for _ in range(n_repeats):
                begin = time.perf_counter()
                fitted = model().fit_table(table)
                seconds.append(time.perf_counter() - begin)
            members = [member.booster_.model_to_string() for member in fitted.estimators_]
            known = known or members
            yield {
                "fit_on": fit_on,
                "seconds": significant(median(seconds), 3),
                "identical": members == known,
            }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--rare", type=int, default=40_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    X, y = make_fraud(options.rows, options.rare, n_features=N_FEATURES, random_state=0)
    rows = pd.DataFrame(X, columns=[f"V{i}" for i in range(N_FEATURES)]).assign(is_fraud=y, number=np.arange(len(y)))
    with TemporaryDirectory() as folder:
        rows.to_parquet(Path(folder) / "rows.parquet", index=False)
        found = list(measured(Path(folder), options.repeats))
    header = ["fit_on", "seconds", "identical"]
    print(text_table(header, [[str(one[name]) for name in header] for one in found], words=1))
    parameters = {"rows": options.rows, "rare": options.rare, "members": MEMBERS}
    print(save("fit_on", {**parameters, "fits": found}, versions_of(PACKAGES)))


if __name__ == "__main__":
    main()
