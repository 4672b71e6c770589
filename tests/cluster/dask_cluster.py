"""A real Dask cluster on this machine: a scheduler and workers, each a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
from distributed import Client

# What Dask learns of itself for its dashboard: while nothing happens, nearly all of what its processes do.
WITHOUT_DIAGNOSTICS = {
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL": "60s",
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "1s",
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
}


class DaskCluster:
    """A scheduler and its workers, and a client of them.

    Parameters
    ----------
    folder : for files that the processes share.
    environment : variables of all processes, such as settings of Dask.
    """

    def __init__(self, folder: Path, n_workers: int = 2, environment: dict[str, str] | None = None) -> None:
        self._folder = folder
        self._file = folder / "scheduler.json"
        self._workers: list[psutil.Process] = []
        self._parent = self._start_parent(environment or {})
        try:
            scheduler = self._start("scheduler", *self._options, "--port", "0")
            self._wait_for_scheduler(scheduler)
            self.client = Client(scheduler_file=str(self._file), set_as_default=False)
            for _ in range(n_workers):
                self.start_worker()
            self.wait_for_workers(n_workers)
        except BaseException:
            self._kill_all()
            raise

    @property
    def _options(self) -> list[str]:
        return ["--scheduler-file", str(self._file), "--host", "127.0.0.1", "--no-dashboard"]

    def start_worker(self) -> None:
        options = ["--nthreads", "1", "--no-nanny", "--memory-limit", "0"]
        self._workers.append(self._start("worker", *self._options, *options))

    def start_script(self, path: Path) -> psutil.Process:
        """A program of its own, such as a driver."""
        return self._start("script", str(path))

    def kill_a_worker(self) -> None:
        """As the kernel does when memory runs out: no signal that could be caught, no good-bye."""
        victim = self._workers.pop(0)
        victim.kill()
        victim.wait()

    def wait_for_workers(self, n_workers: int) -> None:
        deadline = time.monotonic() + 60
        while len(self.client.scheduler_info(n_workers=-1)["workers"]) != n_workers:
            assert time.monotonic() < deadline, f"there are not {n_workers} workers after a minute"
            time.sleep(0.05)

    def close(self) -> None:
        self.client.close()
        self._kill_all()

    def _kill_all(self) -> None:
        started = psutil.Process(self._parent.pid).children(recursive=True)
        for process in started:
            process.kill()
        psutil.wait_procs(started)
        self._parent.communicate()  # it ends where its input ends

    def _start_parent(self, environment: dict[str, str]) -> subprocess.Popen[str]:
        # Workers read base models of the tests.
        here = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
        environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": here} | environment
        with (self._folder / "log.txt").open("a") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "tests.cluster.warm_dask"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=self._folder,
                env=environment,
            )

    def _start(self, program: str, *arguments: str) -> psutil.Process:
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        self._parent.stdin.write(json.dumps([program, *arguments]) + "\n")
        self._parent.stdin.flush()
        answer = self._parent.stdout.readline()
        assert answer, (self._folder / "log.txt").read_text()
        return psutil.Process(int(answer))

    def _wait_for_scheduler(self, scheduler: psutil.Process) -> None:
        deadline = time.monotonic() + 60
        while not self._file.exists():
            assert scheduler.is_running(), (self._folder / "log.txt").read_text()
            assert time.monotonic() < deadline, "the Dask scheduler did not start within a minute"
            time.sleep(0.05)
