"""What a command was asked for: a training, a rule, a decision."""

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass, fields
from os import PathLike
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from selfpaced import thresholds
from selfpaced.calibration import BEST_METHOD
from selfpaced.callbacks import Callback
from selfpaced.cli.bases import is_single
from selfpaced.cli.columns import Floats
from selfpaced.exceptions import TableError
from selfpaced.predicting import ScoringOptions
from selfpaced.storage import shown
from selfpaced.tables import Moments, Roles, column_groups, moments_in, periods_of, zone_of
from selfpaced.tables.files import StreamedTable

AUTO = "auto"
Request = TypeVar("Request")


def request_from(kind: type[Request], options: Namespace, **others: Any) -> Request:
    """A record of those options of a command that it has fields for, or of `others` in their place."""
    names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: value for name, value in vars(options).items() if name in names} | others)


@dataclass(frozen=True)
class Data(PathLike[str]):
    source: Any  # whatever `open_table` opens; a query, if the options have a connection
    reading: ScoringOptions
    name: str | None = None  # of rows in memory: where they come from

    def __fspath__(self) -> str:
        return str(self.name or self.source)

    def __str__(self) -> str:
        return shown(str(self.name or self.source))


def data_of(source: Any) -> Data:
    """A source with its options. A source that was given alone has no options."""
    return source if isinstance(source, Data) else Data(source, {})


def data_in(options: Namespace) -> Data:
    """The rows to read. With a query, DATA is the database."""
    reading: ScoringOptions = {"types": types_of(options.types)} if options.types else {}
    if options.cache is not None:
        reading["cache"] = options.cache
    if options.snapshot is not None:
        reading["version"] = int(options.snapshot) if options.snapshot.lstrip("-").isdigit() else options.snapshot
    if options.query is None:
        return Data(options.data, reading)
    return Data(options.query, {**reading, "connection": options.data})


# Names of types that mean another one in Arrow, or none: "float" has 32 bits there.
TYPES = {"float": "float64", "int": "int64", "text": "string", "date": "date32"}


def types_of(texts: Sequence[str]) -> dict[str, str]:
    """
    >>> types_of(["amount=float,code=string", "price=decimal comma"])
    {'amount': 'float64', 'code': 'string', 'price': 'decimal comma'}
    """
    pairs = [pair.rpartition("=") for text in texts for pair in text.split(",")]
    for name, _, kind in pairs:
        if not name or not kind:
            raise TableError(f"--types must be COLUMN=TYPE, such as amount=float,code=string; got {' '.join(texts)!r}.")
    return {name.strip(): TYPES.get(kind.strip(), kind.strip()) for name, _, kind in pairs}


def times_in(table: StreamedTable, column: str, unit: str | None = None) -> Moments:
    """The time of each row. Numbers become dates if their unit is given: so much time since 1970."""
    return moments_in(table.column(column), column, unit)


def target_of(given: str | None, model: Any) -> str:
    """The column of labels: the given one, or that of the training."""
    target: str | None = given or model.trained_on_.target
    if target is None:
        raise TableError("The column of labels is not known. Name it: --target COL.")
    return target


WINDOWS = ("1d", "7d", "30d")


@dataclass(frozen=True)
class HistoryRequest:
    """Which entities have a history, and how far back it goes."""

    entities: Sequence[str | tuple[str, ...]] | None = None  # None to find them, and to try whether they help
    windows: Sequence[str | float] = WINDOWS
    delay: str | float | None = None  # the time until labels are known; None to use no labels

    @classmethod
    def of(cls, options: Namespace) -> Self | None:
        """
        >>> HistoryRequest.of(Namespace(history="customer,customer+terminal", windows=None, delay=None)).entities
        ('customer', ('customer', 'terminal'))
        """
        if getattr(options, "history", None) is None:
            if getattr(options, "windows", None) is not None:
                raise TableError(f"--windows {options.windows} needs entities: --history customer,terminal.")
            return None
        windows = WINDOWS if options.windows is None else tuple(options.windows.split(","))
        if options.history == AUTO:
            return cls(None, windows, options.delay)
        named = [tuple(each.split("+")) for each in options.history.split(",")]
        return cls(tuple(each[0] if len(each) == 1 else each for each in named), windows, options.delay)

    @property
    def columns(self) -> list[str]:
        """The columns of the entities that are known."""
        return [name for each in self.entities or () for name in ([each] if isinstance(each, str) else each)]


