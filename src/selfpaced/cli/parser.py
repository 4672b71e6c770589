"""The arguments of all commands."""

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
            return did_you_mean(wrong.group(1), re.findall(r"[\w.:-]+", wrong.group(2)))
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


class Choices(list[str]):
    """The values of an option. FILE.py:FUNCTION among them stands for any function in a Python file."""

    def __contains__(self, value: object) -> bool:
        return super().__contains__(value) or (super().__contains__(OF_USER) and bool(FUNCTION.fullmatch(str(value))))


OF_USER = "FILE.py:FUNCTION"
FUNCTION = re.compile(r".+\.py:\w+")
KINDS_OF_MEMBERS = ("auto", "lightgbm", "gbdt", "catboost", "extra_trees", "forest", "tree", "logistic", "knn", "mlp")
BASES = (*KINDS_OF_MEMBERS, "lightgbm-all-rows", OF_USER)
BASE = "lightgbm-all-rows is one LightGBM trained on all rows; models.py:make_model runs your file and trains the "
BASE += "classifier that the function returns on all rows"
CALIBRATIONS = ("isotonic", "beta", "sigmoid", "prior", "none")
PERIODS = "hour|day|week|month"


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


TYPES: dict[str, Callable[[str], Any]] = {"N": int, "SHARE": float, "SECONDS": float, "SCORE": float, "COLS": _names}
CLUSTER = "on a cluster", "DATA are Parquet files that every machine can read"

# An option is written as in its usage: "-o --output FILE=model.skops" has a default, "--target COL!" must be given,
# "--exclude COL..." has several values, "--per day|week" has choices, and "--json" is a switch. Of those that begin
# with "/", and of those that begin with "+", only one can be given; those that begin with "@" are about a cluster.
# The value of "--if-better GOAL?=aucprc" can be omitted.
Options = Mapping[str, str]

DATA: Options = {
    "data DATA": "CSV, TSV (also compressed), Parquet, Feather or JSON lines: a file, folder, pattern or URL (s3://, "
    "gs://, abfs://); a Delta or Iceberg table; with --query a database: postgresql://... or a .duckdb file",
    "--query SELECT": "the rows to read from the database DATA",
    "--types TYPES...": "types of columns of text files, such as amount=float,code=string or price='decimal comma'",
    "--cache FOLDER": "keep copies of remote and text files in this folder",
    "--snapshot VERSION": "the version of a Delta or Iceberg table (default: the newest)",
}
MODEL: Options = {"model MODEL": "a file that `selfpaced train` wrote"}
TALK: Options = {"-q --quiet": "print only errors and unmet rules", "--json": "print one JSON object, for scripts"}
UNLABELLED: Options = {"--drop-unlabelled": "use only the rows that have a label"}
TARGET: Options = {
    "--target COL!": "the column of labels",
    "--pos-label LABEL": "the label to find, if there are more than two",
    **UNLABELLED,
}
UNIT: Options = {"--time-unit s|ms|us|ns": "the unit of times that are numbers, counted from 1970"}
ZONE: Options = {
    "--timezone ZONE": "the time zone of the periods, such as Europe/Berlin (default: the column's zone, or UTC)"
}
MEMBERS: Options = {
    "--members N": "the number of members of one kind (default: 10)",
    "--bins N": "hardness bins, for members of one kind (default: 20)",
    "--seed N=0": "the random seed (default: %(default)s)",
}
HOW: Options = {
    f"--base {'|'.join(BASES)}=auto": "the kind of members; auto compares several and blends the best; "
    f"{BASE} (default: %(default)s)",
    **MEMBERS,
    "--time-limit SECONDS": "the time that auto may take to train; it skips recipes for which no time is left "
    "(default: no limit)",
}
HELD_OUT: Options = {
    "/--valid FILE": "another file, with the rows to judge the model by",
    "/--holdout SHARE=0.2": "the share of the rows that is held out to judge the model by (default: %(default)s)",
    "--time-column COL": "hold out the last rows by this column; not a feature",
    **UNIT,
    "--delay SPAN": "the time until labels are known, such as 7d or 12h; rows without a known label are not trained on",
    "--group COL": "a column of groups, such as cards: hold out whole groups; not a feature",
}
HISTORY: Options = {
    "--history ENTITIES": "columns of entities, such as customer,terminal or customer+terminal: what each did before "
    "becomes features, and the columns themselves do not; auto finds such columns and tries whether they help",
    "--windows SPANS": "how far back histories go (default: 1d,7d,30d)",
}
PAST: Options = {
    "+--past FILE": "rows before those of DATA, with the labels that are known; for a model with a history",
    "+--no-past": "there are no rows before those of DATA",
}
RULE = "the rule that chooses the threshold: f1, mcc, gmean, 'precision>=0.9', 'recall>=0.8', 'alerts<=50/10000', "
RULE += "cost=5:100 (a false alarm costs 5, a missed case 100), 'precision>=0.9 with 95%%' (a guarantee), "
RULE += "'alerts<=200/day', or zones: 'block: precision>=0.95, review: alerts<=50/day, pass'"
AMOUNT: Options = {"--amount COL": "column with the cost of missing each row, for a rule such as cost=5"}
TIMES_OF_RULE: Options = {
    "--time-column COL": "the column of times, for a rule such as 'alerts<=200/day'",
    **UNIT,
    **ZONE,
}
AMOUNT_OF_HISTORY: Options = {"--amount COL": "column of amounts, for --history"}
CALIBRATION: Options = {
    f"--calibration {'|'.join(CALIBRATIONS)}=isotonic": "how scores become probabilities (default: %(default)s)"
}
BY: Options = {"--by COL": "also give the figures of each group of this column, which need not be a feature"}
AUTHOR: Options = {"--author NAME": "who trains the model, for its record"}
EXCLUDE: Options = {"--exclude COL...": "columns that are not features"}
# What to train, on which rows; a model, and rows to score; and rows with labels to judge it by.
LEARNED: Options = {**DATA, **TARGET, **HOW, **HELD_OUT, **HISTORY}
READ: Options = {**MODEL, **DATA}
SCORED: Options = {**READ, "--target COL": "the column of labels (default: as in training)"}
ENGINE: Options = {
    "@--engine dask|spark": "work on this kind of cluster",
    "@--scheduler URL": "the address of Dask's scheduler, such as tcp://HOST:8786",
    "@--master URL": "the address of Spark, such as spark://HOST:7077, local[4] or sc://HOST (default: spark-submit's)",
}


