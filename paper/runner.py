"""The only loop over cells: in parallel, resumable, one failing cell not stopping the rest."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from importlib.metadata import version
from multiprocessing import active_children, get_context
from types import MappingProxyType

import psutil

from paper.experiment import Cell, Experiment, Row, Surroundings
from paper.progress import Progress
from paper.results import Results
from paper.working import GIGABYTE, live_and_die_with_the_parent, work, work_within

# Cells share the cores: a model's own threads would only get into the way of the other cells.
ONE_THREAD = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"]
PACKAGES = ["scikit-learn", "imbalanced-learn", "lightgbm", "numpy"]

Outcome = tuple[Cell, list[Row]]


def run(
    experiments: Sequence[Experiment],
    surroundings: Surroundings,
    results: Callable[[Experiment], Results],
    *,
    most_runs: int | None = None,
    only: Mapping[str, Sequence[str]] = MappingProxyType({}),
    jobs: int | None = None,
    say: Callable[[str], None] = print,
) -> int:
    """Run what is not finished of the experiments, first runs of all before second runs; return how many failed."""
    stores = {experiment.name: results(experiment) for experiment in experiments}
    known = {experiment.name: experiment for experiment in experiments}
    cells = _unfinished(experiments, stores, most_runs, only)
    progress = Progress(cells, jobs := _jobs(experiments, jobs), say)
    for cell, rows in _in_parallel(cells, known, surroundings, jobs):
        stores[cell.experiment].add(cell, [{**row, "versions": _versions()} for row in rows])
        progress.finished(cell, rows)
    return progress.n_failed


def _unfinished(
    experiments: Sequence[Experiment],
    stores: dict[str, Results],
    most_runs: int | None,
    only: Mapping[str, Sequence[str]],
) -> list[Cell]:
    cells = []
    for experiment in experiments:
        finished = stores[experiment.name].finished()
        cells += [cell for cell in experiment.cells(most_runs, only) if cell.key not in finished]
    return sorted(cells, key=lambda cell: cell.run)


def _jobs(experiments: Sequence[Experiment], jobs: int | None) -> int:
    """As many cells at once as there are cores, and as fit into the free memory."""
    most_memory = max(experiment.gigabytes for experiment in experiments)
    fitting = int(psutil.virtual_memory().available / GIGABYTE / most_memory)
    return max(1, min(jobs or os.cpu_count() or 1, fitting))


def _in_parallel(
    cells: Iterable[Cell], known: dict[str, Experiment], surroundings: Surroundings, jobs: int
) -> Iterator[Outcome]:
    waiting = iter(cells)
    while True:
        killed: list[Cell] = []
        yield from _until_broken(waiting, known, surroundings, jobs, killed)
        if not killed:
            return
        # A killed process takes the others' cells along: each is tried once more on its own to find the guilty one.
        for cell in killed:
            yield cell, _alone(cell, known, surroundings)


def _until_broken(
    waiting: Iterator[Cell], known: dict[str, Experiment], surroundings: Surroundings, jobs: int, killed: list[Cell]
) -> Iterator[Outcome]:
    """Outcomes as they come, until the cells or the processes end. Cells that died with a process are in `killed`."""
    running: dict[Future[list[Row]], Cell] = {}
    with _processes(jobs) as pool:
        try:
            while not killed:
                while not killed and len(running) < jobs and (cell := next(waiting, None)) is not None:
                    try:
                        running[_submitted(pool, cell, known, surroundings)] = cell
                    except BrokenProcessPool:
                        killed.append(cell)
                if not running:
                    break
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    cell = running.pop(future)
                    if isinstance(future.exception(), BrokenProcessPool):
                        killed.append(cell)
                    else:
                        yield cell, future.result()
            killed += running.values()
        except (KeyboardInterrupt, GeneratorExit):
            _kill_children()
            raise


def _alone(cell: Cell, known: dict[str, Experiment], surroundings: Surroundings) -> list[Row]:
    with _processes(1) as pool:
        try:
            return _submitted(pool, cell, known, surroundings).result()
        except KeyboardInterrupt:
            _kill_children()
            raise
        except BrokenProcessPool:
            return [{"error": "the process was killed, probably for want of memory", "seconds": 0.0}]


def _submitted(
    pool: ProcessPoolExecutor, cell: Cell, known: dict[str, Experiment], surroundings: Surroundings
) -> Future[list[Row]]:
    experiment = known[cell.experiment]
    budget = None if surroundings.quick else experiment.budget(dict(cell.setting))
    if budget:
        return pool.submit(work_within, budget, experiment.work, cell, surroundings)
    return pool.submit(work, experiment.work, cell, surroundings)


def _kill_children() -> None:
    for process in active_children():
        process.kill()


def _processes(jobs: int) -> ProcessPoolExecutor:
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))  # read by the new processes when they import numpy
    return ProcessPoolExecutor(jobs, get_context("spawn"), live_and_die_with_the_parent)


def _versions() -> str:
    return " ".join(f"{package}={version(package)}" for package in PACKAGES)