@dataclass(frozen=True)
class TrainRequest:
    """The options of a training. `selfpaced train --help` explains those of the command line."""

    source: Any
    target: str
    pos_label: str | None = None
    base: str = AUTO
    members: int | None = None  # None for 10, and for 20 bins
    bins: int | None = None
    time_limit: float | None = None
    valid: Any = None
    holdout: float = 0.2
    time_column: str | None = None
    time_unit: str | None = None
    delay: str | None = None
    group: str | None = None
    history: HistoryRequest | None = None
    exclude: Sequence[str] = ()
    id: str | None = None
    seed: int = 0
    n_jobs: int = -1
    out_of_core: bool = False  # tables that do not fit into memory are never loaded
    rule: str = "f1"
    amount: str | None = None
    calibration: str = BEST_METHOD  # or "none". With very few rare rows, scores are not calibrated
    drop_unlabelled: bool = False
    columns: Sequence[str] | None = None  # the features; by default all columns that are not dropped
    checkpoint: str | None = None
    engine: str | None = None
    callbacks: Sequence[Callback] = ()

    @classmethod
    def of(cls, options: Namespace, callbacks: Sequence[Callback] = ()) -> Self:
        history = HistoryRequest.of(options)
        return request_from(cls, options, source=data_in(options), history=history, callbacks=callbacks)

    @property
    def cost_column(self) -> str | None:
        """The column of what missed rows cost. With a history, amounts may be given for its features alone."""
        is_about_costs = isinstance(thresholds.parse_rule(self.rule), thresholds.LowestCost)
        return self.amount if is_about_costs or self.history is None else None

    @property
    def history_columns(self) -> list[str]:
        """The columns of the entities that were named for a history."""
        return [] if self.history is None else self.history.columns

    @property
    def roles(self) -> Roles:
        """The columns that are not features. `pos_label` is as the user typed it."""
        keep = () if self.id is None else (self.id,)
        return Roles(self.target, self.pos_label, None, None, self.amount, self.time_column, self.group, keep)

    def check(self) -> None:
        """Refuse options that do not go together, before anything is read."""
        check_time_limit(self.time_limit)
        check_times_of(rule_of(self.rule, self.cost_column), self.time_column)
        self.check_times()
        limit = None if self.time_limit is None else f"{self.time_limit:g}"
        prior = "prior" if self.calibration == "prior" else None
        refused = {"--members": self.members, "--bins": self.bins, "--calibration": prior}
        why = "is for one kind of members, but --base auto has several. Name one kind, such as --base lightgbm, or"
        if is_single(self.base):
            refused |= {"--time-limit": limit, "--checkpoint": self.checkpoint, "--engine": self.engine}
            refused |= {"--out-of-core": "" if self.out_of_core else None}
            why = f"is for ensembles, but --base {self.base} is one model that is trained on all rows in memory. Name "
            why += "a kind of members, such as --base lightgbm, or"
        elif self.base != AUTO:
            refused = {"--time-limit": limit}
            why = f"needs --base auto, which chooses recipes by the time; got --base {self.base}. Name it, or"
        for name, value in refused.items():
            if value is not None:
                raise TableError(f"{f'{name} {value}'.strip()} {why} omit {name}.")

    def check_times(self) -> None:
        if self.history is not None and self.time_column is None:
            raise TableError(
                "--history needs the times of the rows: --time-column COL. The last rows are then held out. Rows held "
                "out at random would be judged by a model that knows what their entities did afterwards."
            )
        if self.history is not None and self.target in (*self.history_columns, self.amount):
            raise TableError(
                f"{self.target!r} has the labels, so it cannot be an entity or an amount of --history: each row would "
                "see its own label."
            )
        if self.history is not None and self.valid is not None:
            raise TableError(
                f"--history holds out the last rows. Omit --valid {self.valid}, and judge the model by that file "
                "afterwards: selfpaced evaluate MODEL FILE --past DATA"
            )
        for name, value in (("--delay", self.delay), ("--time-unit", self.time_unit)):
            if value is not None and self.time_column is None:
                raise TableError(f"{name} {value} needs the times of the rows. Name their column: --time-column COL.")


