"""A process with the packages of Spark's Python workers loaded: each of their daemons is a fork of it.

A worker collects garbage after every task, and searches all that it has imported. What is loaded and frozen before the
fork is not searched. With tests' small tasks this is most of a worker's time.
"""

import gc
import json
import os
import select
import signal
import socket
import sys

import lightgbm  # noqa: F401
import pandas  # noqa: F401
import pyspark.worker  # noqa: F401
import sklearn.tree  # noqa: F401
from pyspark.daemon import manager

import selfpaced.clusters.spark  # noqa: F401


def serve(listener: socket.socket) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel forgets processes that have ended
    while True:
        ready, _, _ = select.select([sys.stdin, listener], [], [])
        if sys.stdin in ready:
            return  # nobody writes: its end is that of the tests
        connection, _ = listener.accept()
        with connection:
            _, streams, _, _ = socket.recv_fds(connection, 1, 3)
            if not os.fork():
                listener.close()
                take_the_place(connection, streams)
                sys.exit(be_the_daemon())
        for stream in streams:
            os.close(stream)


def take_the_place(connection: socket.socket, streams: list[int]) -> None:
    """Have the streams, arguments and variables of the process at the other end, which waits for this one's end."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    questions = connection.makefile("rw")
    other = json.loads(questions.readline())
    sys.argv[:], sys.path[:] = other["argv"], other["path"]
    os.environ.clear()
    os.environ.update(other["environ"])
    questions.write(f"{os.getpid()}\n")
    questions.flush()


def be_the_daemon() -> None:
    gc.freeze()
    manager()


if __name__ == "__main__":
    gc.freeze()
    serve(socket.socket(fileno=int(sys.argv[1])))
