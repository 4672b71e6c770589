"""Claim: a fit from Parquet files takes little more time than reading them, and a small part of their size as memory.

    python benchmarks/outofcore.py [--rows 50000000] [--in-memory-rows 5000000] [--limit-gb 1.2]

Files with generated transactions are written to .bench/outofcore/ and kept there. Each measurement runs in a process of
its own, whose peak memory is read at the end. A shorter fit of the same files runs with RLIMIT_DATA set, so that it
fails rather than takes more; as that limit counts what allocators reserve for later, it runs with one that reserves
little and takes three times as long. The floor is reading all columns of all rows as often as the fit does, and
training the members.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.tree import DecisionTreeClassifier

from record import save, significant, versions_of
from selfpaced.datasets import make_fraud
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.tables.sources import open_table
from text_table import text_table

FOLDER = Path(__file__).parents[1] / ".bench" / "outofcore"
N_FEATURES = 30
N_POSITIVES = 20_000
ROWS_PER_FILE = 1_000_000
ROW_GROUP_ROWS = 2**17
MEMBERS = 10
PACKAGES = ("selfpaced", "scikit-learn", "numpy", "pyarrow")
GIGABYTE = 2**30
MEMBERS_UNDER_LIMIT = 3
FRUGAL = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "2", "MALLOC_MMAP_THRESHOLD_": "65536"}
NAMES = [f"V{i}" for i in range(N_FEATURES)]


def files(n_rows: int) -> Path:
    """The folder with so many rows; written if it is not there."""
    folder = FOLDER / str(n_rows)
    done = FOLDER / f"{n_rows}.complete"
    if not done.exists():
        folder.mkdir(parents=True, exist_ok=True)
        for seed, start in enumerate(range(0, n_rows, ROWS_PER_FILE)):
            _write_file(folder / f"{seed:04}.parquet", min(ROWS_PER_FILE, n_rows - start), n_rows, seed)
            print(f"\rwriting {start + ROWS_PER_FILE:,} of {n_rows:,} rows", end="", flush=True)
        print()
        done.touch()
    return folder


def _write_file(path: Path, n_rows: int, of_rows: int, seed: int) -> None:
    n_frauds = max(2, min(N_POSITIVES, of_rows // 500) * n_rows // of_rows)
    X, y = make_fraud(n_rows, n_frauds, n_features=N_FEATURES, random_state=seed)
    columns = {name: X[:, i].astype(np.float32) for i, name in enumerate(NAMES)}
    pq.write_table(pa.table({**columns, "is_fraud": y.astype(np.int8)}), path, row_group_size=ROW_GROUP_ROWS)


def model() -> SelfPacedEnsembleClassifier:
    return SelfPacedEnsembleClassifier(DecisionTreeClassifier(max_depth=10), MEMBERS, n_jobs=-1, random_state=0)


def read(folder: Path) -> dict[str, Any]:
    """All columns of all rows, once: what no fit can do without."""
    n_rows = 0
    for path in sorted(folder.glob("*.parquet")):
        with pq.ParquetFile(path) as file:
            n_rows += sum(batch.num_rows for batch in file.iter_batches(batch_size=2**16))
    return {"rows": n_rows}


def fit_files(folder: Path) -> dict[str, Any]:
    fitted = model().fit_table(open_table(folder, target="is_fraud"))
    return {"base_fits": sum(round.seconds_fitting for round in fitted.rounds_)}


def fit_limited(folder: Path) -> dict[str, Any]:
    model().set_params(n_estimators=MEMBERS_UNDER_LIMIT).fit_table(open_table(folder, target="is_fraud"))
    return {}


def predict_files(folder: Path) -> dict[str, Any]:
    """Ten members trained on the first file score all of them."""
    fitted = model().fit_table(open_table(sorted(folder.glob("*.parquet"))[0], target="is_fraud"))
    output = folder.parent / "scores.parquet"
    begin = time.perf_counter()
    fitted.write_predictions(folder, output)
    seconds = time.perf_counter() - begin
    output.unlink()
    return {"predict": seconds}


def fit_memory(folder: Path) -> dict[str, Any]:
    table = pq.read_table(folder).to_pandas()
    model().fit(table[NAMES], table["is_fraud"])
    return {}


WORK = {
    "read": read,
    "fit_files": fit_files,
    "fit_limited": fit_limited,
    "predict_files": predict_files,
    "fit_memory": fit_memory,
}


def measured(work: str, folder: Path, limit: float | None = None) -> dict[str, Any]:
    """Run some work in a process of its own: seconds, and the most memory it had."""
    command = [sys.executable, __file__, "--work", work, "--folder", str(folder), "--limit-gb", str(limit or 0)]
    environment = os.environ | FRUGAL if limit else os.environ
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        raise SystemExit(f"{work} failed: {done.stderr[-2000:]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _work(name: str, folder: Path, limit: float) -> None:
    if limit:
        resource.setrlimit(resource.RLIMIT_DATA, (int(limit * GIGABYTE),) * 2)
    begin = time.perf_counter()
    facts = WORK[name](folder)
    print(json.dumps({"seconds": time.perf_counter() - begin, "peak_gb": peak_gb(), **facts}))


def peak_gb() -> float:
    """From the process's own status: getrusage tells of the parent's peak too, if that was higher."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=50_000_000)
    parser.add_argument("--in-memory-rows", type=int, default=5_000_000)
    parser.add_argument("--limit-gb", type=float, default=1.2)
    parser.add_argument("--work", choices=WORK, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        _work(options.work, options.folder, options.limit_gb)
        return

    large, small = files(options.rows), files(options.in_memory_rows)
    reading = measured("read", large)
    fit = measured("fit_files", large)
    predict = measured("predict_files", large)
    limited = measured("fit_limited", large, options.limit_gb)
    passes = MEMBERS + 1  # the first for the minority and the warm-up's rows, then one for each round
    floor = passes * reading["seconds"] + fit["base_fits"]
    from_files, in_memory = measured("fit_files", small), measured("fit_memory", small)

    decoded = options.rows * N_FEATURES * 4 / GIGABYTE
    rows = [
        ["read once", f"{options.rows:,}", f"{reading['seconds']:.1f}", f"{reading['peak_gb']:.2f}"],
        ["fit from files", f"{options.rows:,}", f"{fit['seconds']:.1f}", f"{fit['peak_gb']:.2f}"],
        ["predict to a file", f"{options.rows:,}", f"{predict['predict']:.1f}", f"{predict['peak_gb']:.2f}"],
        [
            "fit from files",
            f"{options.in_memory_rows:,}",
            f"{from_files['seconds']:.1f}",
            f"{from_files['peak_gb']:.2f}",
        ],
        [
            "load and fit in memory",
            f"{options.in_memory_rows:,}",
            f"{in_memory['seconds']:.1f}",
            f"{in_memory['peak_gb']:.2f}",
        ],
    ]
    rows.insert(
        3,
        [
            f"fit of {MEMBERS_UNDER_LIMIT} members, memory limited to {options.limit_gb:g} GB",
            f"{options.rows:,}",
            f"{limited['seconds']:.1f}",
            f"{limited['peak_gb']:.2f}",
        ],
    )
    print(text_table(["", "rows", "seconds", "peak GB"], rows))
    ratios = {
        "fit / floor (target at most 2)": fit["seconds"] / floor,
        "fit from files / in memory (target at most 1.5)": from_files["seconds"] / in_memory["seconds"],
        "decoded data / peak memory of the fit": decoded / fit["peak_gb"],
        "rows a second in a pass of the fit": options.rows * passes / (fit["seconds"] - fit["base_fits"]),
    }
    for name, ratio in ratios.items():
        print(f"{name}: {ratio:,.2f}")
    result = {
        "rows": options.rows,
        "in_memory_rows": options.in_memory_rows,
        "limit_gb": options.limit_gb,
        "measured": {
            "read": reading,
            "fit": fit,
            "predict": predict,
            "limited": limited,
            "files": from_files,
            "memory": in_memory,
        },
        "ratios": {name: significant(ratio) for name, ratio in ratios.items()},
    }
    print("saved", save("outofcore", result, versions_of(PACKAGES)))


if __name__ == "__main__":
    main()
