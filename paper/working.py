"""What the processes of a run do. This module imports nothing heavy: a cell imports what it needs."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from threading import Thread

import psutil

from paper.experiment import Budget, Cell, Row, Surroundings, Work

GIGABYTE = 2**30
PAUSE = 0.2  # seconds between two looks at the memory of a process


def work(function: Work, cell: Cell, surroundings: Surroundings) -> list[Row]:
    """The rows of one cell; of a failing one a single row with the reason."""
    begin = time.perf_counter()
    try:
        rows = function(dict(cell.setting), cell.run, surroundings)
    except Exception as error:
        rows = [{"error": f"{type(error).__name__}: {error}".replace("\n", " ")}]
    seconds = round(time.perf_counter() - begin, 3)
    return [{**row, "seconds": seconds} for row in rows]


def work_within(budget: Budget, function: Work, cell: Cell, surroundings: Surroundings) -> list[Row]:
    """The same in a process of its own, which is killed when the budget is used up.

    What it used until then is the result: a cell that was given up has a reason that was measured.
    """
    receiver, sender = get_context("spawn").Pipe(duplex=False)
    process = get_context("spawn").Process(target=_work_and_send, args=(sender, function, cell, surroundings))
    process.start()
    sender.close()
    begin, used = time.perf_counter(), psutil.Process(process.pid)
    busy, peak, given_up = 0.0, 0.0, ""
    while not given_up and not receiver.poll(PAUSE):
        with suppress(psutil.NoSuchProcess):
            busy, peak = sum(used.cpu_times()[:2]), max(peak, used.memory_info().rss / GIGABYTE)
        if busy > budget.seconds:
            given_up = f"after {budget.seconds:,.0f} s"
        elif peak > budget.gigabytes:
            given_up = f"at {budget.gigabytes:g} GB"
    try:
        rows = [{"given_up": given_up}] if given_up else receiver.recv()
    except EOFError:
        rows = [{"error": "the process was killed, probably for want of memory"}]
    process.kill()
    process.join()
    seconds = round(time.perf_counter() - begin, 3)
    cost = {"processor_seconds": round(busy, 1), "peak_gigabytes": round(peak, 3)}
    return [{**row, "seconds": row.get("seconds", seconds), **cost} for row in rows]


def _work_and_send(sender: Connection, function: Work, cell: Cell, surroundings: Surroundings) -> None:
    live_and_die_with_the_parent()
    sender.send(work(function, cell, surroundings))


def live_and_die_with_the_parent() -> None:
    """Leave Ctrl-C to the parent, and end when it does, however it ended: a cell may take half an hour yet."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_exit_after_the_parent, daemon=True).start()


def _exit_after_the_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
