"""Models that are served: loaded from a file, checked against the options, and replaced when the file changes."""

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import ModelFileError, TableError, did_you_mean, pa
from selfpaced.history import History, HistoryState
from selfpaced.persistence import ModelCard, model_id, read_ensemble
from selfpaced.predicting import ReadRow, RowScorer, read_row
from selfpaced.serving.bodies import RefusedError, values_of
from selfpaced.thresholds import Decision, ZoneLimits, parse_decision

Floats = NDArray[np.float64]
UNFIT = (ValueError, TypeError, OverflowError)  # what a row that does not fit a model raises when it is read


@dataclass(frozen=True)
class AlertRule:
    """Which rows are alerts: those at or above a threshold, those that a decision chooses, or those of both."""

    threshold: float | None
    decision: Decision | None
    zones: ZoneLimits | None = None  # of the model, if its own threshold is used

    @property
    def is_given(self) -> bool:
        return self.threshold is not None or self.decision is not None

    @property
    def columns(self) -> tuple[str, ...]:
        return () if self.decision is None else self.decision.columns

    def __call__(self, scores: Floats, columns: Mapping[str, Floats]) -> list[bool | None]:
        """Whether each row is an alert; None without a rule."""
        if not self.is_given:
            return [None] * scores.size
        among = np.ones(scores.size, dtype=bool) if self.threshold is None else scores >= self.threshold
        if self.decision is not None:
            among = among & self.decision.alerts(scores, columns)
        return list(among.tolist())

    def numbers(self, rows: Any) -> dict[str, Floats]:
        """The columns that the decision reads, of a list of rows or an Arrow table. Other values than numbers are
        refused."""
        columns = {name: self._column(rows, name) for name in self.columns}
        if self.decision is not None:
            try:
                self.decision.check(len(rows), columns)
            except ValueError as error:
                raise RefusedError(422, str(error)) from None
        return columns

    def _column(self, rows: Any, name: str) -> Floats:
        assert self.decision is not None
        what = f"The rule {self.decision.text!r} reads column {name!r}, which"
        if isinstance(rows, list):
            values = [row.get(name) for row in rows]
        elif name in rows.column_names:
            values = values_of(rows.column(name))
        else:
            raise RefusedError(422, f"{what} the rows do not have. Every row needs its cost.")
        numbers = np.array([_finite(value) for value in values])
        wrong = int(np.isnan(numbers).sum())
        if wrong:
            said = f"{what} has no finite number in {wrong:,} of {numbers.size:,} rows. Every row needs it."
            raise RefusedError(422, said)
        return numbers


def _finite(value: Any) -> float:
    """
    >>> [_finite(value) for value in (2, True, 1e400, "2", 10**400)]
    [2.0, 1.0, nan, nan, nan]
    """
    with suppress(OverflowError):
        if hasattr(value, "as_integer_ratio") and math.isfinite(value):
            return float(value)
    return math.nan


@dataclass(frozen=True)
class Wanted:
    """What is asked of a model before it is served."""

    threshold: float | None = None  # None for that of the card
    decide: str | None = None
    state: HistoryState | None = None
    left_out: Sequence[str] = ()  # columns of the model that are not logged
    is_shadow: bool = False  # a shadow gets the features of the history with the rows

    def rule_for(self, model: Any, card: ModelCard) -> AlertRule:
        if self.decide is None:
            known = card.metrics.get("threshold")
            own = None if known is None else float(known)
            if self.threshold is None:
                return AlertRule(own, None, ZoneLimits.from_facts(card.metrics.get("zones")))
            return AlertRule(self.threshold, None)
        if model.calibrator_ is None and not self.is_shadow:
            raise TableError(
                "--decide needs probabilities, but the scores of this model are not calibrated. Train it with "
                "--calibration isotonic, which is the default, and with at least 20 rare rows."
            )
        rule = AlertRule(self.threshold, parse_decision(self.decide))
        if rule.columns and model.model_.reader.names is None:
            raise TableError(
                f"The model was trained without column names, so --decide cannot read {rule.columns[0]!r}."
            )
        return rule

    def check_log(self, columns: Sequence[str]) -> None:
        """Refuse a model without a column that is not to be logged: it may have that column under another name."""
        for name in self.left_out if columns and not self.is_shadow else ():
            if name not in columns:
                raise TableError(
                    f"--log-without names {name!r}, which is not one of the columns that are logged, {sorted(columns)}."
                    f"{did_you_mean(name, columns)}"
                )

    def check_history(self, card: ModelCard) -> None:
        """Refuse a model whose history the state does not have."""
        facts = card.metrics.get("history")
        if facts is None:
            if self.state is not None and not self.is_shadow:
                raise TableError("--state is for a model with a history, but this one was trained without. Omit it.")
            return
        if self.state is None:
            raise TableError("The model uses what entities did before, so it needs a state: --state FOLDER.")
        if History.from_dict(facts).as_dict() != self.state.history.as_dict():
            raise TableError("The model was trained with another history than that of the state.")


