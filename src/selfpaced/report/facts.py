"""The facts of a report, as typed data. Figures and sections are made from them.

Labels, ids, names and values are strings. `Facts.to_json` writes everything as JSON. A case is a row of the class that
the scores are for: a rare row.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

from selfpaced.metrics import Alerts
from selfpaced.thresholds import Interval, rows_where

CONFIDENCE = 0.9  # of all intervals on the page, as in `choose_threshold`
Z = 1.644854  # 90% of a normal distribution are within so many standard deviations of its mean


@dataclass(frozen=True)
class Case:
    """The class that the scores are for: its label, and the name of the column of labels if it is known.

    >>> Case("1", "is_fraud").rows
    'rows where is_fraud is 1'
    """

    label: str
    target: str | None = None

    @property
    def rows(self) -> str:
        return rows_where(self.label, self.target)


@dataclass(frozen=True)
class ModelFacts:
    """The model and its training. `training_rows` are the counts of the classes, as far as they are known."""

    kind: str
    base: str
    n_members: int | None
    n_features: int | None
    parameters: dict[str, str]
    training_rows: dict[str, int]
    training_seconds: float | None
    calibration: str | None = None


@dataclass(frozen=True)
class Curve:
    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass(frozen=True)
class Ranking:
    """The quality of the ranking. Random scores have the AUCPRC `chance`, the share of cases, and an AUROC of 0.5.

    With too few cases for a bootstrap there is no interval.
    """

    aucprc: float
    aucprc_interval: Interval | None
    auroc: float
    chance: float
    precision_recall: Curve
    roc: Curve


@dataclass(frozen=True)
class PromisedRecall:
    """A figure on the rows of the report, and its interval on other rows."""

    name: str
    value: float
    interval: Interval


@dataclass(frozen=True)
class Chosen:
    """The rule that chose a threshold on the rows of the report, and the results to expect.

    Attributes
    ----------
    promises : tuple[Promise, ...]
        The figures that the rule names.
    precision, recall : Interval
        Their intervals, which allow for the choice.
    by_amount : bool, default=False
        Whether a missed case costs its own amount.
    """

    rule: str
    confidence: float
    promises: tuple[PromisedRecall, ...]
    precision: Interval
    recall: Interval
    by_amount: bool = False

    @property
    def cost(self) -> PromisedRecall | None:
        return next((promise for promise in self.promises if promise.name == "cost"), None)


@dataclass(frozen=True)
class Thresholds:
    """Thresholds in rising order, with the alerts at each: all rows that score at least as high.

    Attributes
    ----------
    found, false_alarms : tuple[int, ...]
        The numbers of right and of false alerts at each threshold.
    suggested : int
        The position of the threshold that the headline describes.
    is_given : bool
        Whether the threshold was given, not chosen on these rows.
    chosen : Chosen | None, default=None
        The rule that chose the threshold, if any.
    cost_false_alarm, cost_missed : float
        The first costs in the explorer.
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
class HardnessHistogram:
    """The hardness bins of the class that most rows are drawn from. The mean of an empty bin is None."""

    counts: tuple[int, ...]
    drawn: tuple[int, ...]
    mean_hardness: tuple[float | None, ...]


@dataclass(frozen=True)
class RoundFacts:
    number: int
    alpha: float | None
    n_rows: int
    aucprc: float | None
    bins: HardnessHistogram | None


@dataclass(frozen=True)
class Learning:
    """The rounds. `drawn_class` is the label of the rows in the bins; `scored_on` names the rows of the AUCPRC."""

    rounds: tuple[RoundFacts, ...]
    drawn_class: str | None
    scored_on: str


@dataclass(frozen=True)
class RecipeFacts:
    """A recipe that the model was chosen from, and its result.

    Attributes
    ----------
    aucprc, standard_error : float | None
        Cross-fitted figures on training rows; None if the recipe was not judged.
    weight : float
        The weight of the recipe in the model; 0 if it is not a part of it.
    seconds : float
        The time for judging the recipe, and for training it on the whole table.
    note : str | None
        Why the recipe is not a part of the model, or was not judged.
    """

    name: str
    aucprc: float | None
    standard_error: float | None
    weight: float
    seconds: float
    note: str | None

    @property
    def interval(self) -> Interval | None:
        """The 90% interval of the AUCPRC."""
        if self.aucprc is None or self.standard_error is None:
            return None
        reach = Z * self.standard_error
        return Interval(max(0.0, self.aucprc - reach), min(1.0, self.aucprc + reach))


@dataclass(frozen=True)
class Importances:
    """Features by importance, the highest first.

    Attributes
    ----------
    n_features : int
        The number of all features.
    errors : tuple[float, ...] | None, default=None
        The standard error of each value, which comes from the sample of rows; None for the members' own importances. It
        is NaN where there are too few rare rows, and 0 for columns that were not shuffled.
    n_rows : int | None, default=None
        The number of rows of that sample.
    """

    method: str
    names: tuple[str, ...]
    values: tuple[float, ...]
    n_features: int
    contrasts: tuple[Contrast, ...]
    errors: tuple[float, ...] | None = None
    n_rows: int | None = None


@dataclass(frozen=True)
class Contrast:
    """The 5%, 25%, 50%, 75% and 95% quantiles of a feature in rare rows and in common rows."""

    name: str
    cases: tuple[float, ...]
    others: tuple[float, ...]


@dataclass(frozen=True)
class Suspect:
    id: str
    score: float
    values: tuple[str, ...]


@dataclass(frozen=True)
class SuspectFacts:
    """The rows whose labels the scores contradict most, of both classes, with the values of some columns."""

    columns: tuple[str, ...]
    missed_cases: tuple[Suspect, ...]
    alarming_others: tuple[Suspect, ...]


@dataclass(frozen=True)
class ColumnDrift:
    """The drift of a column since training, from 0 to 1. Without any drift, 1 column in 20 exceeds `chance`."""

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
    drift: ColumnDrift | None


@dataclass(frozen=True)
class DataFacts:
    columns: tuple[ColumnFacts, ...]
    n_columns: int
    n_rows_looked_at: int
    dropped: dict[str, str]


@dataclass(frozen=True)
class PeriodFacts:
    """The figures of a period: rows, rare rows, the sum of scores, alerts at the suggested threshold, right alerts."""

    name: str
    n_rows: int
    n_cases: int
    expected: float
    n_alerts: int
    found: int


@dataclass(frozen=True)
class Course:
    """The periods in the order of time. `period` is their length, such as a day."""

    period: str
    periods: tuple[PeriodFacts, ...]


@dataclass(frozen=True)
class Decided:
    """Some alerts, the rare rows among them, and the cost of the alerts and of the missed rows."""

    n_alerts: int
    found: int
    cost: float


@dataclass(frozen=True)
class RowByRow:
    """Decisions by a rule, by the suggested threshold, and without alerts."""

    rule: str
    row_by_row: Decided
    by_threshold: Decided
    no_alert: Decided


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
    recipes: tuple[RecipeFacts, ...]
    importances: Importances | None
    suspects: SuspectFacts
    data: DataFacts | None
    course: Course | None = None
    decision: RowByRow | None = None
    cautions: tuple[str, ...] = ()

    @property
    def prevalence(self) -> float:
        return self.n_cases / self.n_rows

    def to_json(self) -> str:
        return json.dumps(_finite(asdict(self)), allow_nan=False, indent=1, ensure_ascii=False)


def _finite(value: Any) -> Any:
    """Replace infinities and NaN, which JSON does not have, by None."""
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not isfinite(value) else value
