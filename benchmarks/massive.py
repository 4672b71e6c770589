"""Claim: the cost of a fit is a constant for each common row and round, from ten million rows to a billion.

    python benchmarks/massive.py [--quick] [--only TEXT ...] [--rounds N] [--until HH:MM] [--show]

The rows are those of `massive_rows.py`: 20 float32 features and 10,000 rare rows among 10^6 to 10^9 common ones. They
are generated anew in every pass ("streamed"), written once to Parquet files in a temporary folder ("files"), or read
from such files by a Spark cluster of two workers on this machine ("spark"). A fit has ten LightGBM members of ten
trees. Fits of the largest tables are stopped after the number of rounds that is shown.

Processor time is that of all threads of a process, and of all processes of a Spark cluster: unlike seconds, it does not
grow much if other programs share the processor. Still, programs that share a cache make each other slower.

- Floors, in the same run: reading the files, or generating the rows, as often as the fit does, and training the
  members. The second floor adds that LightGBM itself scores the rows with every member.
- Model: the processor seconds of the first pass and of a round are straight lines over the number of rows; a member
  takes the median of all. They are fitted to all smaller sizes with the smallest relative errors, and compared with
  the largest size, which is left out.
- Others, on the same rows: LightGBM on all rows in memory, and XGBoost in external memory, with 100 trees each.

Every measurement runs in a process of its own and is kept in .bench/massive/: a run that was stopped goes on where it
was. Measurements that benchmarks/results/massive.json marks as `former`, of a machine that is gone, are shown apart
from the others, and are not part of the model. `--until` begins no further round after a time of day. `--show` prints
what has been measured. The tables are also written to docs/guide/larger-than-memory.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from lightgbm import Dataset, LGBMClassifier
from sklearn.metrics import average_precision_score

from massive_report import lines_of, with_lines
from massive_rows import CHUNKS_PER_FILE, N_RARE, NAMES, ROWS_PER_CHUNK, TARGET, Rows, streamed, test_rows, write_files
from record import RESULTS, save, versions_of
from selfpaced.callbacks import Callback, Stop
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.tables.sources import open_table

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / ".bench" / "massive"
PAGE = ROOT / "docs" / "guide" / "larger-than-memory.md"
MEMBERS, TREES = 10, 10
TEST_CHUNKS, TEST_RARE = 40, 2000
QUICK_TEST = (2, 200)
PACKAGES = ("selfpaced", "scikit-learn", "lightgbm", "xgboost", "numpy", "pyarrow", "pyspark")
# Of each kind of work, the numbers of common rows and of rounds.
CELLS = {
    "streamed": {10**6: 10, 10**7: 10, 10**8: 10, 10**9: 2},
    "files": {10**6: 10, 10**7: 10, 10**8: 10},
    "spark": {10**6: 10, 3 * 10**6: 10, 10**7: 10},
    "lightgbm": {10**6: 1, 10**7: 1},
    "xgboost": {10**6: 1, 10**7: 1},
}
QUICK = {kind: {10**5: 2} for kind in CELLS}
Facts = dict[str, Any]


def clock() -> np.ndarray:
    return np.array([time.process_time(), time.perf_counter()])


def took(begin: np.ndarray) -> dict[str, float]:
    return dict(zip(("cpu", "seconds"), (clock() - begin).tolist(), strict=True))


def peak_gb() -> float:
    """From the process's own status: getrusage tells of the parent's peak too, if that was higher."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) / 2**20


def bytes_read() -> int:
    """What this process has asked files for, also if the kernel still had it in memory."""
    counts = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(counts["rchar"])


FITS: list[float] = []


def note_fits() -> None:
    """From now on, note the processor time of every fit of LightGBM."""
    fit = LGBMClassifier.fit

    def noted(self: Any, *arguments: Any, **options: Any) -> Any:
        begin = time.process_time()
        fitted = fit(self, *arguments, **options)
        FITS.append(time.process_time() - begin)
        return fitted

    LGBMClassifier.fit = noted


class Notes(Callback):
    """Notes what each round took, and stops the fit after some rounds or a time of day."""

    def __init__(self, n_rounds: int, until: str | None) -> None:
        self._n_rounds, self._until = n_rounds, until
        self.rounds: list[Facts] = []

    def on_fit_begin(self, plan: Any) -> None:
        self.begin = self._last = clock()

    def on_round_end(self, round: Any) -> Stop | None:
        self.rounds.append({**took(self._last), "cpu_fitting": FITS[-1], "reading": round.seconds_reading})
        self._last = clock()
        print(json.dumps({"round": round.number, **self.rounds[-1], "peak_gb": peak_gb()}), file=sys.stderr, flush=True)
        is_late = self._until is not None and f"{datetime.now():%H:%M}" >= self._until
        return Stop(keep=round.number) if round.number and (round.number >= self._n_rounds or is_late) else None


def member() -> LGBMClassifier:
    return LGBMClassifier(n_estimators=TREES, num_leaves=31, learning_rate=0.3, n_jobs=1, verbose=-1)


