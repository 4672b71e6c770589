"""The commands, their options and their help. The module imports nothing heavy."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from selfpaced.cli.command_parser import CommandParser, TopParser
from selfpaced.cli.engine_options import add_engine_options
from selfpaced.cli.shared_options import (
    BASES,
    data_options,
    held_out_options,
    how_options,
    model_options,
    rule_options,
    talk_options,
    target_options,
)

CALIBRATIONS = ("isotonic", "beta", "sigmoid", "prior", "none")
PERIODS = ("hour", "day", "week", "month")
SHELLS = ("bash", "zsh", "tcsh")


def parser() -> argparse.ArgumentParser:
    top = TopParser(prog="selfpaced", description="Find the rare: classification of imbalanced tables.")
    top.groups = {title: {name: COMMANDS[name][0] for name in names} for title, names in GROUPS.items()}
    from selfpaced import __version__

    top.add_argument("--version", action="version", version=f"selfpaced {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=CommandParser)
    for name, (summary, add_options, examples) in COMMANDS.items():
        command = commands.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            epilog="examples:\n" + "\n".join(f"  selfpaced {name} {example}".rstrip() for example in examples),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        add_options(command)
        command.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return top


def _train(command: argparse.ArgumentParser) -> None:
    data_options(command)
    target_options(command)
    how_options(command)
    held_out_options(command)
    rule_options(command, command, "f1")
    command.add_argument(
        "--calibration",
        choices=CALIBRATIONS,
        default="isotonic",
        help="how scores become probabilities (default: %(default)s)",
    )
    command.add_argument("--exclude", nargs="+", default=[], metavar="COL", help="columns that are not features")
    command.add_argument("--id", metavar="COL", help="a column of names of the rows; not a feature")
    command.add_argument("--drop-unlabelled", action="store_true", help="train only on the rows that have a label")
    command.add_argument(
        "--out-of-core", action="store_true", default=None, help="read the files once a round instead of loading them"
    )
    command.add_argument("-o", "--output", default="model.skops", metavar="FILE", help="(default: %(default)s)")
    command.add_argument("--report", metavar="FILE", help="write a report about the model, such as report.html")
    command.add_argument(
        "--no-reference",
        action="store_true",
        help="do not save counts of the held-out rows in the model file; such a model cannot be monitored",
    )
    command.add_argument(
        "--checkpoint", metavar="FOLDER", help="keep finished rounds; the same command after a crash continues"
    )
    add_engine_options(command)
    talk_options(command)


def _predict(command: argparse.ArgumentParser) -> None:
    model_options(command)
    data_options(command)
    command.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="FILE",
        help="the file for the scores, such as scores.parquet or scores.csv, a URL (s3://...), or a database",
    )
    command.add_argument("--table", metavar="NAME", help="the table for the scores, if the output is a database")
    command.add_argument(
        "--if-exists",
        choices=("fail", "append", "replace"),
        default="fail",
        help="what to do if that table already exists (default: %(default)s)",
    )
    command.add_argument(
        "--keep", default="", metavar="COLS", help="columns to write beside the scores, such as id,amount"
    )
    command.add_argument(
        "--threshold",
        metavar="NUMBER",
        help="add a column of alerts: scores at or above this number, or above the threshold of the model for 'best'",
    )
    command.add_argument(
        "--decide",
        metavar="RULE",
        help="alerts row by row, as 'p*amount>5': the probability, times what missing the row costs, is more than an "
        "alert costs",
    )
    _capacity(command)
    add_engine_options(command)
    talk_options(command)


def _capacity(command: argparse.ArgumentParser) -> None:
    command.add_argument("--top", type=int, metavar="N", help="alerts are the N best rows, by --decide or by score")
    command.add_argument("--per", choices=PERIODS, help="take the N best rows of each of these periods")
    command.add_argument("--time-column", metavar="COL", help="the column of times for --per")
    command.add_argument(
        "--timezone",
        metavar="ZONE",
        help="the time zone of the periods, such as Europe/Berlin (default: the column's zone, or UTC)",
    )
    command.add_argument(
        "--group", metavar="COL", help="a column of groups, such as cards; at most one alert for each group in a period"
    )


def _evaluate(command: argparse.ArgumentParser) -> None:
    model_options(command)
    data_options(command)
    command.add_argument("--target", metavar="COL", help="the column of labels (default: as in training)")
    alerts = command.add_mutually_exclusive_group()
    alerts.add_argument(
        "--threshold",
        metavar="NUMBER",
        help="the lowest score of an alert (default: the threshold that was chosen in training)",
    )
    rule_options(command, alerts)
    talk_options(command)


def _report(command: argparse.ArgumentParser) -> None:
    model_options(command)
    data_options(command)
    command.add_argument("--target", metavar="COL", help="the column of labels (default: as in training)")
    command.add_argument("--id", metavar="COL", help="a column of names of the rows")
    command.add_argument("--time-column", metavar="COL", help="the column of times, for figures over time")
    command.add_argument(
        "--decide", metavar="RULE", help="compare the threshold with decisions row by row, such as 'p*amount>5'"
    )
    rule_options(command, command)
    command.add_argument("-o", "--output", default="report.html", metavar="FILE", help="(default: %(default)s)")
    command.add_argument("--facts", metavar="FILE", help="also write the figures of the report, such as report.json")
    talk_options(command)


def _compare(command: argparse.ArgumentParser) -> None:
    data_options(command)
    target_options(command)
    how_options(command)
    held_out_options(command)
    command.add_argument("--exclude", nargs="+", default=[], metavar="COL", help="columns that are not features")
    command.add_argument("--picture", metavar="FILE", help="draw the comparison, such as compare.svg")
    talk_options(command)


def _backtest(command: argparse.ArgumentParser) -> None:
    data_options(command)
    target_options(command)
    command.add_argument(
        "--base",
        choices=BASES,
        nargs="+",
        default=["lightgbm"],
        help="the kinds of members to compare on the same folds (default: lightgbm)",
    )
    command.add_argument("--members", type=int, metavar="N", help="the number of members (default: 10)")
    command.add_argument("--bins", type=int, metavar="N", help="hardness bins (default: 20)")
    command.add_argument("--seed", type=int, default=0, metavar="N", help="the random seed (default: %(default)s)")
    command.add_argument(
        "--calibration",
        choices=CALIBRATIONS,
        default="isotonic",
        help="how scores become probabilities (default: %(default)s)",
    )
    command.add_argument("--time-column", required=True, metavar="COL", help="the column of times; not a feature")
    command.add_argument("--every", required=True, metavar="SPAN", help="how long each test lasts, such as 7d or 12h")
    command.add_argument("--delay", metavar="SPAN", help="the time until labels are known, such as 7d (default: 0)")
    command.add_argument(
        "--window", metavar="SPAN", help="how far back training rows go, such as 60d (default: expanding, all rows)"
    )
    command.add_argument(
        "--first", metavar="SPAN", help="the time span of the first training (default: the window, or a third of all)"
    )
    command.add_argument("--group", metavar="COL", help="a column of groups, such as cards; not a feature")
    command.add_argument("--top", type=int, metavar="N", help="alerts are the N best rows of each period")
    command.add_argument("--per", choices=PERIODS, help="the period (default: day)")
    command.add_argument(
        "--timezone", metavar="ZONE", help="the time zone of the periods (default: the column's zone, or UTC)"
    )
    command.add_argument("--decide", metavar="RULE", help="a rule about costs, such as 'p*amount>5'")
    command.add_argument("--exclude", nargs="+", default=[], metavar="COL", help="columns that are not features")
    command.add_argument("--html", metavar="FILE", help="write a report with figures over time, such as backtest.html")
    talk_options(command)


def _monitor(command: argparse.ArgumentParser) -> None:
    model_options(command)
    data_options(command)
    command.add_argument("--by", choices=PERIODS, help="also give the figures of each of these periods")
    command.add_argument("--time-column", metavar="COL", help="the column of times for --by")
    command.add_argument(
        "--timezone", metavar="ZONE", help="the time zone of the periods (default: the column's zone, or UTC)"
    )
    command.add_argument("--target", metavar="COL", help="a column of the labels that are known; empty for other rows")
    command.add_argument(
        "--threshold", type=float, metavar="NUMBER", help="the lowest score of an alert (default: the model's own)"
    )
    command.add_argument(
        "--alarm",
        nargs="+",
        default=[],
        metavar="LIMIT",
        help="exit with code 3 if a limit is exceeded, such as 'psi>0.25' 'precision<0.5' 'alerts>200'",
    )
    command.add_argument("--html", metavar="FILE", help="write a report, such as monitor.html")
    talk_options(command)


def _suspects(command: argparse.ArgumentParser) -> None:
    model_options(command)
    data_options(command)
    command.add_argument("--target", metavar="COL", help="the column of labels (default: as in training)")
    command.add_argument("--n", type=int, default=20, metavar="N", help="how many rows (default: %(default)s)")
    command.add_argument("--label", metavar="LABEL", help="only rows with this label")
    command.add_argument(
        "--keep", default="", metavar="COLS", help="columns to show beside the rows, such as id,amount"
    )
    command.add_argument("-o", "--output", metavar="FILE", help="write the rows to suspects.csv or suspects.parquet")
    talk_options(command)


def _refit(command: argparse.ArgumentParser) -> None:
    model_options(command)
    data_options(command)
    command.add_argument("--target", metavar="COL", help="the column of labels (default: as in training)")
    command.add_argument(
        "--time-column", metavar="COL", help="compare on the newest rows by this column (default: as in training)"
    )
    command.add_argument(
        "--holdout", type=float, metavar="SHARE", help="share of the rows to compare on (default: as in training)"
    )
    command.add_argument("--drop-unlabelled", action="store_true", help="train only on the rows that have a label")
    command.add_argument("-o", "--output", metavar="FILE", help="write the new model (default: only compare)")
    command.add_argument("--if-better", action="store_true", help="write the new model only if its AUCPRC is higher")
    talk_options(command)


def _inspect(command: argparse.ArgumentParser) -> None:
    model_options(command)
    talk_options(command)


def _export(command: argparse.ArgumentParser) -> None:
    model_options(command)
    command.add_argument("-o", "--output", default="model.onnx", metavar="FILE", help="(default: %(default)s)")
    talk_options(command)


def _demo(command: argparse.ArgumentParser) -> None:
    command.add_argument("--seed", type=int, default=0, help="the seed of the data and of all models (default: 0)")
    command.add_argument(
        "--report", default="selfpaced-demo.html", metavar="FILE", help="the report to write (default: %(default)s)"
    )


def _completion(command: argparse.ArgumentParser) -> None:
    command.add_argument("shell", choices=SHELLS)


COMMANDS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None], list[str]]] = {
    "train": (
        "train a model on a file, and judge it on held-out rows",
        _train,
        [
            "transactions.csv --target is_fraud",
            "transactions.parquet --target is_fraud --time-column when --time-limit 60 --report report.html",
            "transactions.csv --target is_fraud --base lightgbm --members 20",
            "'logs/*.parquet' --target attack --positive u2r --exclude session",
            "transactions.csv --target is_fraud --rule 'precision>=0.9'",
            "transactions.csv --target is_fraud --rule cost=5 --amount amount",
            "/shared/payments/ --target is_fraud --engine dask --scheduler tcp://head:8786 --checkpoint fit_of_june",
        ],
    ),
    "predict": (
        "score the rows of a file",
        _predict,
        [
            "model.skops july.parquet -o scores.parquet --keep tx_id",
            "model.skops july.csv -o scores.csv --threshold best",
            "model.skops july.csv -o scores.csv --decide 'p*amount>5' --keep tx_id",
            "model.skops july.csv -o scores.csv --top 100 --per day --time-column when --group card_id",
            "model.skops /shared/july/ -o /shared/scores --keep tx_id --engine spark --master spark://head:7077",
            "model.skops s3://bucket/july/ -o s3://bucket/scores.parquet --cache copies",
            "model.skops postgresql://host/shop --query 'SELECT * FROM july' -o postgresql://host/shop --table scores",
        ],
    ),
    "evaluate": (
        "judge a model on rows with labels",
        _evaluate,
        ["model.skops july.parquet", "model.skops july.parquet --rule 'alerts<=50/10000'"],
    ),
    "report": (
        "write a report about a model and the rows that it is judged by",
        _report,
        ["model.skops july.parquet -o report.html --id tx_id"],
    ),
    "compare": (
        "compare Self-paced Ensemble with other methods on one table",
        _compare,
        ["transactions.csv --target is_fraud", "transactions.csv --target is_fraud --base tree --picture compare.svg"],
    ),
    "backtest": (
        "train and test in the order of time, as in production",
        _backtest,
        [
            "transactions.csv --target is_fraud --time-column when --every 7d --delay 7d",
            "transactions.csv --target is_fraud --time-column when --every 7d --delay 7d --window 60d --top 100 "
            "--group card_id --base lightgbm tree --html backtest.html",
        ],
    ),
    "monitor": (
        "check new rows for drift, and estimate the model's quality without labels",
        _monitor,
        [
            "model.skops july.parquet",
            "model.skops july.parquet --by day --time-column when --alarm 'psi>0.25' 'alerts>200' --html monitor.html",
        ],
    ),
    "suspects": (
        "list the rows whose labels are doubtful",
        _suspects,
        ["model.skops transactions.csv", "model.skops transactions.csv --n 100 --keep tx_id -o suspects.csv"],
    ),
    "refit": (
        "train a model again on newer rows, and compare both models",
        _refit,
        ["model.skops august.parquet", "model.skops august.parquet -o model.skops --if-better"],
    ),
    "inspect": ("show what a model was trained on, when and with what", _inspect, ["model.skops"]),
    "export": ("write a model as an ONNX graph, for other programs", _export, ["model.skops -o model.onnx"]),
    "demo": ("compare Self-paced Ensemble with other methods on generated tables, and write a report", _demo, [""]),
    "completion": (
        "print a script that completes commands in your shell",
        _completion,
        ["bash >> ~/.bashrc", "zsh > ~/.zfunc/_selfpaced"],
    ),
}

# Every command is in one group. `selfpaced --help` lists the commands by group.
GROUPS = {
    "make a model": ("train", "refit"),
    "use a model": ("predict", "export"),
    "judge a model": ("evaluate", "report", "compare", "backtest"),
    "check a model and its data": ("monitor", "suspects", "inspect"),
    "get started": ("demo", "completion"),
}
