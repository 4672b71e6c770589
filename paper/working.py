"""What the processes of a run do. This module imports nothing heavy: a cell imports what it needs."""

from __future__ import annotations

import os
import signal
import time
from multiprocessing import parent_process
from threading import Thread

from paper.experiment import Cell, Row, Surroundings, Work


def work(function: Work, cell: Cell, surroundings: Surroundings) -> list[Row]:
    """The rows of one cell; of a failing one a single row with the reason."""
    begin = time.perf_counter()
    try:
        rows = function(dict(cell.setting), cell.run, surroundings)
    except Exception as error:
        rows = [{"error": f"{type(error).__name__}: {error}".replace("\n", " ")}]
    seconds = round(time.perf_counter() - begin, 3)
    return [{**row, "seconds": seconds} for row in rows]


def live_and_die_with_the_parent() -> None:
    """Leave Ctrl-C to the parent, and end when it does, however it ended: a cell may take half an hour yet."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_exit_after_the_parent, daemon=True).start()


def _exit_after_the_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
