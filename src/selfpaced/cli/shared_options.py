"""Options that several commands share. Nothing heavy is imported for them."""

from __future__ import annotations

import argparse
from typing import Any

BASES = ("auto", "lightgbm", "gbdt", "catboost", "extra_trees", "forest", "tree", "logistic", "knn", "mlp")


def data_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "data",
        metavar="DATA",
        help="CSV, TSV (also compressed), Parquet, Feather or JSON lines: a file, folder, pattern or URL (s3://, "
        "gs://, abfs://); a Delta or Iceberg table; with --query a database: postgresql://... or a .duckdb file",
    )
    command.add_argument("--query", metavar="SELECT", help="the rows to read from the database DATA")
    command.add_argument("--cache", metavar="FOLDER", help="keep copies of remote and text files in this folder")
    command.add_argument("--snapshot", metavar="VERSION", help="of a Delta or Iceberg table (default: the newest)")


def model_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("model", metavar="MODEL", help="a file that `selfpaced train` wrote")


def target_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--target", required=True, metavar="COL", help="the column of labels")
    command.add_argument("--positive", metavar="LABEL", help="the label to find, if there are more than two")


def how_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--base",
        choices=BASES,
        default="auto",
        help="the kind of members; auto compares several and blends the best (default: %(default)s)",
    )
    command.add_argument("--members", type=int, metavar="N", help="of one kind (default: 10)")
    command.add_argument("--bins", type=int, metavar="N", help="hardness bins, for members of one kind (default: 20)")
    command.add_argument(
        "--time-limit",
        type=float,
        metavar="SECONDS",
        help="what auto may take to train; what there is no time for is left out (default: no limit)",
    )
    command.add_argument("--seed", type=int, default=0, metavar="N", help="(default: %(default)s)")


def rule_options(command: argparse.ArgumentParser, group: Any, default: str | None = None) -> None:
    group.add_argument(
        "--rule",
        default=default,
        metavar="RULE",
        help="choose the threshold by f1, mcc, gmean, 'precision>=0.9', 'recall>=0.8', 'alerts<=50/10000' or "
        "cost=5:100, of a false alarm and a missed case" + (f" (default: {default})" if default else ""),
    )
    command.add_argument("--amount", metavar="COL", help="what missing each row costs, for a rule such as cost=5")


def held_out_options(command: argparse.ArgumentParser) -> None:
    rows = command.add_mutually_exclusive_group()
    rows.add_argument("--valid", metavar="FILE", help="rows to judge by, in a file of their own")
    rows.add_argument(
        "--holdout",
        type=float,
        default=0.2,
        metavar="SHARE",
        help="share of the rows to judge by (default: %(default)s)",
    )
    command.add_argument("--time-column", metavar="COL", help="hold out the last rows by this column; no feature")
    command.add_argument(
        "--delay",
        metavar="SPAN",
        help="how long labels take to be known, such as 7d or 12h: later rows before the held-out ones are not used",
    )
    command.add_argument(
        "--group",
        metavar="COL",
        help="what several rows belong to, such as a card: hold out whole groups; no feature",
    )


def talk_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("-q", "--quiet", action="store_true", help="say nothing but errors")
    command.add_argument("--json", action="store_true", help="print one JSON object, for scripts")
