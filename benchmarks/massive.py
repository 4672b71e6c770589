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
- Others, on the same rows, with 100 trees each: LightGBM, which reads the rows once in batches and keeps their bins in
  memory, XGBoost in external memory, and XGBoost's own estimator on the same Spark cluster. A process that needs more
  than 8 GB of memory or 30 processor minutes is stopped, and the record says so.

Every measurement runs in a process of its own. It is put into benchmarks/results/massive.json as soon as it is made,
where it replaces that of the same kind and size; all others stay. Without `--only`, a run makes the measurements that
this record lacks, so a run that was stopped goes on where it was. With `--only`, it makes the named ones, also again.
After each of them the tables of docs/guide/larger-than-memory.md are written. `--until` begins no further round after a
time of day. `--show` prints the record and writes nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import psutil
import pyarrow.parquet as pq
from lightgbm import LGBMClassifier
from sklearn.metrics import average_precision_score

from massive_report import OTHERS, lines_of, with_lines
from massive_rows import CHUNKS_PER_FILE, N_RARE, NAMES, ROWS_PER_CHUNK, TARGET, Rows, streamed, test_rows, write_files
from record import recorded, save, versions_of
from selfpaced.callbacks import Callback, Stop
from selfpaced.ensembles import SelfPacedEnsembleClassifier
from selfpaced.tables.sources import open_table

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / ".bench" / "massive"
PAGE = ROOT / "docs" / "guide" / "larger-than-memory.md"
MEMBERS, TREES = 10, 10
TEST_CHUNKS, TEST_RARE = 40, 2000
QUICK_TEST = (2, 200)
MOST_GB, MOST_MINUTES = 8, 30
# LightGBM writes to memory that it has asked for, also if it did not get any.
STOPS = {signal.SIGXCPU: f"more than {MOST_MINUTES} processor minutes", signal.SIGSEGV: f"crash within {MOST_GB} GB"}
PACKAGES = ("selfpaced", "scikit-learn", "lightgbm", "xgboost", "numpy", "pyarrow", "pyspark")
# Of each kind of work, the numbers of common rows and of rounds.
CELLS = {
    "streamed": {10**6: 10, 10**7: 10, 10**8: 10, 10**9: 2},
    "files": {10**6: 10, 10**7: 10, 10**8: 10},
    "spark": {10**6: 10, 3 * 10**6: 10, 10**7: 10},
    "lightgbm": {10**6: 1, 10**7: 1, 3 * 10**7: 1, 10**8: 1, 10**9: 1},
    "xgboost": {10**6: 1, 10**7: 1, 3 * 10**7: 1, 10**8: 1},
    "xgboost_spark": {10**6: 1, 3 * 10**6: 1, 10**7: 1},
}
FROM_FILES = ("files", "spark", "xgboost_spark")
QUICK_ROWS, QUICK_ROUNDS = 10**5, 2
Facts = dict[str, Any]


def clock() -> np.ndarray:
    return np.array([time.process_time(), time.perf_counter()])


def took(begin: np.ndarray) -> dict[str, float]:
    return dict(zip(("cpu", "seconds"), (clock() - begin).tolist(), strict=True))


def peak_gb(process: int | str = "self") -> float:
    """From the status of a process: getrusage tells of the parent's peak too, if that was higher.

    A process that has ended, and that its parent has not asked about yet, has no memory.
    """
    status = dict(line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())
    return int(status.get("VmHWM", "0 kB").split()[0]) / 2**20


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


def rows_to_judge_by(options: argparse.Namespace) -> tuple[np.ndarray, np.ndarray]:
    return test_rows(*(QUICK_TEST if options.quick else (TEST_CHUNKS, TEST_RARE)))


def judged(model: Any, options: argparse.Namespace) -> Facts:
    """AUCPRC on the test rows after each member, and what LightGBM itself takes to score a row by a member."""
    X, y = rows_to_judge_by(options)
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


