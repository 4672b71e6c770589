"""A worker process for each table and method, and its answers."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from contest.environments import interpreter_of
from contest.methods import METHODS
from contest.results import Row
from contest.threads import variables

BENCHMARKS = Path(__file__).parents[1]


def answers(method: str, folder: Path, tasks: Mapping[int, float | None], n_threads: int) -> Iterator[Row]:
    """A row for each split of the tasks as soon as it is fitted; a split that has no answer gets the reason.

    A task is a split and the seconds that the method may take, or None.
    """
    if not tasks:
        return
    left = dict(tasks)
    try:
        interpreter = interpreter_of(METHODS[method].environment)
    except subprocess.CalledProcessError as error:
        reason = f"cannot be installed: {last_line(error.stderr or '')}"
    else:
        messages = folder / "messages.txt"
        for row in _worker(interpreter, [method, folder, *map(_as_text, tasks.items())], n_threads, messages):
            del left[row["split"]]
            yield row
        reason = f"the process ended early: {last_line(messages.read_text())}"
    yield from ({"split": split, "error": reason} for split in left)


def _worker(interpreter: Path, arguments: list[str | Path], n_threads: int, messages: Path) -> Iterator[Row]:
    path = os.pathsep.join([str(BENCHMARKS), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | variables(n_threads) | {"PYTHONPATH": path}
    command = [interpreter, "-m", "contest.worker", *arguments]
    with (
        messages.open("w") as errors,
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True) as worker,
    ):
        yield from map(json.loads, worker.stdout or ())


def _as_text(task: tuple[int, float | None]) -> str:
    split, seconds = task
    return str(split) if seconds is None else f"{split}={seconds:g}"


def last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2] or "no message"
