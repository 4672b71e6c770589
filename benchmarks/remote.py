"""Claim: from S3 with `cache=`, the second round onwards costs what local files cost: at most 1.1 times as much.

    python benchmarks/remote.py [--rows 2000000] [--repeats 3]

The same Parquet files are fitted from a local folder, from an S3 server on this machine (moto, a process of its own)
with copies in a cache, and without copies, in turn. The seconds are those of the rounds after the first, where copies
are read; the seconds of making the copies are shown beside them. The server is slow, so the line without copies says
little about a real one.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from pyarrow import fs

from outofcore import FOLDER, files, model
from record import save, significant, versions_of
from selfpaced import open_table
from text_table import text_table

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the server of the tests
from tests.servers import S3Server

CACHE = FOLDER / "copies"
PACKAGES = ("selfpaced", "scikit-learn", "numpy", "pyarrow", "moto")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    folder = files(options.rows)
    server = S3Server()
    os.environ.update(server.environment)
    try:
        fs.copy_files(str(folder), "bucket/rows", destination_filesystem=server.filesystem())
        runs = [run for _ in range(options.repeats) for run in compared(folder)]
    finally:
        server.stop()
        shutil.rmtree(CACHE, ignore_errors=True)
    report(runs, options)


def compared(folder: Path) -> list[dict[str, Any]]:
    """One run of each way, in turn, so that other work on the machine disturbs all alike."""
    shutil.rmtree(CACHE, ignore_errors=True)
    return [
        measured("local files", folder),
        measured("S3 with cache=", "s3://bucket/rows/", cache=CACHE),
        measured("S3 without", "s3://bucket/rows/"),
    ]


def measured(name: str, source: Any, **options: Any) -> dict[str, Any]:
    begin = time.perf_counter()
    table = open_table(source, target="is_fraud", **options)
    opened = time.perf_counter()
    fitted = model().fit_table(table)
    later = [one.seconds_scoring + one.seconds_drawing + one.seconds_fitting for one in fitted.rounds_[1:]]
    return {"source": name, "opening": opened - begin, "round": sum(later) / len(later)}


def report(runs: list[dict[str, Any]], options: argparse.Namespace) -> None:
    names = list(dict.fromkeys(run["source"] for run in runs))
    rounds = {name: [run["round"] for run in runs if run["source"] == name] for name in names}
    opening = {name: median(run["opening"] for run in runs if run["source"] == name) for name in names}
    local = median(rounds["local files"])
    lines = [
        [name, *(f"{value:.2f}" for value in (opening[name], median(rounds[name]), median(rounds[name]) / local))]
        for name in names
    ]
    print(f"{options.rows:,} rows, medians of {options.repeats} runs:\n")
    print(text_table(["source", "seconds to open", "seconds a round", "ratio to local files"], lines))
    figures = [{name: one if name == "source" else significant(one) for name, one in run.items()} for run in runs]
    print(f"\nsaved in {save('remote', {'rows': options.rows, 'runs': figures}, versions_of(PACKAGES))}")


if __name__ == "__main__":
    main()