class Cluster:
    """A Spark cluster of two workers on this machine, and what all its processes and the driver have used."""

    def __init__(self, place: str) -> None:
        sys.path.append(str(ROOT))  # the cluster is that of the tests
        from tests.cluster.spark_cluster import SparkCluster, local_environment

        os.environ.update(local_environment())
        self._cluster = SparkCluster(Path(place))

    @contextmanager
    def frame(self, folder: Path) -> Iterator[Any]:
        try:
            session = self._cluster.session(executor_memory="2g", java_options="")
            frame = session.read.parquet(str(folder))
            frame.count()  # which starts the executors
            self._begin, self._seconds = self._cpu(), time.perf_counter()
            yield frame
            session.stop()
        finally:
            self._cluster.close()

    def took(self) -> Facts:
        """Since the frame was opened. The peak is the sum of those of all processes that have not ended."""
        peak = sum(peak_gb(one.pid) for one in self._processes())
        return {"cpu": self._cpu() - self._begin, "seconds": time.perf_counter() - self._seconds, "peak_gb": peak}

    def _processes(self) -> list[psutil.Process]:
        mine = psutil.Process()
        return [mine, *mine.children(recursive=True)]

    def _cpu(self) -> float:
        times = [one.cpu_times() for one in self._processes()]
        # A daemon's Python workers that have ended are counted with the daemon.
        return float(sum(one.user + one.system + one.children_user + one.children_system for one in times))


def work_spark(n_common: int, n_rounds: int, options: argparse.Namespace) -> Facts:
    note_fits()
    with TemporaryDirectory() as place:
        cluster = Cluster(place)
        with cluster.frame(options.folder) as frame:
            notes = Notes(n_rounds, options.until)
            model = SelfPacedEnsembleClassifier(member(), MEMBERS, n_jobs=1, random_state=0, callbacks=[notes])
            model.fit_table(open_table(frame, target=TARGET))
            facts = cluster.took()
    return {**facts, "labels": 0.0, "rounds": notes.rounds, "bytes": 0} | judged(model, options)


def all_labels(rows: Rows) -> np.ndarray:
    return np.concatenate([rows.labels(number) for number in range(rows.n_chunks)])


def judged_once(score: Callable[[np.ndarray], np.ndarray], options: argparse.Namespace) -> Facts:
    X, y = rows_to_judge_by(options)
    return {"aucprc": [float(average_precision_score(y, score(X)))]}


@lru_cache(maxsize=1)
def features_of(rows: Rows, number: int) -> np.ndarray:
    return rows.features(number).T.astype(np.float64, order="C")  # LightGBM samples no other numbers


@dataclass(frozen=True)
class Chunk(lightgbm.Sequence):
    """The rows of a chunk, which LightGBM reads once for a sample of rows and once for the bins of all rows."""

    rows: Rows
    number: int
    batch_size = ROWS_PER_CHUNK

    def __len__(self) -> int:
        return int(self.rows.labels(self.number).size)

    def __getitem__(self, index: Any) -> np.ndarray:
        return features_of(self.rows, self.number)[index]


def work_lightgbm(n_common: int, n_rounds: int, options: argparse.Namespace) -> Facts:
    """One model of all rows, as many trees as our members have together. Only the bins of the rows are in memory."""
    rows, begin = Rows(n_common), clock()
    chunks = [Chunk(rows, number) for number in range(rows.n_chunks)]
    data = lightgbm.Dataset(chunks, all_labels(rows), params={"verbose": -1, "num_threads": 1})
    parameters = {"objective": "binary", "num_leaves": 31, "num_threads": 1, "verbose": -1}
    booster = lightgbm.train(parameters, data, MEMBERS * TREES)
    facts = {**took(begin), "peak_gb": peak_gb()}
    return facts | judged_once(lambda X: booster.predict(X, num_threads=1), options)


OF_XGBOOST = {"grow_policy": "lossguide", "max_leaves": 31, "max_depth": 0, "tree_method": "hist"}


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
        parameters = {**OF_XGBOOST, "objective": "binary:logistic", "nthread": 1, "eta": 0.1}
        booster = xgboost.train(parameters, data, MEMBERS * TREES)
        facts = {**took(begin), "peak_gb": peak_gb()}
        del data
    return facts | judged_once(lambda X: booster.predict(xgboost.DMatrix(X, nthread=1)), options)


def work_xgboost_spark(n_common: int, n_rounds: int, options: argparse.Namespace) -> Facts:
    """The same by XGBoost's estimator for Spark, which sends all rows to Python workers that train together."""
    import xgboost
    from xgboost.spark import SparkXGBClassifier

    with TemporaryDirectory() as place:
        cluster = Cluster(place)
        with cluster.frame(options.folder) as frame:
            columns = {"features_col": NAMES, "label_col": TARGET}
            of_trees = {**OF_XGBOOST, "n_estimators": MEMBERS * TREES, "learning_rate": 0.1}
            model = SparkXGBClassifier(**columns, **of_trees, num_workers=2).fit(frame)
            facts = cluster.took()
    booster = model.get_booster()
    return facts | judged_once(
        lambda X: booster.predict(xgboost.DMatrix(X, feature_names=booster.feature_names)), options
    )


