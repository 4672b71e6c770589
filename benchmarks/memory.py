"""The memory that evaluating and reporting on a large file take, beyond Python, its packages and the model.

    python benchmarks/memory.py --rows 6_000_000 --columns 10

Each job runs in a process of its own. Its figure is the peak of the resident memory during the job, less the resident
memory before it.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.ensemble import HistGradientBoostingClassifier

from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.persistence import save_model
from selfpaced.persistence.files import load_model
from selfpaced.tables.sources import open_table

ROWS_AT_ONCE = 2**18
PAGE = resource.getpagesize()
MEGABYTE = 10**6


def write_table(path: Path, n_rows: int, n_columns: int) -> None:
    """Rows of float32, one in a hundred of them rare, with an id each."""
    rng = np.random.default_rng(0)
    names = [f"c{number}" for number in range(n_columns)]
    schema = pa.schema([*((name, pa.float32()) for name in names), ("id", pa.int64()), ("y", pa.int8())])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, n_rows, ROWS_AT_ONCE):
            n = min(ROWS_AT_ONCE, n_rows - start)
            y = (rng.random(n) < 0.01).astype(np.int8)
            columns = [(rng.normal(size=n) + 0.5 * y).astype(np.float32) for _ in names]
            writer.write_table(pa.table([*columns, np.arange(start, start + n), y], schema=schema))


def evaluate(model, path: Path) -> None:
    model.evaluate_table(path)


def evaluate_by_rule(model, path: Path) -> None:
    from selfpaced.cli.commands.evaluate import Judging
    from selfpaced.cli.commands.evaluate import evaluate as judge

    judge(model, path, "y", Judging(rule="f1"))


def report(model, path: Path) -> None:
    from selfpaced.cli.commands.report import ReportRequest, report_of_file

    report_of_file(model, path, ReportRequest(id="id")).to_html()


def report_streamed(model, path: Path) -> None:
    """As on a machine whose memory the rows would fill."""
    from selfpaced.cli import opening

    opening.SHARE_OF_MEMORY = 0.0
    report(model, path)


JOBS = {job.__name__: job for job in (evaluate, evaluate_by_rule, report, report_streamed)}


def measured(job: str, folder: Path) -> float:
    """Megabytes of one job in this process."""
    import selfpaced.cli.commands.evaluate
    import selfpaced.cli.commands.report  # noqa: F401

    model = load_model(folder / "model.skops")
    JOBS[job](model, folder / "warm_up.parquet")  # what packages load on their first use is not the table's
    before = int(Path("/proc/self/statm").read_text().split()[1]) * PAGE
    JOBS[job](model, folder / "rows.parquet")
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before) / MEGABYTE


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=6_000_000)
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--jobs", nargs="+", choices=JOBS, default=list(JOBS))
    parser.add_argument("--worker", nargs=2, metavar=("JOB", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(measured(options.worker[0], Path(options.worker[1]))))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_table(folder / "rows.parquet", options.rows, options.columns)
        write_table(folder / "warm_up.parquet", 20_000, options.columns)
        table = open_table(folder / "warm_up.parquet", target="y", exclude=["id"])
        base = HistGradientBoostingClassifier(max_iter=30)  # nearly every row has a score of its own
        model = SelfPacedEnsembleClassifier(base, 3, random_state=0).fit_table(table)
        save_model(model, folder / "model.skops")
        for job in options.jobs:
            command = [sys.executable, __file__, "--worker", job, str(folder)]
            megabytes = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
            print(f"{job:<18}{megabytes:8,.0f} MB, {MEGABYTE * megabytes / options.rows:6.1f} bytes a row", flush=True)


if __name__ == "__main__":
    main()
