"""A worker process for each table and method, and its answers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from contest.environments import interpreter_of
from contest.methods import METHODS
from contest.results import GIVEN_UP, Row
from contest.threads import variables

WORKER = ["-m", "contest.worker"]
BENCHMARKS = Path(__file__).parents[1]


def answers(
    method: str, folder: Path, tasks: Mapping[int, float | None], n_threads: int, most_seconds: float = 0
) -> Iterator[Row]:
    """A row for each split of the tasks as soon as it is fitted; a split that has no answer gets the reason.

    A task is a split and the seconds that the method may take, or None. A fit that takes more than `most_seconds` of
    processor time is given up, with all that come after it; 0 is no limit.
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
        arguments = [method, folder, f"{most_seconds:g}", *map(_as_text, tasks.items())]
        try:
            for row in _worker(interpreter, arguments, n_threads, messages):
                del left[row["split"]]
                yield row
        except TimeoutError:
            reason = f"given up after {most_seconds:g} s of processor time"
            yield from ({"split": split, "error": reason, GIVEN_UP: most_seconds} for split in left)
            return
        reason = f"the process ended early: {last_line(messages.read_text())}"
    yield from ({"split": split, "error": reason} for split in left)


def _worker(interpreter: Path, arguments: list[str | Path], n_threads: int, messages: Path) -> Iterator[Row]:
    path = os.pathsep.join([str(BENCHMARKS), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | variables(n_threads) | {"PYTHONPATH": path}
    command = [interpreter, *WORKER, *arguments]
    with (
        messages.open("w") as errors,
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True) as worker,
    ):
        yield from map(json.loads, worker.stdout or ())
    if worker.returncode == -signal.SIGXCPU:
        raise TimeoutError


def _as_text(task: tuple[int, float | None]) -> str:
    split, seconds = task
    return str(split) if seconds is None else f"{split}={seconds:g}"


def last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2] or "no message"