def check_time_limit(seconds: float | None) -> None:
    if seconds is not None and not seconds > 0:
        raise TableError(f"--time-limit must be a positive number of seconds; got {seconds:g}.")


def rule_of(text: str, amount: str | None) -> thresholds.Rule:
    """A rule, checked to have what it needs before an hour of work."""
    return thresholds.with_costs(thresholds.parse_rule(text), None, by_amount=amount is not None)


def check_times_of(rule: thresholds.Rule, time_column: str | None) -> None:
    if thresholds.period_of(rule) is not None and time_column is None:
        raise TableError(f"The rule {str(rule)!r} needs the times of the rows. Name their column: --time-column COL.")


def zone_for(
    table: StreamedTable, rule: thresholds.Rule, time_column: str | None, timezone: str | None = None
) -> str | None:
    """The time zone of the periods of a rule: the given one, or that of the column; None for UTC, or if not needed."""
    if time_column is None or thresholds.period_of(rule) is None:
        return None
    return timezone or zone_of(table.column(time_column))


def amounts_in(table: StreamedTable, column: str | None) -> Floats | None:
    """A column of amounts, NaN for missing values; None without such a column."""
    return None if column is None else _numbers(table, column, f"The column of amounts {column!r}")


def numbers_in(table: StreamedTable, decision: thresholds.Decision | None) -> dict[str, Floats] | None:
    """The columns that a decision reads. Values that are missing or not numbers are refused."""
    if decision is None:
        return None
    found = {}
    for name in decision.columns:
        what = f"The rule {decision.text!r} reads column {name!r}, which"
        found[name] = _numbers(table, name, what)
        wrong = int((~np.isfinite(found[name])).sum())
        if wrong:
            raise TableError(
                f"{what} has no finite number in {wrong:,} of {found[name].size:,} rows. Every row needs its cost. "
                "Fill in the missing values."
            )
    return found


def _numbers(table: StreamedTable, name: str, what: str) -> Floats:
    column = table.column(name)
    try:
        numbers: Any = column.cast("float64", safe=False)  # large whole numbers are rounded
    except (ValueError, NotImplementedError) as error:  # Arrow's errors are of these types
        raise TableError(f"{what} is {column.type}. Name a column of numbers.") from error
    return np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)


