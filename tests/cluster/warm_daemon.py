"""PySpark's daemon as a fork of a process that has the packages of its workers loaded, and how to start that process.

Spark starts a daemon for each executor, and loading the packages is most of what a daemon of tests does. This one hands
its streams, arguments and variables over to `warm_spark`, and lasts as long as the fork which takes its place: whoever
ends this process ends the fork, and the fork ends where its input ends. Without `warm_spark` it is the daemon itself.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

ADDRESS = "SELFPACED_TESTS_WARM_SPARK"
# As Spark starts Python: these are read before the first line of a program is.
AS_SPARK_DOES = {"PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED", "0"), "PYTHONUNBUFFERED": "YES"}


@contextmanager
def warm_process() -> Iterator[str]:
    """The address of a process of which daemons are forks, for the variable that is called `ADDRESS`."""
    with TemporaryDirectory() as folder:  # tests' own folders may have paths that are too long for a socket
        process = _start(address := f"{folder}/warm")
        try:
            yield address
        finally:
            process.communicate()  # it ends where its input ends


def _start(address: str) -> subprocess.Popen:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        return subprocess.Popen(
            [sys.executable, "-m", "tests.cluster.warm_spark", str(listener.fileno())],
            stdin=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
            env=os.environ | AS_SPARK_DOES,
            pass_fds=[listener.fileno()],
        )


def be_replaced_by_a_fork(address: str) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        socket.send_fds(connection, [b"."], [stream.fileno() for stream in (sys.stdin, sys.stdout, sys.stderr)])
        answers = connection.makefile("rw")
        answers.write(json.dumps({"argv": sys.argv, "path": sys.path, "environ": dict(os.environ)}) + "\n")
        answers.flush()
        fork = int(answers.readline())
        signal.signal(signal.SIGTERM, lambda *_: os.kill(fork, signal.SIGTERM))
        answers.read()  # ends with the last process that has the other end of the connection


if __name__ == "__main__":
    if ADDRESS in os.environ:
        be_replaced_by_a_fork(os.environ[ADDRESS])
    else:
        from tests.cluster.warm_spark import be_the_daemon

        be_the_daemon()
