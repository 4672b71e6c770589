"""Options that several commands share. The module imports nothing heavy."""

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
    command.add_argument(
        "--snapshot", metavar="VERSION", help="the version of a Delta or Iceberg table (default: the newest)"
    )


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
    command.add_argument("--members", type=int, metavar="N", help="the number of members of one kind (default: 10)")
    command.add_argument("--bins", type=int, metavar="N", help="hardness bins, for members of one kind (default: 20)")
    command.add_argument(
        "--time-limit",
        type=float,
        metavar="SECONDS",
        help="the time that auto may take to train; it skips recipes for which no time is left (default: no limit)",
    )
    command.add_argument("--seed", type=int, default=0, metavar="N", help="the random seed (default: %(default)s)")


def rule_options(command: argparse.ArgumentParser, group: Any, default: str | None = None) -> None:
    group.add_argument(
        "--rule",
        default=default,
        metavar="RULE",
        help="the rule that chooses the threshold: f1, mcc, gmean, 'precision>=0.9', 'recall>=0.8', 'alerts<=50/10000' "
        "or cost=5:100 (a false alarm costs 5, a missed case 100)" + (f" (default: {default})" if default else ""),
    )
    command.add_argument(
        "--amount", metavar="COL", help="a column of what missing each row costs, for a rule such as cost=5"
    )


def held_out_options(command: argparse.ArgumentParser) -> None:
    rows = command.add_mutually_exclusive_group()
    rows.add_argument("--valid", metavar="FILE", help="another file, with the rows to judge the model by")
    rows.add_argument(
        "--holdout",
        type=float,
        default=0.2,
        metavar="SHARE",
        help="the share of the rows that is held out to judge the model by (default: %(default)s)",
    )
    command.add_argument("--time-column", metavar="COL", help="hold out the last rows by this column; not a feature")
    command.add_argument(
        "--delay",
        metavar="SPAN",
        help="the time until labels are known, such as 7d or 12h; rows without a known label are not trained on",
    )
    command.add_argument(
        "--group",
        metavar="COL",
        help="a column of groups, such as cards: hold out whole groups; not a feature",
    )


def talk_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("-q", "--quiet", action="store_true", help="print only errors")
    command.add_argument("--json", action="store_true", help="print one JSON object, for scripts")
