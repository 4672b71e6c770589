"""The arguments of all commands."""

from __future__ import annotations

import argparse
import re
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from selfpaced.exceptions import did_you_mean, need

OPTION = re.compile(r"--[\w-]+")
WRONG_CHOICE = re.compile(r"invalid choice: '([^']*)' \(choose from (.*)\)")


class CommandParser(argparse.ArgumentParser):
    """A parser whose errors suggest the command, option or value that was meant."""

    _given: Sequence[str] = ()
    _help_shows = "shows the options and examples"

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse unknown options here, as an error of the command that they were given to."""
        self._given = () if args is None else list(args)
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return parsed, unknown

    def error(self, message: str) -> NoReturn:
        """End with the message, and with where the options are listed: the usage alone would fill the screen."""
        suggestion = self._suggestion(message)
        said = f"{message}.{suggestion}" if suggestion else message
        self.exit(2, f"{self.prog}: error: {said}\n{self.prog} --help {self._help_shows}.\n")

    def _suggestion(self, message: str) -> str:
        if wrong := WRONG_CHOICE.search(message):
            return did_you_mean(wrong.group(1), re.findall(r"[\w-]+", wrong.group(2)))
        known = OPTION.findall(self.format_usage())
        for word in self._given:
            option = OPTION.match(word)
            if option and not any(each.startswith(option.group()) for each in known):
                return did_you_mean(option.group(), known)
        return ""


class TopParser(CommandParser):
    """The parser of `selfpaced` itself. Its help lists the commands by purpose."""

    groups: Mapping[str, Mapping[str, str]] = {}
    _help_shows = "lists the commands"

    def format_help(self) -> str:
        """The usage, the commands with their summaries, and where to read more."""
        lines = [f"usage: {self.prog} COMMAND [options]", "", str(self.description)]
        for title, commands in self.groups.items():
            lines += ["", f"{title}:", *(f"  {name:<12}{summary}" for name, summary in commands.items())]
        lines += ["", f"{self.prog} COMMAND --help shows the options and examples of a command.", ""]
        return "\n".join([*lines, f"{self.prog} --version prints the version.", ""])


ENGINES = ("dask", "spark")


def add_engine_options(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("on a cluster", "DATA are Parquet files that every machine can read")
    option(group, "--engine", "work on this kind of cluster", choices=ENGINES)
    option(group, "--scheduler URL", "the address of Dask's scheduler, such as tcp://HOST:8786")
    option(
        group,
        "--master URL",
        "the address of Spark, such as spark://HOST:7077, local[4] or sc://HOST (default: spark-submit's)",
    )


BASES = ("auto", "lightgbm", "gbdt", "catboost", "extra_trees", "forest", "tree", "logistic", "knn", "mlp")


TYPES = {"N": int, "SHARE": float, "SECONDS": float}


def option(command: Any, names: str, help: str, **more: Any) -> None:
    """Add an option, such as "-o --output FILE": its names, and what to write for its value; none for a switch."""
    flags = [name for name in names.split() if name.startswith("-")]
    value = [name for name in names.split() if not name.startswith("-")]
    if value:
        more = {"metavar": value[0], "type": TYPES.get(value[0], str), **more}
    command.add_argument(*flags, help=help, **(more or {"action": "store_true"}))


def data_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "data",
        metavar="DATA",
        help="CSV, TSV (also compressed), Parquet, Feather or JSON lines: a file, folder, pattern or URL (s3://, "
        "gs://, abfs://); a Delta or Iceberg table; with --query a database: postgresql://... or a .duckdb file",
    )
    option(command, "--query SELECT", "the rows to read from the database DATA")
    option(command, "--cache FOLDER", "keep copies of remote and text files in this folder")
    option(command, "--snapshot VERSION", "the version of a Delta or Iceberg table (default: the newest)")


def model_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("model", metavar="MODEL", help="a file that `selfpaced train` wrote")


def target_options(command: argparse.ArgumentParser) -> None:
    option(command, "--target COL", "the column of labels", required=True)
    option(command, "--pos-label LABEL", "the label to find, if there are more than two")


def how_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--base",
        choices=BASES,
        default="auto",
        help="the kind of members; auto compares several and blends the best (default: %(default)s)",
    )
    option(command, "--members N", "the number of members of one kind (default: 10)")
    option(command, "--bins N", "hardness bins, for members of one kind (default: 20)")
    option(
        command,
        "--time-limit SECONDS",
        "the time that auto may take to train; it skips recipes for which no time is left (default: no limit)",
    )
    option(command, "--seed N", "the random seed (default: %(default)s)", default=0)


def rule_options(command: argparse.ArgumentParser, group: Any, default: str | None = None) -> None:
    group.add_argument(
        "--rule",
        default=default,
        metavar="RULE",
        help="the rule that chooses the threshold: f1, mcc, gmean, 'precision>=0.9', 'recall>=0.8', 'alerts<=50/10000' "
        "or cost=5:100 (a false alarm costs 5, a missed case 100)" + (f" (default: {default})" if default else ""),
    )
    option(command, "--amount COL", "column with the cost of missing each row, for a rule such as cost=5")


def held_out_options(command: argparse.ArgumentParser) -> None:
    rows = command.add_mutually_exclusive_group()
    option(rows, "--valid FILE", "another file, with the rows to judge the model by")
    option(
        rows,
        "--holdout SHARE",
        "the share of the rows that is held out to judge the model by (default: %(default)s)",
        default=0.2,
    )
    option(command, "--time-column COL", "hold out the last rows by this column; not a feature")
    option(
        command,
        "--delay SPAN",
        "the time until labels are known, such as 7d or 12h; rows without a known label are not trained on",
    )
    option(command, "--group COL", "a column of groups, such as cards: hold out whole groups; not a feature")


def calibration_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--calibration",
        choices=CALIBRATIONS,
        default="isotonic",
        help="how scores become probabilities (default: %(default)s)",
    )


def exclude_options(command: argparse.ArgumentParser) -> None:
    option(command, "--exclude COL", "columns that are not features", nargs="+", default=[])


def scored_options(command: argparse.ArgumentParser) -> None:
    """A model, and rows with labels to judge it by."""
    model_options(command)
    data_options(command)
    option(command, "--target COL", "the column of labels (default: as in training)")


def zone_options(command: argparse.ArgumentParser) -> None:
    option(
        command,
        "--timezone ZONE",
        "the time zone of the periods, such as Europe/Berlin (default: the column's zone, or UTC)",
    )


def talk_options(command: argparse.ArgumentParser) -> None:
    option(command, "-q --quiet", "print only errors")
    option(command, "--json", "print one JSON object, for scripts")


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
        option(command, "--debug", "show the traceback of an error")
    return top


def _train(command: argparse.ArgumentParser) -> None:
    data_options(command)
    target_options(command)
    how_options(command)
    held_out_options(command)
    rule_options(command, command, "f1")
    calibration_options(command)
    exclude_options(command)
    option(command, "--id COL", "a column of names of the rows; not a feature")
    option(command, "--drop-unlabelled", "train only on the rows that have a label")
    command.add_argument(
        "--out-of-core", action="store_true", default=None, help="read the files once a round instead of loading them"
    )
    option(command, "-o --output FILE", "(default: %(default)s)", default="model.skops")
    option(command, "--report FILE", "write a report about the model, such as report.html")
    option(
        command,
        "--no-reference",
        "do not save counts of the held-out rows in the model file; such a model cannot be monitored",
    )
    option(command, "--checkpoint FOLDER", "keep finished rounds; the same command after a crash continues")
    add_engine_options(command)
    talk_options(command)


def _predict(command: argparse.ArgumentParser) -> None:
    model_options(command)
    data_options(command)
    option(
        command,
        "-o --output FILE",
        "the file for the scores, such as scores.parquet or scores.csv, a URL (s3://...), or a database",
        required=True,
    )
    option(command, "--table NAME", "the table for the scores, if the output is a database")
    command.add_argument(
        "--if-exists",
        choices=("fail", "append", "replace"),
        default="fail",
        help="what to do if that table already exists (default: %(default)s)",
    )
    option(command, "--keep COLS", "columns to write beside the scores, such as id,amount", default="")
    option(
        command,
        "--threshold NUMBER",
        "add a column of alerts: scores at or above this number, or above the threshold of the model for 'best'",
    )
    option(
        command,
        "--decide RULE",
        "alerts row by row, as 'p*amount>5': the probability, times what missing the row costs, is more than an alert "
        "costs",
    )
    option(command, "--top N", "alerts are the N best rows, by --decide or by score")
    option(command, "--per", "take the N best rows of each of these periods", choices=PERIODS)
    option(command, "--time-column COL", "the column of times for --per")
    zone_options(command)
    option(command, "--group COL", "a column of groups, such as cards; at most one alert for each group in a period")
    add_engine_options(command)
    talk_options(command)


def _evaluate(command: argparse.ArgumentParser) -> None:
    scored_options(command)
    alerts = command.add_mutually_exclusive_group()
    option(
        alerts,
        "--threshold NUMBER",
        "the lowest score of an alert (default: the threshold that was chosen in training)",
    )
    rule_options(command, alerts)
    talk_options(command)


def _report(command: argparse.ArgumentParser) -> None:
    scored_options(command)
    option(command, "--id COL", "a column of names of the rows")
    option(command, "--time-column COL", "the column of times, for figures over time")
    option(command, "--decide RULE", "compare the threshold with decisions row by row, such as 'p*amount>5'")
    rule_options(command, command)
    option(command, "-o --output FILE", "(default: %(default)s)", default="report.html")
    option(command, "--facts FILE", "also write the figures of the report, such as report.json")
    talk_options(command)


def _compare(command: argparse.ArgumentParser) -> None:
    data_options(command)
    target_options(command)
    how_options(command)
    held_out_options(command)
    exclude_options(command)
    option(command, "--picture FILE", "draw the comparison, such as compare.svg")
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
    option(command, "--members N", "the number of members (default: 10)")
    option(command, "--bins N", "hardness bins (default: 20)")
    option(command, "--seed N", "the random seed (default: %(default)s)", default=0)
    calibration_options(command)
    option(command, "--time-column COL", "the column of times; not a feature", required=True)
    option(command, "--every SPAN", "how long each test lasts, such as 7d or 12h", required=True)
    option(command, "--delay SPAN", "the time until labels are known, such as 7d (default: 0)")
    option(command, "--window SPAN", "how far back training rows go, such as 60d (default: expanding, all rows)")
    option(command, "--first SPAN", "the time span of the first training (default: the window, or a third of all)")
    option(command, "--group COL", "a column of groups, such as cards; not a feature")
    option(command, "--top N", "alerts are the N best rows of each period")
    option(command, "--per", "the period (default: day)", choices=PERIODS)
    zone_options(command)
    option(command, "--decide RULE", "a rule about costs, such as 'p*amount>5'")
    exclude_options(command)
    option(command, "--html FILE", "write a report with figures over time, such as backtest.html")
    talk_options(command)


def _monitor(command: argparse.ArgumentParser) -> None:
    model_options(command)
    data_options(command)
    option(command, "--by", "also give the figures of each of these periods", choices=PERIODS)
    option(command, "--time-column COL", "the column of times for --by")
    zone_options(command)
    option(command, "--target COL", "a column of the labels that are known; empty for other rows")
    option(command, "--threshold NUMBER", "the lowest score of an alert (default: the model's own)", type=float)
    option(
        command,
        "--alarm LIMIT",
        "exit with code 3 if a limit is exceeded, such as 'psi>0.25' 'precision<0.5' 'alerts>200'",
        nargs="+",
        default=[],
    )
    option(command, "--html FILE", "write a report, such as monitor.html")
    talk_options(command)


def _suspects(command: argparse.ArgumentParser) -> None:
    scored_options(command)
    option(command, "--n N", "how many rows (default: %(default)s)", default=20)
    option(command, "--label LABEL", "only rows with this label")
    option(command, "--keep COLS", "columns to show beside the rows, such as id,amount", default="")
    option(command, "-o --output FILE", "write the rows to suspects.csv or suspects.parquet")
    talk_options(command)


def _refit(command: argparse.ArgumentParser) -> None:
    scored_options(command)
    option(command, "--time-column COL", "compare on the newest rows by this column (default: as in training)")
    option(command, "--holdout SHARE", "share of the rows to compare on (default: as in training)")
    option(command, "--drop-unlabelled", "train only on the rows that have a label")
    option(command, "-o --output FILE", "write the new model (default: only compare)")
    option(command, "--if-better", "write the new model only if its AUCPRC is higher")
    talk_options(command)


def _inspect(command: argparse.ArgumentParser) -> None:
    model_options(command)
    talk_options(command)


def _export(command: argparse.ArgumentParser) -> None:
    model_options(command)
    option(command, "-o --output FILE", "(default: %(default)s)", default="model.onnx")
    talk_options(command)


def _demo(command: argparse.ArgumentParser) -> None:
    option(command, "--seed", "the seed of the data and of all models (default: 0)", type=int, default=0)
    option(command, "--report FILE", "the report to write (default: %(default)s)", default="selfpaced-demo.html")


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
            "'logs/*.parquet' --target attack --pos-label u2r --exclude session",
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

# The functions of commands that are not `run` of the module with their name.
RUN_BY = {"export": ("commands.inspect", "run_export"), "completion": ("parser", "run_completion")}


def run_completion(options: Namespace) -> None:
    print(need("shtab", "cli", "Completion").complete(parser(), options.shell))


# Every command is in one group. `selfpaced --help` lists the commands by group.
GROUPS = {
    "make a model": ("train", "refit"),
    "use a model": ("predict", "export"),
    "judge a model": ("evaluate", "report", "compare", "backtest"),
    "check a model and its data": ("monitor", "suspects", "inspect"),
    "get started": ("demo", "completion"),
}