WORK = {name.removeprefix("work_"): work for name, work in list(globals().items()) if name.startswith("work_")}


def within_budget(work: Callable[[], Facts]) -> Facts:
    """The facts of some work, or that the memory allowed was not enough. Too much processor time ends the process."""
    import resource  # which Windows lacks

    for limit, most in ((resource.RLIMIT_CPU, MOST_MINUTES * 60), (resource.RLIMIT_DATA, MOST_GB * 2**30)):
        resource.setrlimit(limit, (most, resource.RLIM_INFINITY))
    try:
        return work()
    except Exception as error:  # each library has its own
        if isinstance(error, MemoryError) or "alloc" in str(error):
            return {"stopped": f"more than {MOST_GB} GB"}
        raise


def measure(kind: str, n_common: int, n_rounds: int, options: argparse.Namespace) -> Facts:
    """Run one measurement in a process of its own. Files are written for it, and removed."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, __file__, "--work", kind, str(n_common), str(min(n_rounds, options.rounds))]
    command += ["--quick"] if options.quick else []
    command += ["--until", options.until] if options.until else []
    facts: Facts = {"kind": kind, "rows": n_common, "versions": versions_of(PACKAGES)}
    with TemporaryDirectory(dir=FOLDER) as name:
        if kind in FROM_FILES:
            folder = Path(name) / "rows"
            begin = clock()
            write_files(n_common, folder)
            facts |= {"cpu_writing": took(begin)["cpu"]}
            facts |= {"bytes_of_files": sum(path.stat().st_size for path in folder.iterdir())}
            command += ["--folder", str(folder)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if kind in OTHERS and -done.returncode in STOPS:
        return facts | {"stopped": STOPS[-done.returncode]}
    if done.returncode != 0:
        raise SystemExit(f"{kind} of {n_common:,} rows failed.")
    return facts | json.loads(done.stdout.splitlines()[-1])


def measured() -> list[Facts]:
    """All measurements of the record."""
    known: list[Facts] = recorded("massive").get("measured", [])
    return known


def add(one: Facts) -> None:
    """Put a measurement into the place of that of the same kind and size. All others stay as they are."""
    every = sorted([one, *(other for other in measured() if _key(other) != _key(one))], key=_key)
    lines = lines_of(every)
    facts = {"members": MEMBERS, "trees": TREES, "rare_rows": N_RARE, "measured": every, "lines": lines}
    save("massive", facts, one["versions"])
    PAGE.write_text(with_lines(PAGE.read_text(), lines))


def _key(one: Facts) -> tuple[int, int]:
    return list(CELLS).index(one["kind"]), one["rows"]


def wanted(only: Sequence[str]) -> list[tuple[str, int, int]]:
    """The kinds, rows and rounds that are named, or else those that the record lacks."""
    known = {_key(one) for one in measured()}
    return [
        (kind, n_common, n_rounds)
        for kind, sizes in CELLS.items()
        for n_common, n_rounds in sizes.items()
        if any(text in f"{kind}-{n_common} " for text in only)
        or (not only and _key({"kind": kind, "rows": n_common}) not in known)
    ]


def shown(some: Sequence[Facts]) -> str:
    return "\n\n".join("\n".join(lines) for lines in lines_of(some).values())


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small tables, not recorded")
    parser.add_argument("--only", nargs="+", default=[], metavar="TEXT", help="those whose name has one of these texts")
    parser.add_argument("--until", metavar="HH:MM")
    parser.add_argument("--rounds", type=int, default=MEMBERS, help="at most so many rounds")
    parser.add_argument("--show", action="store_true", help="print the record and write nothing")
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.work:
        kind, n_common, n_rounds = options.work
        work = partial(WORK[kind], int(n_common), int(n_rounds), options)
        print(json.dumps(within_budget(work) if kind in OTHERS else work(), default=float))
    elif options.quick:
        print(shown([measure(kind, QUICK_ROWS, QUICK_ROUNDS, options) for kind in CELLS]))
    else:
        for kind, n_common, n_rounds in [] if options.show else wanted(options.only):
            print(f"{kind}-{n_common}", flush=True)
            add(measure(kind, n_common, n_rounds, options))
        print(shown(measured()))


if __name__ == "__main__":
    main()
