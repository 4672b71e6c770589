"""Programs that start with their packages loaded, as forks: a test of what is left behind need not import each time."""

import gc
import multiprocessing
import os
import sys

_LOADED = [
    "lightgbm",
    "pandas",
    "pyarrow.parquet",
    "selfpaced.cli.commands.train",
    "selfpaced.cli",
    "selfpaced.report",
    "skops.io",
    "sklearn.ensemble",
]


def forked(function, *arguments):
    """A started process that runs a function of a module in a fork of a process without threads."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_LOADED)
    process = context.Process(target=_run, args=(function, *arguments))
    process.start()
    return process


def _run(function, *arguments):
    # A search for garbage among all that was loaded would copy its memory, page by page: as long as a short command.
    gc.freeze()
    function(*arguments)


def run_command(arguments, folder, environment):
    """A command as a program of its own would run it: in its folder, with its exit code."""
    from selfpaced.cli import main

    os.chdir(folder)
    os.environ.update(environment)
    silence = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(silence, stream.fileno())
    sys.exit(main(arguments))
