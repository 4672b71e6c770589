"""A process with the packages of Dask's workers loaded: whatever it is told to start is a fork of it.

It reads a line for each process, and answers with the number of the process. To load the packages anew would be most of
what a worker of tests does.
"""

import gc
import json
import os
import runpy
import signal
import sys

import dask.dataframe  # noqa: F401
import lightgbm  # noqa: F401
import sklearn.tree  # noqa: F401
from distributed.cli import dask_scheduler, dask_worker

import selfpaced.clusters.dask  # noqa: F401

PROGRAMS = {
    "scheduler": dask_scheduler.main,
    "worker": dask_worker.main,
    "script": lambda arguments: runpy.run_path(*arguments, run_name="__main__"),
}


def serve() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel forgets processes that have ended
    for line in sys.stdin:
        program, *arguments = json.loads(line)
        process = os.fork()
        if not process:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())
            os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
            sys.exit(PROGRAMS[program](arguments))
        sys.stdout.write(f"{process}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    gc.freeze()
    serve()
