"""What is true of a model on some rows: typed data that figures are drawn from.

Labels, ids, names and values are text here, as a person reads them. Everything is JSON as soon as it is asked for.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

from selfpaced.metrics import Alerts
from selfpaced.thresholds import Interval as Interval  # other modules of the report import it from here
from selfpaced.thresholds.words import rows_where


@dataclass(frozen=True)
class Case:
    """What is looked for: rows with this label, in the column `target` if its name is known."""

    label: str
    target: str | None = None

    @property
    def name(self) -> str:
        """A word stands for itself; a number or a yes needs the name of its column.

        >>> Case("fraud", "kind").name, Case("1", "is_fraud").name, Case("1").name
        ('fraud', 'is_fraud = 1', '1')
        """
        speaks_for_itself = any(letter.isalpha() for letter in self.label) and self.label not in ("True", "true")
        return self.label if self.target is None or speaks_for_itself else f"{self.target} = {self.label}"

    @property
    def rows(self) -> str:
        return rows_where(self.label, self.target)


@dataclass(frozen=True)
class ModelFacts:
    """What was trained on what. `training_rows` are counts by class, as far as they are known."""

    kind: str
    base: str
    n_members: int | None
    n_features: int | None
    parameters: dict[str, str]
    training_rows: dict[str, int]
    training_seconds: float | None


@dataclass(frozen=True)
class Curve:
    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass(frozen=True)
class Ranking:
    """How well scores put cases before other rows. Chance is the share of cases, and 0.5 for AUROC.

    There is no interval where cases are too few to be drawn again.
    """

    aucprc: float
    aucprc_interval: Interval | None
    auroc: float
    chance: float
    precision_recall: Curve
    roc: Curve


@dataclass(frozen=True)
class Promise:
    """A figure on the rows of the report, and what to expect of it on others."""

    name: str
    value: float
    interval: Interval


@dataclass(frozen=True)
class Chosen:
    """The rule that chose a threshold by the rows of the report, and what to expect of it.

    Attributes
    ----------
    promises : the figures that the rule is about.
    precision, recall : their intervals, which allow for the choice.
    by_amount : whether a missed case costs its own amount.
    """

    rule: str
    confidence: float
    promises: tuple[Promise, ...]
    precision: Interval
    recall: Interval
    by_amount: bool = False

    @property
    def cost(self) -> Promise | None:
        return next((promise for promise in self.promises if promise.name == "cost"), None)


@dataclass(frozen=True)
class Thresholds:
    """Thresholds in rising order, with what an alert for every score from there on hits and misses.

    Attributes
    ----------
    found, false_alarms : alerts at each threshold that are cases, and that are not.
    suggested : the place of the threshold that the headline is about.
    is_given : whether it was given, rather than chosen on these very rows.
    chosen : by what it was chosen, if it was.
    cost_false_alarm, cost_missed : what the explorer starts with.
    """

    values: tuple[float, ...]
    found: tuple[int, ...]
    false_alarms: tuple[int, ...]
    n_cases: int
    n_others: int
    suggested: int
    is_given: bool
    cost_false_alarm: float
    cost_missed: float
    chosen: Chosen | None = None

    def alerts(self, place: int) -> Alerts:
        found, false_alarms = self.found[place], self.false_alarms[place]
        return Alerts(found, false_alarms, self.n_cases - found, self.n_others - false_alarms)


@dataclass(frozen=True)
class ScoreBin:
    """Rows with similar scores: their mean score against the share of cases among them."""

    n_rows: int
    mean_score: float
    share: float
    interval: Interval


@dataclass(frozen=True)
class Calibration:
    bins: tuple[ScoreBin, ...]
    brier: float
    brier_of_prevalence: float
    mean_score: float
    calibration_error: float


@dataclass(frozen=True)
class HardnessBins:
    """The hardness bins of the class most rows are drawn from; None as the mean of an empty bin."""

    counts: tuple[int, ...]
    drawn: tuple[int, ...]
    mean_hardness: tuple[float | None, ...]


@dataclass(frozen=True)
class RoundFacts:
    number: int
    alpha: float | None
    n_rows: int
    aucprc: float | None
    bins: HardnessBins | None


@dataclass(frozen=True)
class Learning:
    """The rounds. `drawn_class` is the label that the bins are of; `scored_on` says which rows gave the AUCPRC."""

    rounds: tuple[RoundFacts, ...]
    drawn_class: str | None
    scored_on: str


@dataclass(frozen=True)
class Importances:
    """Features by importance, the highest first; `n_features` counts those left out too."""

    method: str
    names: tuple[str, ...]
    values: tuple[float, ...]
    n_features: int
    contrasts: tuple[Contrast, ...]


@dataclass(frozen=True)
class Contrast:
    """The 5%, 25%, 50%, 75% and 95% quantiles of a feature among cases and among other rows."""

    name: str
    cases: tuple[float, ...]
    others: tuple[float, ...]


@dataclass(frozen=True)
class Suspect:
    id: str
    score: float
    values: tuple[str, ...]


@dataclass(frozen=True)
class Suspects:
    """The rows whose labels the scores contradict most, of both classes, with the values of some columns."""

    columns: tuple[str, ...]
    missed_cases: tuple[Suspect, ...]
    alarming_others: tuple[Suspect, ...]


@dataclass(frozen=True)
class Drift:
    """How far a column has moved since training, from 0 to 1; columns that have not exceed `chance` 1 time in 20."""

    distance: float
    chance: float

    @property
    def is_real(self) -> bool:
        return self.distance > self.chance


@dataclass(frozen=True)
class ColumnFacts:
    """A column in the sample."""

    name: str
    type: str
    missing: float
    n_distinct: int
    values: str
    drift: Drift | None


@dataclass(frozen=True)
class DataFacts:
    columns: tuple[ColumnFacts, ...]
    n_columns: int
    n_rows_looked_at: int
    dropped: dict[str, str]


@dataclass(frozen=True)
class Facts:
    title: str
    created_at: str
    versions: dict[str, str]
    case: Case
    n_rows: int
    n_cases: int
    model: ModelFacts | None
    ranking: Ranking
    thresholds: Thresholds
    calibration: Calibration | None
    learning: Learning | None
    importances: Importances | None
    suspects: Suspects
    data: DataFacts | None

    @property
    def prevalence(self) -> float:
        return self.n_cases / self.n_rows

    def to_json(self) -> str:
        return json.dumps(_finite(asdict(self)), allow_nan=False, indent=1, ensure_ascii=False)


def _finite(value: Any) -> Any:
    """The same without infinities and NaN, which JSON does not have."""
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not isfinite(value) else value