@dataclass(frozen=True)
class Deciding:
    """How alerts are decided. `selfpaced predict --help` explains the options."""

    decide: str | None = None
    top: int | None = None
    per: str | None = None
    time_column: str | None = None
    time_unit: str | None = None
    timezone: str | None = None
    group: str | None = None

    @property
    def is_asked_for(self) -> bool:
        return self.decide is not None or self.top is not None

    def columns(self) -> list[str]:
        own = () if self.decide is None else thresholds.parse_decision(self.decide).columns
        return [name for name in (*own, self.time_column, self.group) if name is not None]

    def check(self, model: Any) -> None:
        """Refuse options that cannot be honoured, before rows are scored."""
        if self.decide is not None:
            thresholds.parse_decision(self.decide)
            if model.calibrator_ is None:
                raise TableError(
                    "--decide needs probabilities, but the scores of this model are not calibrated. Train it with "
                    "--calibration isotonic, which is the default, and with at least 20 rare rows."
                )
        if self.top is not None and self.top < 1:
            raise TableError(f"--top must be at least 1; got {self.top}.")
        for name, value, needed in (
            ("--per", self.per, self.top is not None and self.time_column is not None),
            ("--group", self.group, self.top is not None),
            ("--time-column", self.time_column, self.per is not None),
            ("--time-unit", self.time_unit, self.per is not None),
            ("--timezone", self.timezone, self.per is not None),
        ):
            if value is not None and not needed:
                raise TableError(
                    f"{name} {value} needs other options: --top 100 --per day --time-column COL [--time-unit s] "
                    "[--timezone ZONE] [--group COL]."
                )

    def alerts(self, scores: Floats, table: StreamedTable, threshold: float | None) -> NDArray[np.bool_]:
        """Which rows of a table to look at."""
        gains, among = scores, np.ones(scores.size, dtype=bool) if threshold is None else scores >= threshold
        if self.decide is not None:
            decision = thresholds.parse_decision(self.decide)
            gains = decision.gains(scores, numbers_in(table, decision) or {})
            among = among & (gains > 0)
        if self.top is None:
            return among
        periods = None
        if self.per is not None and self.time_column is not None:
            zone = self.timezone or zone_of(table.column(self.time_column))
            periods = periods_of(times_in(table, self.time_column, self.time_unit), self.per, zone)
        groups = None if self.group is None else column_groups(table.column(self.group), f"Column {self.group!r}")
        return thresholds.best_rows(gains, self.top, among=among, periods=periods, groups=groups)


# What to do instead of an option that is not supported on a cluster.
SORT = "Score the rows on the cluster, and sort them by the column score."
INSTEAD = {
    "valid": "Hold out a share of the rows with --holdout, or judge the model later: selfpaced evaluate MODEL FILE",
    "time_column": "Rows are held out by a hash of their ids or groups.",
    **dict.fromkeys(("history", "past", "no_past", "state"), "Add the features on the cluster first: History.add."),
    "time_unit": "It is for --time-column.",
    "delay": "Filter the rows first.",
    "pos_label": "Make a column with two labels first.",
    "amount": "Choose the threshold afterwards: selfpaced evaluate MODEL FILE --rule cost=5 --amount COL",
    "drop_unlabelled": "Filter the rows first.",
    "report": "Write the report afterwards: selfpaced report MODEL FILE",
    "query": "Write the rows to Parquet files first.",
    "types": "Parquet files contain their types.",
    "cache": "A cluster reads the files where they are.",
    "snapshot": "Write the rows of that version to Parquet files first.",
    "out_of_core": "A cluster never loads the table.",
    "decide": "Score the rows on the cluster, and decide by the column score.",
    **dict.fromkeys(("top", "per", "group"), SORT),
    "timezone": "It is for --per.",
    **dict.fromkeys(("table", "if_exists"), "Scores are written to Parquet files."),
    "reasons": "Give the rows of the alerts to predict without --engine.",
    "stamp": "Keep the result of selfpaced inspect.",
}


def check_engine_options(options: Namespace, supported: Sequence[str] = ()) -> None:
    """Refuse options that are not supported on a cluster, and addresses without their engine."""
    for name, engine in (("scheduler", "dask"), ("master", "spark")):
        if getattr(options, name) is not None and options.engine != engine:
            given = "" if options.engine is None else f"; got --engine {options.engine}"
            raise TableError(f"--{name} needs --engine {engine}{given}.")
    for name, instead in INSTEAD.items() if options.engine is not None else ():
        if name not in supported and getattr(options, name, None) not in (None, False, [], "fail"):
            raise TableError(f"--{name.replace('_', '-')} is not supported on a cluster. {instead}")
