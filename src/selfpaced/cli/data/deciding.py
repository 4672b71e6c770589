"""Rules and decisions of a command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.ensembles import AveragingEnsemble
from selfpaced.exceptions import TableError
from selfpaced.tables import column_groups, moments_in, periods_of, zone_of
from selfpaced.tables.files import StreamedTable
from selfpaced.thresholds import Decision, Rule, best_rows, parse_decision, parse_rule, with_costs


def rule_of(text: str, amount: str | None) -> Rule:
    """A rule, checked to have what it needs before an hour of work."""
    return with_costs(parse_rule(text), None, by_amount=amount is not None)


def amounts_in(table: StreamedTable, column: str) -> NDArray[np.float64]:
    """A column of amounts; NaN for missing values."""
    values = table.column(column)
    try:
        amounts: Any = values.cast("float64")
    except (ValueError, NotImplementedError) as error:  # Arrow's errors are of these types
        raise TableError(f"The column of amounts {column!r} is {values.type}. Name a column of numbers.") from error
    return np.asarray(amounts.to_numpy(zero_copy_only=False), dtype=np.float64)


Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Deciding:
    """How alerts are decided.

    Attributes
    ----------
    decide : str | None, default=None
        A rule such as "p*amount>5".
    top : int | None, default=None
        How many rows can be looked at, in all or in each period.
    per : str | None, default=None
        The period: hour, day, week or month.
    time_column, timezone : str | None, default=None
        The times that belong to the periods, and their time zone; by default the zone of the column, or UTC.
    group : str | None, default=None
        A column of groups, such as cards. Each group has at most one alert in a period.
    """

    decide: str | None = None
    top: int | None = None
    per: str | None = None
    time_column: str | None = None
    timezone: str | None = None
    group: str | None = None

    @property
    def is_asked_for(self) -> bool:
        return self.decide is not None or self.top is not None

    def columns(self) -> list[str]:
        """The columns that are read to decide."""
        own = () if self.decide is None else parse_decision(self.decide).columns
        return [name for name in (*own, self.time_column, self.group) if name is not None]

    def check(self, model: AveragingEnsemble) -> None:
        """Refuse options that cannot be honoured, before rows are scored."""
        if self.decide is not None:
            parse_decision(self.decide)
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
            ("--timezone", self.timezone, self.per is not None),
        ):
            if value is not None and not needed:
                raise TableError(
                    f"{name} {value} needs other options: --top 100 --per day --time-column COL [--timezone ZONE] "
                    "[--group COL]."
                )

    def alerts(self, scores: Floats, table: StreamedTable, threshold: float | None) -> NDArray[np.bool_]:
        """Which rows of a table to look at."""
        gains, among = scores, np.ones(scores.size, dtype=bool) if threshold is None else scores >= threshold
        if self.decide is not None:
            decision = parse_decision(self.decide)
            gains = decision.gains(scores, numbers_in(table, decision))
            among = among & (gains > 0)
        if self.top is None:
            return among
        periods = None if self.per is None else self._periods(table)
        groups = None if self.group is None else column_groups(table.column(self.group), f"Column {self.group!r}")
        return best_rows(gains, self.top, among=among, periods=periods, groups=groups)

    def _periods(self, table: StreamedTable) -> NDArray[np.datetime64]:
        assert self.per is not None
        assert self.time_column is not None
        column = table.column(self.time_column)
        return periods_of(moments_in(column, self.time_column), self.per, self.timezone or zone_of(column))


def numbers_in(table: StreamedTable, decision: Decision) -> dict[str, Floats]:
    """The columns that a decision reads. Values that are missing, negative or not numbers are refused."""
    found = {}
    for name in decision.columns:
        column = table.column(name)
        try:
            values = np.asarray(column.cast("float64").to_numpy(zero_copy_only=False), dtype=np.float64)
        except (ValueError, NotImplementedError) as error:  # Arrow's errors are of these types
            raise TableError(
                f"The rule {decision.text!r} reads column {name!r}, which is {column.type}. Give a column of numbers."
            ) from error
        wrong = int((~np.isfinite(values)).sum())
        if wrong:
            raise TableError(
                f"The rule {decision.text!r} reads column {name!r}, which has no finite number in {wrong:,} of "
                f"{values.size:,} rows. Every row needs its cost. Fill in the missing values."
            )
        found[name] = values
    return found
