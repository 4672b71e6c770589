"""Claim: from S3 with `cache=`, the second round onwards costs what local files cost: at most 1.1 times as much.

    python benchmarks/remote.py [--rows 2000000] [--repeats 3]
    python benchmarks/remote.py --rows 50000000 --limit-gb 1.2

The same Parquet files are fitted from a local folder, from an S3 server on this machine (moto, a process of its own)
with copies in a cache, and without copies, in turn. The seconds are those of the rounds after the first, where copies
are read; the seconds of making the copies are shown beside them. The server is slow, so the line without copies says
little about a real one. With `--limit-gb`, one fit with copies runs in a process that may not take more memory; the
server keeps all rows in its own.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from pyarrow import fs

from outofcore import FOLDER, FRUGAL, GIGABYTE, MEMBERS_UNDER_LIMIT, files, model, peak_gb
from record import save, significant, versions_of
from selfpaced.tables.sources import open_table
from text_table import text_table

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the server of the tests
from tests.servers import S3Server

CACHE = FOLDER / "copies"
PACKAGES = ("selfpaced", "scikit-learn", "numpy", "pyarrow", "moto")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit-gb", type=float)
    parser.add_argument("--limited", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.limited:
        fit_limited(options.limit_gb)
        return
    folder = files(options.rows)
    server = S3Server()
    os.environ.update(server.environment)
    try:
        fs.copy_files(str(folder), "bucket/rows", destination_filesystem=server.filesystem())
        if options.limit_gb:
            command = [sys.executable, __file__, "--limited", "--limit-gb", str(options.limit_gb)]
            subprocess.run(command, env=os.environ | FRUGAL, check=True)
            return
        runs = [run for _ in range(options.repeats) for run in compared(folder)]
    finally:
        server.stop()
        shutil.rmtree(CACHE, ignore_errors=True)
    report(runs, options)


def fit_limited(limit_gb: float) -> None:
    """A fit of a few members with copies, in a process that fails rather than takes more memory."""
    resource.setrlimit(resource.RLIMIT_DATA, (int(limit_gb * GIGABYTE),) * 2)
    begin = time.perf_counter()
    table = open_table("s3://bucket/rows/", target="is_fraud", cache=CACHE)
    opened = time.perf_counter()
    model().set_params(n_estimators=MEMBERS_UNDER_LIMIT).fit_table(table)
    done = time.perf_counter()
    print(f"{table.n_rows:,} rows copied in {opened - begin:.0f} s, {MEMBERS_UNDER_LIMIT} members fitted in ", end="")
    print(f"{done - opened:.0f} s, at most {peak_gb():.2f} GB of memory")


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
