"""`--engine`: commands whose work is done where a cluster keeps the rows."""

from __future__ import annotations

import argparse
from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selfpaced._jobs.engines import EngineChoice

ENGINES = ("dask", "spark")
# What to do instead of an option that a cluster cannot honour.
INSTEAD = {
    "valid": "Hold out a share of the rows, --holdout, and judge the model on others: selfpaced evaluate MODEL FILE",
    "time_column": "Rows are held out by a hash of their ids, or of their groups.",
    "delay": "Filter the rows before.",
    "positive": "Make a column of two labels first.",
    "amount": "Choose the threshold afterwards: selfpaced evaluate MODEL FILE --rule cost=5 --amount COL",
    "drop_unlabelled": "Filter the rows before.",
    "report": "Write it afterwards: selfpaced report MODEL FILE",
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
    group = command.add_argument_group("on a cluster", "DATA are Parquet files that every machine sees")
    group.add_argument("--engine", choices=ENGINES, help="work where this cluster keeps the rows")
    group.add_argument("--scheduler", metavar="URL", help="of Dask: tcp://HOST:8786")
    group.add_argument(
        "--master", metavar="URL", help="of Spark: spark://HOST:7077, local[4] or sc://HOST (default: spark-submit's)"
    )


def check_engine_options(options: Namespace, not_honoured: Sequence[str]) -> None:
    """Refuse options that a cluster cannot honour, and addresses without the engine that they are for."""
    from selfpaced.exceptions import TableError  # here, because --help need not wait for it

    for name, engine in (("scheduler", "dask"), ("master", "spark")):
        if getattr(options, name) is not None and options.engine != engine:
            given = "" if options.engine is None else f"; got --engine {options.engine}"
            raise TableError(f"--{name} is for --engine {engine}{given}.")
    if options.engine is None:
        return
    for name in not_honoured:
        if getattr(options, name) not in (None, False):
            raise TableError(f"--{name.replace('_', '-')} cannot be honoured on a cluster. {INSTEAD[name]}")


def engine_of(options: Namespace) -> EngineChoice:
    """The engine that was asked for."""
    from selfpaced._jobs.engines import EngineChoice

    return EngineChoice(options.engine, options.scheduler or options.master)
