"""The threshold of a report: how it is chosen, the explorer of others, and decisions row by row."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from selfpaced import thresholds as rules
from selfpaced.metrics import Alerts
from selfpaced.report import html
from selfpaced.report.html import between, decimals, percent, plural, threshold_text, whole
from selfpaced.report.quality import MOST_POINTS, RankingFacts, precision_recall_curve, spread
from selfpaced.thresholds import (
    Costs,
    Interval,
    LowestCost,
    Rule,
    Sweep,
    ThresholdChoice,
    ZoneLimits,
    cost_text,
    share_interval,
)

DEFAULT_COSTS = Costs(1.0, 10.0)
NO_ALERTS = "No row scores high enough for an alert."


@dataclass(frozen=True)
class ExpectedFigure:
    """A figure on the rows of the report, and its interval on other rows."""

    name: str
    value: float
    interval: Interval

    def text(self, n_rows: int) -> str:
        """The interval on other rows.

        >>> ExpectedFigure("precision", 0.9, Interval(0.81, 0.97)).text(1000)
        'a precision of 81.0% to 97.0%'
        >>> ExpectedFigure("alert_share", 0.01, Interval(0.005, 0.02)).text(1000)
        '5 to 20 alerts in 1,000 rows'
        """
        low, high = self.interval
        if self.name == "alert_share":
            return f"{whole(round(low * n_rows))} to {plural(round(high * n_rows), 'alert')} in {whole(n_rows)} rows"
        if self.name == "cost":
            return f"a cost of {cost_text(low)} to {cost_text(high)} in {whole(n_rows)} new rows"
        if self.name in ("precision", "recall"):
            return f"a {self.name} of {between(self.interval)}"
        return f"{FIGURES[self.name]} of {decimals(low)} to {decimals(high)}"


FIGURES = {
    "f1": "an F1",
    "mcc": "an MCC",
    "precision_recall_gmean": "a G-mean of precision and recall",
    "sensitivity_specificity_gmean": "a G-mean of sensitivity and specificity",
}


@dataclass(frozen=True)
class Chosen:
    """The rule that chose a threshold on the rows of the report, and the results to expect."""

    rule: str
    confidence: float
    promises: tuple[ExpectedFigure, ...]  # the figures that the rule names
    precision: Interval  # allows for the choice, as that of the recall does
    recall: Interval
    by_amount: bool = False  # whether a missed rare row costs its own amount

    @classmethod
    def of(cls, choice: ThresholdChoice) -> Self:
        rule, intervals = choice.rule, choice.intervals
        promises = tuple(ExpectedFigure(name, choice.value(name), intervals[name]) for name in rule.promises())
        by_amount = isinstance(rule, LowestCost) and rule.costs is not None and rule.costs.missed is None
        return cls(str(rule), choice.confidence, promises, intervals["precision"], intervals["recall"], by_amount)

    @property
    def cost(self) -> ExpectedFigure | None:
        return next((promise for promise in self.promises if promise.name == "cost"), None)


@dataclass(frozen=True)
class Thresholds:
    """Thresholds in rising order, with the alerts at each: all rows that score at least as high."""

    values: tuple[float, ...]
    found: tuple[int, ...]  # right alerts at each threshold
    false_alarms: tuple[int, ...]
    n_cases: int
    n_others: int
    suggested: int  # the position of the threshold that the headline describes
    cost_false_alarm: float  # the first costs in the explorer
    cost_missed: float
    chosen: Chosen | None = None  # None if the threshold was given, rather than chosen on these rows
    chosen_by: str | None = None  # the rule that chose a given threshold on other rows, if it is known

    def alerts(self, place: int) -> Alerts:
        found, false_alarms = self.found[place], self.false_alarms[place]
        return Alerts(found, false_alarms, self.n_cases - found, self.n_others - false_alarms)

    @property
    def suggested_alerts(self) -> Alerts:
        return self.alerts(self.suggested)


@dataclass(frozen=True)
class Decided:
    """Some alerts, the rare rows among them, and the cost of the alerts and of the missed rows."""

    n_alerts: int
    found: int
    cost: float

    @property
    def precision(self) -> float | None:
        return self.found / self.n_alerts if self.n_alerts else None


@dataclass(frozen=True)
class RowByRow:
    """Decisions by a rule, by the suggested threshold, and without alerts."""

    rule: str
    row_by_row: Decided
    by_threshold: Decided
    no_alert: Decided


@dataclass(frozen=True)
class ZoneFacts:
    """The rows of a zone, the rare rows among them, and the interval of its precision."""

    name: str
    lowest: float | None  # the lowest score of the zone; None for the last
    n_rows: int
    n_rare: int
    precision: float | None
    recall: float | None
    interval: Interval


def zone_facts(limits: ZoneLimits, is_case: NDArray[np.bool_], scores: NDArray[Any]) -> tuple[ZoneFacts, ...]:
    return tuple(
        ZoneFacts(one.name, lowest, one.n_rows, one.n_rare, one.precision, one.recall, one.interval)
        for one, lowest in zip(limits.figures(is_case, scores), [*limits.thresholds, None], strict=True)
    )


def rule_for(threshold: float | str | Rule | None, costs: Any, by_amount: bool) -> Rule | float:
    """The threshold that is given, or the rule that will choose it. `costs` are for a rule without its own."""
    if threshold is not None and not isinstance(threshold, str | Rule):
        if by_amount:
            raise ValueError("amounts need a threshold that is chosen by costs, such as threshold='cost=5'.")
        return float(threshold)
    rule = rules.parse_rule("f1" if threshold is None else threshold)
    return rules.with_costs(rule, costs if isinstance(rule, LowestCost) else None, by_amount)


def threshold_facts(
    sweep: Sweep, choice: ThresholdChoice | float, costs: Any = None, chosen_by: Rule | None = None
) -> Thresholds:
    """A few hundred thresholds, among them the one that is suggested: given, or chosen."""
    wanted = choice if isinstance(choice, float) else choice.threshold
    if not np.isfinite(wanted):
        raise ValueError(f"threshold must be a finite number; got {wanted!r}.")
    alerts = sweep.found + sweep.false_alarms
    places = spread(MOST_POINTS - 1, sweep.recall, sweep.precision, np.log(alerts) / np.log(alerts[-1] + 1))
    values = np.unique([*(sweep.short(int(place)) for place in places), wanted]).tolist()
    found = [sweep.alerts_from(value) for value in values]
    false_alarm, missed = _first_costs(choice, costs, sweep.amounts)
    return Thresholds(
        values=tuple(values),
        found=tuple(one.true_positives for one in found),
        false_alarms=tuple(one.false_positives for one in found),
        n_cases=sweep.n_positives,
        n_others=sweep.n_negatives,
        suggested=values.index(wanted),
        cost_false_alarm=false_alarm,
        cost_missed=missed,
        chosen=None if isinstance(choice, float) else Chosen.of(choice),
        chosen_by=None if chosen_by is None else str(chosen_by),
    )


def _first_costs(
    choice: ThresholdChoice | float, given: Any, amounts: NDArray[np.float64] | None
) -> tuple[float, float]:
    """The extra cost of a wrong row over a right one: of the rule, or as given. With amounts, their mean is missed."""
    costs = None if isinstance(choice, float) or not isinstance(choice.rule, LowestCost) else choice.rule.costs
    if costs is None:
        costs = DEFAULT_COSTS if given is None else Costs.of(given)
    if costs.missed is None and amounts is None:
        raise ValueError("The threshold was chosen by amounts. Give the report the same amounts.")
    missed = float(np.mean(amounts)) if costs.missed is None and amounts is not None else costs.missed
    return float(costs.false_alarm - costs.left_alone), float(max(0.0, missed - costs.hit))


def decision_facts(
    rule: str,
    is_case: NDArray[np.bool_],
    scores: NDArray[Any],
    threshold: float,
    columns: Mapping[str, Any] | None,
    sample: Any,
) -> RowByRow:
    """Decisions by a rule, whose columns are given or in the sample, compared with a threshold."""
    parsed = rules.parse_decision(rule)
    read = parsed.read(sample, columns, is_case.size, "decide_columns")

    def decided(alerts: NDArray[np.bool_]) -> Decided:
        return Decided(int(alerts.sum()), int(is_case[alerts].sum()), parsed.cost(is_case, alerts, read))

    by_row = parsed.alerts(np.asarray(scores, dtype=np.float64), read)
    nothing = np.zeros(is_case.size, dtype=bool)
    return RowByRow(parsed.text, decided(by_row), decided(scores >= threshold), decided(nothing))


def explorer_texts(alerts: Alerts, threshold: float) -> dict[str, str]:
    """The texts of the explorer at a threshold, by the name of the element that shows each."""
    found, missed = alerts.true_positives, alerts.false_negatives
    return {
        "sentence": rules.headline(float(alerts.precision), float(alerts.recall)) if alerts.n_alerts else NO_ALERTS,
        "threshold": threshold_text(threshold),
        "found": whole(found),
        "false-alarms": whole(alerts.false_positives),
        "missed": whole(missed),
        "left-alone": whole(alerts.true_negatives),
        "precision": percent(float(alerts.precision)),
        "precision-interval": between(share_interval(found, alerts.n_alerts)),
        "recall": percent(float(alerts.recall)),
        "recall-interval": between(share_interval(found, found + missed)),
        "f1": decimals(float(alerts.f1)),
        "per-thousand": decimals(1000 * float(alerts.alert_share), 2),
    }


def explorer(thresholds: Thresholds, ranking: RankingFacts, rare_rows: str) -> html.Section:
    """The section with the slider. Its elements are in explorer.html; the script replaces their texts."""
    every = [explorer_texts(thresholds.alerts(place), value) for place, value in enumerate(thresholds.values)]
    alerts, chosen, texts = thresholds.suggested_alerts, thresholds.chosen, every[thresholds.suggested]
    rule = thresholds.chosen_by or "Given" if chosen is None else chosen.rule
    presets = {"suggested": "Best F1"} if rule == "f1" else {"suggested": rule, "f1": "Best F1"}
    presets["cost"] = "Lowest cost"
    by_amount = None
    if chosen is not None:  # its intervals allow for the choice on these rows
        texts |= {"precision-interval": between(chosen.precision), "recall-interval": between(chosen.recall)}
        if chosen.by_amount and chosen.cost is not None:
            by_amount = html.paragraph(
                "Here every missed rare row costs the mean amount. By the amounts of the rows themselves, the chosen "
                f"threshold costs {cost_text(chosen.cost.value)}.",
                class_="note",
            )
    cost = alerts.false_positives * thresholds.cost_false_alarm + alerts.false_negatives * thresholds.cost_missed
    filled = html.filled(
        "explorer.html",
        {
            **texts,
            "rare-rows": html.label(rare_rows),
            "last": len(thresholds.values) - 1,
            "suggested": thresholds.suggested,
            "presets": [html.element("button", presets[name], type="button", data_preset=name) for name in presets],
            "cost-false-alarm": f"{thresholds.cost_false_alarm:g}",
            "cost-missed": f"{thresholds.cost_missed:g}",
            "cost": cost_text(cost),
            "cost-without": cost_text(thresholds.n_cases * thresholds.cost_missed),
            "by-amount": by_amount,
            "curve": html.figure(
                "Precision and recall",
                precision_recall_curve(ranking, alerts),
                "Every threshold is a point of the curve. The dot is the one chosen here.",
            ),
        },
    )
    # Every text at every threshold, so that the script has none of its own.
    data = {
        "texts": {name: [at[name] for at in every] for name in texts},
        "found": thresholds.found,
        "falseAlarms": thresholds.false_alarms,
        "cases": thresholds.n_cases,
        "others": thresholds.n_others,
        "suggested": thresholds.suggested,
        "bestF1": max(range(len(every)), key=lambda place: (float(thresholds.alerts(place).f1), place)),
    }
    return html.section("explorer", "Threshold", "Choose a threshold", filled, html.json_script("explorer-data", data))


ZONE_COLUMNS: html.Columns = {
    "Zone": ("name", html.named),
    "Lowest score": ("lowest", threshold_text),
    "Rows": ("n_rows", whole),
    "Rare rows": ("n_rare", whole),
    "Share that is rare": ("precision", percent),
    "90% interval": ("interval", between),
    "Of all rare rows": ("recall", percent),
}


def zones(found: tuple[ZoneFacts, ...]) -> html.Section:
    return html.section(
        "zones",
        "Zones",
        "Zones",
        html.lead(
            f"The rows by zone, from the highest scores down. Rows in all zones but {found[-1].name!r} are alerts, and "
            "the threshold above is the lowest score of an alert."
        ),
        html.records(ZONE_COLUMNS, found),
    )


DECIDED_COLUMNS: html.Columns = {
    "Number": ("n_alerts", whole),
    "Rare rows found": ("found", whole),
    "Precision": ("precision", percent),
    "Cost": ("cost", cost_text),
}


def decision(found: RowByRow) -> html.Section:
    saved = found.by_threshold.cost - found.row_by_row.cost
    compared = "less than" if saved > 0 else "more than"
    rows = {
        "No alert": found.no_alert,
        "One threshold, the suggested one": found.by_threshold,
        "Row by row": found.row_by_row,
    }
    return html.section(
        "decision",
        "Row by row",
        "Decisions row by row",
        html.lead(
            "By the rule ",
            html.code(found.rule),
            f" these rows cost {cost_text(found.row_by_row.cost)}, {cost_text(abs(saved))} {compared} by the suggested "
            "threshold. The left side of the rule is the expected loss of a row, its right side the cost of an alert.",
        ),
        html.records(DECIDED_COLUMNS, rows, "Alerts"),
    )
