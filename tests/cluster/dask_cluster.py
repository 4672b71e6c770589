"""A real Dask cluster on this machine: a scheduler and workers, each a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from distributed import Client


class DaskCluster:
    def __init__(self, folder: Path, n_workers: int = 2) -> None:
        self._folder = folder
        self._file = folder / "scheduler.json"
        self._workers: list[subprocess.Popen] = []
        self._scheduler = self._start("dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        try:
            self._wait_for_scheduler()
            self.client = Client(scheduler_file=str(self._file), set_as_default=False)
            for _ in range(n_workers):
                self.start_worker()
            self.wait_for_workers(n_workers)
        except BaseException:
            self._kill_all()
            raise

    def start_worker(self, **environment: str) -> subprocess.Popen:
        options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--memory-limit", "0"]
        worker = self._start("dask_worker", "--host", "127.0.0.1", *options, **environment)
        self._workers.append(worker)
        return worker

    def kill_a_worker(self) -> None:
        """As the kernel does when memory runs out: no signal that could be caught, no good-bye."""
        victim = self._workers.pop(0)
        os.kill(victim.pid, signal.SIGKILL)
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
        for process in (*self._workers, self._scheduler):
            process.kill()
            process.wait()

    def _start(self, program: str, *options: str, **environment: str) -> subprocess.Popen:
        command = [sys.executable, "-m", f"distributed.cli.{program}", "--scheduler-file", str(self._file), *options]
        # Workers read base models of the tests.
        here = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
        environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": here} | environment
        with (self._folder / "log.txt").open("a") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, cwd=self._folder, env=environment)

    def _wait_for_scheduler(self) -> None:
        deadline = time.monotonic() + 60
        while not self._file.exists():
            assert self._scheduler.poll() is None, (self._folder / "log.txt").read_text()
            assert time.monotonic() < deadline, "the Dask scheduler did not start within a minute"
            time.sleep(0.05)