def parser() -> argparse.ArgumentParser:
    top = TopParser(prog="selfpaced", description="Find the rare: classification of imbalanced tables.")
    top.groups = {title: {name: COMMANDS[name][0] for name in names} for title, names in GROUPS.items()}
    from selfpaced import __version__

    top.add_argument("--version", action="version", version=f"selfpaced {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=CommandParser)
    for name, (summary, options, *examples) in COMMANDS.items():
        command = commands.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            epilog="examples:\n" + "\n".join(f"  selfpaced {name} {example}".rstrip() for example in examples),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        talk = {} if name in ("demo", "completion") else TALK
        _add(command, {**options, **talk, "--debug": "show the traceback of an error"})
    return top


def _add(command: argparse.ArgumentParser, options: Options) -> None:
    places: dict[str, Any] = {"": command}
    for written, help in options.items():
        mark = written[0] if written[0] in "/+@" else ""
        if mark not in places:
            places[mark] = (
                command.add_argument_group(*CLUSTER) if mark == "@" else command.add_mutually_exclusive_group()
            )
        *names, value = written.lstrip("/+@").split()
        if value.startswith("-"):
            places[mark].add_argument(*names, value, help=help, action="store_true")
        else:
            places[mark].add_argument(*names, help=help, **_settings(value, names[0].startswith("-")))


def _settings(value: str, is_option: bool) -> dict[str, Any]:
    """The settings of an argument, by what its usage says about its value.

    >>> _settings("COL!", True), _settings("N=0", True)["default"], _settings("day|week", True)["choices"]
    ({'metavar': 'COL', 'type': <class 'str'>, 'required': True}, '0', ['day', 'week'])
    """
    name, has_default, default = value.partition("=")
    plain = name.rstrip("!.?")
    settings: dict[str, Any] = {"metavar": plain, "type": TYPES.get(plain, str)}
    if "|" in plain:
        settings = {"choices": Choices(plain.split("|"))}
    if name.endswith("..."):
        settings |= {"nargs": "+", "default": [default] if has_default else []}
    elif name.endswith("?"):  # the value itself may be omitted
        settings |= {"nargs": "?", "const": default}
    elif has_default:
        settings["default"] = default
    return settings | ({"required": True} if name.endswith("!") and is_option else {})


# The summary, the options and examples of each command.
COMMANDS: dict[str, tuple[str, Options, *tuple[str, ...]]] = {
    "train": (
        "train a model on a file, and judge it on held-out rows",
        {
            **LEARNED,
            "--rule RULE=f1": f"{RULE} (default: f1)",
            **AMOUNT,
            **CALIBRATION,
            **EXCLUDE,
            "--id COL": "a column of names of the rows; not a feature",
            "--out-of-core": "read the files once a round instead of loading them",
            "-o --output FILE=model.skops": "(default: %(default)s)",
            "--report FILE": "write a report about the model, such as report.html",
            "--no-reference": "do not save counts of the held-out rows with the model; it cannot be monitored then",
            **AUTHOR,
            "--checkpoint FOLDER": "keep finished rounds; the same command after a crash continues",
            **ENGINE,
        },
        "transactions.csv --target is_fraud",
        "transactions.parquet --target is_fraud --time-column when --time-limit 60 --report report.html",
        "transactions.csv --target is_fraud --base models.py:make_model",
        "transactions.csv --target is_fraud --base lightgbm --members 20 --types amount=float,code=string",
        "'logs/*.parquet' --target attack --pos-label u2r --exclude session",
        "transactions.csv --target is_fraud --rule 'precision>=0.9'",
        "transactions.csv --target is_fraud --rule cost=5 --amount amount",
        "transactions.csv --target is_fraud --time-column when --rule 'block: precision>=0.95 with 95%%, review: "
        "alerts<=50/day, pass'",
        "transactions.csv --target is_fraud --time-column when --delay 7d --history card,shop --amount amount",
        "/shared/payments/ --target is_fraud --engine dask --scheduler tcp://head:8786 --checkpoint fit_of_june",
    ),
    "predict": (
        "score the rows of a file",
        {
            **READ,
            "-o --output FILE!": "the file for the scores, such as scores.parquet or scores.csv, a URL, or a database",
            "--table NAME": "the table for the scores, if the output is a database",
            "--if-exists fail|append|replace=fail": "what to do if that table already exists (default: %(default)s)",
            "--keep COLS=": "columns to write beside the scores, such as id,amount",
            "--threshold NUMBER": "add a column of alerts: scores at or above this number, or above the model's "
            "threshold for 'best', which also adds a column of zones if the model has zones",
            "--decide RULE": "alerts row by row, as 'p*amount>5': the probability, times what missing the row costs, "
            "is more than an alert costs",
            "--top N": "alerts are the N best rows, by --decide or by score",
            "--stamp": "add the id of the model and the threshold to each row",
            "--reasons N": "add the N columns that raised the score of each alert most (of each row, without alerts)",
            f"--per {PERIODS}": "take the N best rows of each of these periods",
            "--time-column COL": "the column of times for --per",
            **UNIT,
            **ZONE,
            "--group COL": "a column of groups, such as cards; at most one alert for each group in a period",
            **PAST,
            "--state FOLDER": "a state of the history, for the features of the rows; it then takes the rows in",
            "--id COL": "the ids of rows, for a state that is made",
            "--learn FILE": "ids and labels that have arrived, for the state",
            **ENGINE,
        },
        "model.skops july.parquet -o scores.parquet --keep tx_id",
        "model.skops july.csv -o scores.csv --threshold best",
        "model.skops july.csv -o scores.csv --decide 'p*amount>5' --keep tx_id",
        "model.skops july.csv -o scores.csv --threshold best --reasons 4",
        "model.skops july.csv -o scores.csv --top 100 --per day --time-column when --group card_id",
        "model.skops /shared/july/ -o /shared/scores --keep tx_id --engine spark --master spark://head:7077",
        "model.skops s3://bucket/july/ -o s3://bucket/scores.parquet --cache copies",
        "model.skops postgresql://host/shop --query 'SELECT * FROM july' -o postgresql://host/shop --table scores",
    ),
    "serve": (
        "answer requests for scores over HTTP",
        {
            **MODEL,
            "--host ADDRESS=127.0.0.1": "the address to listen on (default: %(default)s, this machine only); another "
            "one needs a token",
            "--port N=8000": "the port (default: %(default)s); 0 is any free port",
            "--token-file FILE": "a file with the token that requests must send (default: the environment variable "
            "SELFPACED_TOKEN)",
            "--threshold NUMBER": "the lowest score of an alert (default: the model's own)",
            "--decide RULE": "alerts row by row, as 'p*amount>5'",
            "--shadow MODEL": "score every row with this model too, and log both scores",
            "--state FOLDER": "the state of the history that the model was trained with; it takes the rows in",
            "--log FOLDER": "log rows and scores in this folder, for monitor and predict",
            "--log-also COLS=": "columns to log beside those that the model reads, such as tx_id",
            "--log-without COLS=": "columns that are not logged",
            "--workers N=1": "processes that share the port (default: %(default)s)",
            "--most-bytes N=16777216": "the largest body (default: %(default)s)",
            "--most-rows N=10000": "the largest batch (default: %(default)s)",
            "--most-requests N=256": "requests under way at once, in each process (default: %(default)s)",
            "--seconds SECONDS=30": "the longest time for a request (default: %(default)s)",
        },
        "model.skops",
        "model.skops --decide 'p*amount>5' --log requests --log-also tx_id",
        "model.skops --shadow candidate.skops --log requests --workers 2",
        "model.skops --host 0.0.0.0 --token-file token.txt",
    ),
    "evaluate": (
        "judge a model on rows with labels",
        {
            **SCORED,
            **UNLABELLED,
            **PAST,
            "/--threshold NUMBER": "the lowest score of an alert (default: the threshold that was chosen in training)",
            "/--rule RULE": RULE,
            **AMOUNT,
            **TIMES_OF_RULE,
            **BY,
        },
        "model.skops july.parquet",
        "model.skops july.parquet --by region",
        "model.skops july.parquet --rule 'alerts<=50/10000'",
    ),
    "report": (
        "write a report about a model and the rows that it is judged by",
        {
            **SCORED,
            **UNLABELLED,
            **PAST,
            "--id COL": "a column of names of the rows",
            "--time-column COL": "the column of times, for figures over time",
            **UNIT,
            "--decide RULE": "compare the threshold with decisions row by row, such as 'p*amount>5'",
            "--rule RULE": f"{RULE} (default: the model's own threshold)",
            **AMOUNT,
            **BY,
            "-o --output FILE=report.html": "the page, or its figures if it ends in .json (default: %(default)s)",
        },
        "model.skops july.parquet -o report.html --id tx_id",
    ),
    "compare": (
        "compare Self-paced Ensemble with other methods on one table",
        {
            **LEARNED,
            **AMOUNT_OF_HISTORY,
            **EXCLUDE,
            "--picture FILE": "draw the comparison, such as compare.svg",
        },
        "transactions.csv --target is_fraud",
        "transactions.csv --target is_fraud --base tree --picture compare.svg",
    ),
    "backtest": (
        "train and test in the order of time, as in production",
        {
            **DATA,
            **TARGET,
            f"--base {'|'.join(BASES)}...=lightgbm": "the kinds of members to compare on the same folds; "
            f"{BASE} (default: lightgbm)",
            **MEMBERS,
            **CALIBRATION,
            "--time-column COL!": "the column of times; not a feature",
            **UNIT,
            "--every SPAN!": "how long each test lasts, such as 7d or 12h",
            "--delay SPAN": "the time until labels are known, such as 7d (default: 0)",
            "--window SPAN": "how far back training rows go, such as 60d (default: expanding, all rows)",
            "--first SPAN": "the time span of the first training (default: the window, or a third of all)",
            "--group COL": "a column of groups, such as cards; not a feature",
            **HISTORY,
            **AMOUNT_OF_HISTORY,
            "/--rule RULE": "a budget such as 'alerts<=200/day': alerts are the 200 best rows of each day",
            "/--top N": "the same in two options: alerts are the N best rows of each period",
            f"--per {PERIODS}": "the period of --top (default: day)",
            **ZONE,
            "--decide RULE": "a rule about costs, such as 'p*amount>5'",
            **EXCLUDE,
            "--html FILE": "write a report with figures over time, such as backtest.html",
        },
        "transactions.csv --target is_fraud --time-column when --every 7d --delay 7d",
        "transactions.csv --target is_fraud --time-column when --every 7d --delay 7d --window 60d --rule "
        "'alerts<=100/day' --group card_id --base lightgbm tree --html backtest.html",
    ),
    "monitor": (
        "check new rows for drift, and estimate the model's quality without labels",
        {
            **READ,
            f"--by {PERIODS}": "also give the figures of each of these periods",
            "--time-column COL": "the column of times for --by",
            **UNIT,
            **ZONE,
            "--target COL": "a column of the labels that are known; empty for other rows",
            "--threshold SCORE": "the lowest score of an alert (default: the model's own)",
            **PAST,
            "--alarm LIMIT...": "exit with code 3 if a limit is exceeded, such as 'psi>0.25' 'precision<0.5' "
            "'alerts>200'",
            "--html FILE": "write a report, such as monitor.html",
        },
        "model.skops july.parquet",
        "model.skops july.parquet --by day --time-column when --alarm 'psi>0.25' 'alerts>200' --html monitor.html",
    ),
    "suspects": (
        "list the rows whose labels are doubtful",
        {
            **SCORED,
            "--n N=20": "how many rows (default: %(default)s)",
            "--label LABEL": "only rows with this label",
            "--keep COLS=": "columns to show beside the rows, such as id,amount",
            "-o --output FILE": "write the rows to suspects.csv or suspects.parquet",
        },
        "model.skops transactions.csv",
        "model.skops transactions.csv --n 100 --keep tx_id -o suspects.csv",
    ),
    "review": (
        "show alerts on a local page, and save what people say about them",
        {
            "alerts ALERTS": "scores that `predict` has written, with a column of ids (--keep) and one of alerts, or "
            "rows that `suspects` has written",
            "-o --output FILE!": "the file of verdicts, such as verdicts.csv; a review goes on where it stopped",
            "--id COL": "the column of ids (default: the first column that is not a score)",
            "--model MODEL": "the model of the scores: verdicts then come with labels in its words",
            "--rows FILE": "the rows that were scored, with the ids, to show all their columns",
            "--past FILE": "earlier rows, to show those of the same entity: needs --entity and --time-column",
            "--entity COL": "the column of entities for --past, such as card",
            "--time-column COL": "the column of times: rows of --past before the one under review are shown",
            "--audit N=0": "mix in N rows drawn at random from those that are not alerts, without saying which, so "
            "that the recall can be estimated; scores and reasons are hidden then",
            "--seed N=0": "the seed of the draw and of its order (default: %(default)s)",
            "--port N=0": "the port on this machine (default: any free one)",
        },
        "scores.parquet -o verdicts.csv --id tx_id",
        "scores.parquet -o verdicts.csv --rows july.parquet --model model.skops --audit 200",
        "scores.csv -o verdicts.csv --rows july.csv --past june.csv --entity card --time-column when",
        "suspects.csv -o verdicts.csv --id tx_id",
    ),
    "refit": (
        "train a model again on newer rows, and compare both models",
        {
            **SCORED,
            "--time-column COL": "compare on the newest rows by this column (default: as in training)",
            **UNIT,
            "--holdout SHARE": "share of the rows to compare on (default: as in training)",
            "--labels FILE": "labels that replace those of DATA, by id: the verdicts of a review, or a table of ids "
            "and labels",
            "--id COL": "the column of ids in DATA and in --labels (default: that of the verdicts)",
            **UNLABELLED,
            "-o --output FILE": "write the new model (default: only compare)",
            "--if-better GOAL?=aucprc": "write the new model only if it is better by aucprc (the default), cost "
            "(by the model's rule) or recall@200/day (the share of rare rows among the 200 best of each day)",
            **AUTHOR,
        },
        "model.skops august.parquet",
        "model.skops august.parquet -o model.skops --if-better",
        "model.skops july.parquet --labels verdicts.csv --drop-unlabelled -o new.skops",
        "model.skops august.parquet -o model.skops --if-better recall@200/day --author 'Ada Lovelace'",
    ),
    "inspect": (
        "show what a model was trained on, when and with what",
        {
            **MODEL,
            "--card FILE": "write a model card for governance, such as card.md",
            "--evaluation FILE": "add the figures that `evaluate --json` printed to the card, such as those by group",
        },
        "model.skops",
        "model.skops --card card.md",
        "model.skops --card card.md --evaluation july.json",
    ),
    "verify": (
        "tell whether a model was trained on the rows of a file",
        READ,
        "model.skops transactions.csv",
    ),
    "export": (
        "write a model as an ONNX graph, for other programs",
        {**MODEL, "-o --output FILE=model.onnx": "(default: %(default)s)"},
        "model.skops -o model.onnx",
    ),
    "demo": (
        "compare Self-paced Ensemble with other methods on generated tables, and write a report",
        {
            "--seed N=0": "the seed of the data and of all models (default: 0)",
            "--report FILE=selfpaced-demo.html": "the report to write (default: %(default)s)",
        },
        "",
    ),
    "completion": (
        "print a script that completes commands in your shell",
        {"shell bash|zsh|tcsh": ""},
        "bash >> ~/.bashrc",
        "zsh > ~/.zfunc/_selfpaced",
    ),
}

# The functions of commands that are not `run` of the module with their name.
RUN_BY = {
    "demo": ("commands.compare", "run_demo"),
    "export": ("commands.inspect", "run_export"),
    "completion": ("parser", "run_completion"),
}


def run_completion(options: Namespace) -> None:
    print(need("shtab", "cli", "Completion").complete(parser(), options.shell))


# Every command is in one group. `selfpaced --help` lists the commands by group.
GROUPS = {
    "make a model": ("train", "refit"),
    "use a model": ("predict", "serve", "export"),
    "judge a model": ("evaluate", "report", "compare", "backtest"),
    "check a model and its data": ("monitor", "suspects", "review", "inspect", "verify"),
    "get started": ("demo", "completion"),
}
