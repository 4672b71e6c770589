"""`--engine`: commands whose work is done on a cluster."""

from __future__ import annotations

import argparse
from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selfpaced._jobs.engines import EngineChoice

ENGINES = ("dask", "spark")
# What to do instead of an option that is not supported on a cluster.
INSTEAD = {
    "valid": "Hold out a share of the rows with --holdout, or judge the model later: selfpaced evaluate MODEL FILE",
    "time_column": "Rows are held out by a hash of their ids or groups.",
    "delay": "Filter the rows first.",
    "positive": "Make a column with two labels first.",
    "amount": "Choose the threshold afterwards: selfpaced evaluate MODEL FILE --rule cost=5 --amount COL",
    "drop_unlabelled": "Filter the rows first.",
    "report": "Write the report afterwards: selfpaced report MODEL FILE",
    "query": "Write the rows to Parquet files first.",
    "cache": "A cluster reads the files where they are.",
    "snapshot": "Write the rows of that version to Parquet files first.",
    "out_of_core": "A cluster never loads the table.",
    "decide": "Score the rows on the cluster, and decide by the column score.",
    "top": "Score the rows on the cluster, and sort them by the column score.",
    "per": "Score the rows on the cluster, and sort them by the column score.",
    "timezone": "It is for --per.",
    "group": "Score the rows on the cluster, and sort them by the column score.",
    "table": "Scores are written to Parquet files.",
}


def add_engine_options(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("on a cluster", "DATA are Parquet files that every machine can read")
    group.add_argument("--engine", choices=ENGINES, help="work on this kind of cluster")
    group.add_argument("--scheduler", metavar="URL", help="the address of Dask's scheduler, such as tcp://HOST:8786")
    group.add_argument(
        "--master",
        metavar="URL",
        help="the address of Spark, such as spark://HOST:7077, local[4] or sc://HOST (default: spark-submit's)",
    )


def check_engine_options(options: Namespace, not_honoured: Sequence[str]) -> None:
    """Refuse options that are not supported on a cluster, and addresses without their engine."""
    from selfpaced.exceptions import TableError  # here, because --help need not wait for it

    for name, engine in (("scheduler", "dask"), ("master", "spark")):
        if getattr(options, name) is not None and options.engine != engine:
            given = "" if options.engine is None else f"; got --engine {options.engine}"
            raise TableError(f"--{name} needs --engine {engine}{given}.")
    if options.engine is None:
        return
    for name in not_honoured:
        if getattr(options, name) not in (None, False):
            raise TableError(f"--{name.replace('_', '-')} is not supported on a cluster. {INSTEAD[name]}")


def engine_of(options: Namespace) -> EngineChoice:
    """The engine that was asked for."""
    from selfpaced._jobs.engines import EngineChoice

    return EngineChoice(options.engine, options.scheduler or options.master)