def fitted(open_rows: Callable[[], Any], n_rounds: int, options: argparse.Namespace) -> tuple[Any, Facts]:
    """A fit with the time of each of its parts. The first pass is that of round 0, without the fit of its model."""
    note_fits()
    notes = Notes(n_rounds, options.until)
    model = SelfPacedEnsembleClassifier(member(), MEMBERS, n_jobs=1, random_state=0, callbacks=[notes])
    before, begin = bytes_read(), clock()
    model.fit_table(open_rows())
    facts = {**took(begin), "labels": float(notes.begin[0] - begin[0]), "rounds": notes.rounds}
    return model, facts | {"peak_gb": peak_gb(), "bytes": bytes_read() - before}


def judged(model: Any, options: argparse.Namespace) -> Facts:
    """AUCPRC on the test rows after each member, and what LightGBM itself takes to score a row by a member."""
    X, y = test_rows(*(QUICK_TEST if options.quick else (TEST_CHUNKS, TEST_RARE)))
    staged = model.staged_predict_proba(pd.DataFrame(X, columns=NAMES))
    aucprc = [float(average_precision_score(y, probabilities[:, 1])) for probabilities in staged]
    booster, some = model.estimators_[0].booster_, X[: 4 * ROWS_PER_CHUNK]
    begin = clock()
    booster.predict(some, num_threads=1)
    return {"aucprc": aucprc, "cpu_of_lightgbm": took(begin)["cpu"] / len(some)}


def floor_of(read: Callable[[], int]) -> Facts:
    """Reading all rows once."""
    begin = clock()
    n_rows = read()
    return {"rows": n_rows, **took(begin)}


def generated(n_common: int) -> int:
    rows = Rows(n_common)
    return sum(rows.batch(number, NAMES).num_rows for number in range(rows.n_chunks))


def read_files(folder: Path) -> int:
    n_rows = 0
    for path in sorted(folder.glob("*.parquet")):
        with pq.ParquetFile(path, pre_buffer=False) as file:
            n_rows += sum(batch.num_rows for batch in file.iter_batches(batch_size=2**16, columns=NAMES))
    return n_rows


def work_streamed(n_common: int, n_rounds: int, options: argparse.Namespace) -> Facts:
    model, facts = fitted(lambda: streamed(n_common), n_rounds, options)
    floor = floor_of(lambda: generated(min(n_common, 10**7)))
    return facts | judged(model, options) | {"floor": floor}


def work_files(n_common: int, n_rounds: int, options: argparse.Namespace) -> Facts:
    floors = [floor_of(lambda: read_files(options.folder))]
    model, facts = fitted(lambda: open_table(options.folder, target=TARGET), n_rounds, options)
    floors.append(floor_of(lambda: read_files(options.folder)))
    return (
        facts | judged(model, options) | {"floor": {name: np.mean([one[name] for one in floors]) for name in floors[0]}}
    )


def work_spark(n_common: int, n_rounds: int, options: argparse.Namespace) -> Facts:
    """Processor time is that of this process, of the executors and of their Python workers."""
    import psutil

    sys.path.append(str(ROOT))  # the cluster is that of the tests
    from tests.cluster.spark_cluster import SparkCluster, local_environment

    os.environ.update(local_environment())
    note_fits()

    def cpu() -> float:
        mine = psutil.Process()
        times = [one.cpu_times() for one in (mine, *mine.children(recursive=True))]
        # A daemon's Python workers that have ended are counted with the daemon.
        return float(sum(one.user + one.system + one.children_user + one.children_system for one in times))

    with TemporaryDirectory() as place:
        cluster = SparkCluster(Path(place))
        try:
            session = cluster.session(executor_memory="2g", java_options="")
            frame = session.read.parquet(str(options.folder))
            frame.count()
            begin, seconds = cpu(), time.perf_counter()
            opened = open_table(frame, target=TARGET)
            notes = Notes(n_rounds, options.until)
            model = SelfPacedEnsembleClassifier(member(), MEMBERS, n_jobs=1, random_state=0, callbacks=[notes])
            model.fit_table(opened)
            facts = {"cpu": cpu() - begin, "seconds": time.perf_counter() - seconds, "labels": 0.0}
            session.stop()
        finally:
            cluster.close()
    return facts | {"rounds": notes.rounds, "peak_gb": peak_gb(), "bytes": 0} | judged(model, options)


def all_labels(rows: Rows) -> np.ndarray:
    return np.concatenate([rows.labels(number) for number in range(rows.n_chunks)])


def work_lightgbm(n_common: int, n_rounds: int, options: argparse.Namespace) -> Facts:
    """One model of all rows, as many trees as our members have together, weighted and not."""
    import lightgbm

    rows, begin = Rows(n_common), clock()
    X = np.concatenate([rows.features(number) for number in range(rows.n_chunks)], axis=1).T
    data = Dataset(X, all_labels(rows), free_raw_data=True, params={"verbose": -1}).construct()
    del X
    parameters = {"objective": "binary", "num_leaves": 31, "num_threads": 1, "verbose": -1}
    booster = lightgbm.train(parameters, data, MEMBERS * TREES)
    facts = {**took(begin), "peak_gb": peak_gb()}
    X, y = test_rows(*(QUICK_TEST if options.quick else (TEST_CHUNKS, TEST_RARE)))
    return facts | {"aucprc": [float(average_precision_score(y, booster.predict(X, num_threads=1)))]}