@dataclass(frozen=True, eq=False)
class ServedModel:
    """A model, what its file says about it, and the alerts that are made of its scores."""

    version: str  # the id of the model
    card: ModelCard
    model: Any
    scorer: RowScorer
    rule: AlertRule
    column: int  # of the score among the probabilities of all classes
    columns: tuple[str, ...]  # that a row must have; none for a model without feature names
    categories: Mapping[str, frozenset[str]]  # the known ones, by column

    @property
    def has_names(self) -> bool:
        return self.model.model_.reader.names is not None

    def read(self, row: Any) -> ReadRow:
        """Check a row. One that does not fit is refused, with the columns that may be meant."""
        try:
            return read_row(self.scorer, row)
        except UnicodeEncodeError as error:
            said = f"A string of the row contains {error.object[error.start]!a}, which is not Unicode text."
            raise RefusedError(422, said) from None
        except (*UNFIT, pa.ArrowException) as error:
            said = " ".join(str(error).split()) + self._suggestion(row)
            raise RefusedError(422, self._misfit(row) or said) from None

    def _misfit(self, row: Any) -> str:
        """The first value that does not fit its column, in words of JSON; empty if all values fit."""
        for column in getattr(self.model.model_.reader.schema, "columns", ()):
            try:
                column.converted(pa.array([row.get(column.source)]), "the row")
            except (*UNFIT, pa.ArrowException):
                kinds = {"category": "a string", "bool": "true or false", "seconds": "a time such as 2024-01-31T23:59Z"}
                wanted = kinds.get(column.type, f"a number of the type {column.type}")
                given = json.dumps(row[column.source], default=str)[:100]
                return f"The value of {column.source!r} must be {wanted}, or null; got {given}."
        return ""

    def _suggestion(self, row: Any) -> str:
        """A key that may be a misspelled column, if the column is missing. Other unknown keys are ignored."""
        missing = [name for name in self.columns if name not in row] if isinstance(row, dict) else []
        return did_you_mean(missing[0], [name for name in row if name not in self.columns]) if missing else ""

    def new_categories(self, row: Any) -> list[str]:
        """The columns in which a row has a category that the model was not trained with."""
        if not isinstance(row, dict):
            return []
        return [one for one, known in self.categories.items() if isinstance(row[one], str) and row[one] not in known]


def _categories(model: Any) -> dict[str, frozenset[str]]:
    reader = model.model_.reader
    if reader.schema is None:
        return {name: frozenset(own) for name, own in (reader.categories or {}).items()}
    return {one.source: frozenset(one.categories) for one in reader.schema.columns if one.categories is not None}


def load_served(path: Path, content: bytes, wanted: Wanted) -> ServedModel:
    """The model of a file's content, ready to score. What cannot be served is refused."""
    card, model = read_ensemble(content, path.name)
    wanted.check_history(card)
    reader = model.model_.reader
    columns = reader.schema.sources if reader.schema is not None else list(reader.names or ())
    wanted.check_log(columns)
    rule, version = wanted.rule_for(model, card), model_id(content)
    column = model.model_.trained_on.score_column
    return ServedModel(version, card, model, model.row_scorer(), rule, column, tuple(columns), _categories(model))


class ModelSlot:
    """The place of a served model. When the file is replaced, the new model takes the place of the old one at once."""

    def __init__(self, path: Path, wanted: Wanted) -> None:
        self.path, self._wanted = path, wanted
        self.problem: str | None = None  # why the file is not what is served
        self._seen = _identity(path)
        self.current = load_served(path, path.read_bytes(), wanted)

    def refresh(self) -> bool:
        """Load the file if it has changed. A file that cannot be served leaves the old model in place."""
        try:
            found = _identity(self.path)
            if found == self._seen:
                return False
            self._seen, content = found, self.path.read_bytes()
            is_new = model_id(content) != self.current.version
            if is_new:
                new = load_served(self.path, content, self._wanted)
                if self.current.rule.is_given and not new.rule.is_given:
                    raise TableError(
                        "The new model has no threshold, so that its rows would be no alerts. Train it with a rule, or "
                        "give the service --threshold NUMBER."
                    )
                self.current = new
            self.problem = None
            return is_new
        except (OSError, ValueError, ImportError) as error:
            said = " ".join(str(error).split())
            self.problem = f"{said} The model of version {self.current.version} is still served."
            return False


def _identity(path: Path) -> Sequence[int]:
    try:
        facts = path.stat()
    except FileNotFoundError:
        raise ModelFileError(f"There is no file {path}.") from None
    return facts.st_mtime_ns, facts.st_size, facts.st_ino