def work_xgboost(n_common: int, n_rounds: int, options: argparse.Namespace) -> Facts:
    """The same from a stream of chunks, which XGBoost keeps on disk in its own form."""
    import xgboost

    rows = Rows(n_common)

    class Stream(xgboost.DataIter):
        def __init__(self, folder: str) -> None:
            self._next = 0
            super().__init__(cache_prefix=str(Path(folder) / "cache"))

        def next(self, input_data: Callable[..., Any]) -> bool:
            if self._next == rows.n_chunks:
                return False
            some = range(self._next, min(self._next + CHUNKS_PER_FILE, rows.n_chunks))
            features = np.concatenate([rows.features(number) for number in some], axis=1)
            labels = np.concatenate([rows.labels(number) for number in some])
            input_data(data=np.ascontiguousarray(features.T), label=labels)
            self._next = some.stop
            return True

        def reset(self) -> None:
            self._next = 0

    begin = clock()
    with TemporaryDirectory(dir=FOLDER) as folder:
        data = xgboost.ExtMemQuantileDMatrix(Stream(folder), nthread=1)
        parameters = {"objective": "binary:logistic", "tree_method": "hist", "nthread": 1}
        booster = xgboost.train(
            parameters | {"grow_policy": "lossguide", "max_leaves": 31, "max_depth": 0, "eta": 0.1},
            data,
            MEMBERS * TREES,
        )
        facts = {**took(begin), "peak_gb": peak_gb()}
        del data
    X, y = test_rows(*(QUICK_TEST if options.quick else (TEST_CHUNKS, TEST_RARE)))
    return facts | {"aucprc": [float(average_precision_score(y, booster.predict(xgboost.DMatrix(X, nthread=1))))]}


WORK = {name.removeprefix("work_"): work for name, work in list(globals().items()) if name.startswith("work_")}


def measure(kind: str, n_common: int, n_rounds: int, options: argparse.Namespace) -> Facts:
    """Run one measurement in a process of its own. Files are written for it, and removed."""
    command = [sys.executable, __file__, "--work", kind, str(n_common), str(n_rounds)]
    command += ["--quick"] if options.quick else []
    command += ["--until", options.until] if options.until else []
    needs_files = kind in ("files", "spark")
    with TemporaryDirectory(dir=FOLDER) as name:
        if needs_files:
            folder = Path(name) / "rows"
            begin = clock()
            write_files(n_common, folder)
            wrote = took(begin)["cpu"]
            command += ["--folder", str(folder)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{kind} of {n_common:,} rows failed.")
        facts: Facts = {"kind": kind, "rows": n_common, **json.loads(done.stdout.splitlines()[-1])}
        if needs_files:
            facts |= {"cpu_writing": wrote, "bytes_of_files": sum(path.stat().st_size for path in folder.iterdir())}
    return facts


def cells(options: argparse.Namespace) -> Iterator[tuple[Path, str, int, int]]:
    for kind, sizes in (QUICK if options.quick else CELLS).items():
        for n_common, n_rounds in sizes.items():
            name = f"{kind}-{n_common}{'-quick' * options.quick}"
            yield FOLDER / f"{name}.json", kind, n_common, n_rounds


def former_ones() -> list[Facts]:
    path = RESULTS / "massive.json"
    known = json.loads(path.read_text())["measured"] if path.exists() else []
    return [one for one in known if one.get("former")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small tables, not recorded")
    parser.add_argument("--only", nargs="+", metavar="TEXT", help="only measurements whose name has one of these texts")
    parser.add_argument("--until", metavar="HH:MM")
    parser.add_argument("--rounds", type=int, default=MEMBERS, help="at most so many rounds")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        kind, n_common, n_rounds = options.work
        print(json.dumps(WORK[kind](int(n_common), int(n_rounds), options), default=float))
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path, kind, n_common, n_rounds in [] if options.show else cells(options):
        if not path.exists() and any(text in f"{path.stem} " for text in options.only or [""]):
            print(path.stem, flush=True)
            n_rounds = min(n_rounds, options.rounds)
            path.write_text(json.dumps(measure(kind, n_common, n_rounds, options), indent=2))
    measured = [json.loads(path.read_text()) for path, *_ in cells(options) if path.exists()]
    measured += [] if options.quick else former_ones()
    lines = lines_of(measured)
    print("\n\n".join("\n".join(some) for some in lines.values()))
    if not options.quick:
        result = {"members": MEMBERS, "trees": TREES, "rare_rows": N_RARE, "measured": measured, "lines": lines}
        print("saved", save("massive", result, versions_of(PACKAGES)))
        PAGE.write_text(with_lines(PAGE.read_text(), lines))


if __name__ == "__main__":
    main()
