"""The first section: what the model finds, at which threshold, and what it is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from selfpaced.report import html
from selfpaced.report.html import Axis, Html, between, decimals, percent, plural, shortened, threshold_text, whole
from selfpaced.report.thresholds import NO_ALERTS, Chosen
from selfpaced.thresholds import CONFIDENCE, Interval, cost_text, headline_parts, of_hundred, rows_where, share_interval

if TYPE_CHECKING:
    from selfpaced.report.page import Facts


WIDTH, MARGIN, WEIGHTS = 460, 16, 72
HEAD, ROW, FOOT = 20, 38, 22
NAME_ABOVE = 9
LONGEST_NAME = 44


@dataclass(frozen=True)
class RecipeFacts:
    """A recipe that the model was chosen from, and its result."""

    name: str
    aucprc: float | None  # cross-fitted on training rows; None if the recipe was not judged
    standard_error: float | None
    weight: float  # in the model; 0 if the recipe is not a part of it
    seconds: float  # of judging the recipe and of training it on the whole table
    note: str | None  # why the recipe is not a part of the model, or was not judged

    @property
    def interval(self) -> Interval | None:
        """The 90% interval of the AUCPRC."""
        if self.aucprc is None or self.standard_error is None:
            return None
        reach = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * self.standard_error
        return Interval(max(0.0, self.aucprc - reach), min(1.0, self.aucprc + reach))


def recipe_dots(recipes: Sequence[RecipeFacts]) -> Html:
    """Below the name of each recipe a dot at its AUCPRC with its interval, and its weight on the right."""
    axis = _axis([one.interval for one in recipes if one.interval is not None])
    bottom = HEAD + ROW * len(recipes)
    ticks = (axis.low, (axis.low + axis.high) / 2, axis.high)
    return html.drawing(
        "Recipes by AUCPRC and weight",
        "; ".join(_said(one) for one in recipes) + ".",
        WIDTH,
        bottom + FOOT,
        html.text(0, 12, "AUCPRC", "axis-name"),
        html.text(WIDTH, 12, "weight", "axis-name", "end"),
        [html.line((axis(value), HEAD), (axis(value), bottom), "grid") for value in ticks],
        [html.text(axis(value), bottom + 16, decimals(value, 2), "tick", "middle") for value in ticks],
        [_row(one, axis, HEAD + ROW * (place + 0.7)) for place, one in enumerate(recipes)],
    )


def _axis(intervals: Sequence[Interval]) -> Axis:
    """An axis from the lowest to the highest end of the intervals, because differences between recipes are small."""
    low, high = min(one.low for one in intervals), max(one.high for one in intervals)
    return Axis(low, high, MARGIN, WIDTH - WEIGHTS)


def _row(one: RecipeFacts, axis: Axis, y: float) -> Html:
    kind = "case" if one.weight > 0 else "quiet"
    name = [shortened(one.name, LONGEST_NAME), html.element("title", one.name)]
    return html.joined(
        html.text(0, y - NAME_ABOVE, name, "bar-name"),
        _score(one, axis, y, kind),
        html.text(WIDTH, y + 4, percent(one.weight), f"value {kind}", "end"),
    )


def _score(one: RecipeFacts, axis: Axis, y: float, kind: str) -> Html:
    if one.aucprc is None or one.interval is None:
        return html.text(axis.start, y + 4, "not judged", "tick")
    tooltip = html.element(
        "title", f"{decimals(one.aucprc)} ({decimals(one.interval.low)} to {decimals(one.interval.high)})"
    )
    whisker = html.line((axis(one.interval.low), y), (axis(one.interval.high), y), f"whisker {kind}")
    return html.joined(whisker, html.dot((axis(one.aucprc), y), 5, f"point {kind}", tooltip))


def _said(one: RecipeFacts) -> str:
    judged = "not judged" if one.aucprc is None else f"AUCPRC {decimals(one.aucprc)}"
    return f"{one.name}: {judged}, weight {percent(one.weight)}"


LONGEST_NOTE = 60


def recipes(facts: Facts) -> Html | None:
    found = facts.recipes
    if not found:
        return None
    return html.section(
        "recipes",
        "Which recipes the model is made of",
        _lead(found),
        html.columns(_picture(found), html.prose(_explained(found))),
        _table(found),
    )


def _lead(found: Sequence[RecipeFacts]) -> Html:
    blended, first = [one for one in found if one.weight > 0], found[0]
    return html.paragraph(
        f"The model is a blend of {len(blended)} of {plural(len(found), 'recipe')}. ",
        html.label(first.name),
        f" has the largest weight, {percent(first.weight)}.",
        class_="lead",
    )


def _picture(found: Sequence[RecipeFacts]) -> Html | None:
    if all(one.aucprc is None for one in found):
        return None
    return html.figure(
        "AUCPRC and weight of each recipe",
        recipe_dots(found),
        "Lines are 90% intervals. Recipes in grey are not a part of the model.",
    )


def _explained(found: Sequence[RecipeFacts]) -> Html:
    if all(one.aucprc is None for one in found):
        return html.paragraph(
            "There were too few rare rows to compare the recipes, so all of them have the same weight. The scores are "
            "not calibrated."
        )
    return html.paragraph(
        "A recipe is an ensemble with its own kind of members. Each was judged on a sample of the training rows, by "
        "models that had not seen the rows that they scored. These figures compare the recipes with each other, with "
        "fewer members than the model has: see the other sections for the quality of the model. A recipe that ranks "
        "less well can have a weight, because its errors are on other rows."
    )


def _table(found: Sequence[RecipeFacts]) -> Html:
    return html.table(
        ["Recipe", "AUCPRC", "Standard error", "Weight", "Seconds", ""],
        [
            [
                html.named(one.name),
                "" if one.aucprc is None else decimals(one.aucprc),
                "" if one.standard_error is None else decimals(one.standard_error),
                percent(one.weight),
                decimals(one.seconds, 1),
                html.named(one.note or "", LONGEST_NOTE),
            ]
            for one in found
        ],
        numbers=range(1, 5),
    )


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


INTERVAL = f"{CONFIDENCE:.0%} interval"


def answer(facts: Facts) -> Html:
    return html.section(
        "answer",
        "In short",
        html.element("div", html.element("div", _headline(facts), _basis(facts)), _dots(facts), class_="hero"),
        _cautions(facts.cautions),
        _numbers(facts),
    )


def _cautions(cautions: Sequence[str]) -> Html | None:
    """What a reader must know before the figures."""
    if not cautions:
        return None
    said = [html.element("li", caution[:1].upper() + caution[1:]) for caution in cautions]
    return html.element("div", html.element("strong", "Caution"), html.element("ul", said), class_="caution")


def _headline(facts: Facts) -> Html:
    alerts = facts.thresholds.alerts(facts.thresholds.suggested)
    if alerts.n_alerts == 0:
        return html.paragraph(NO_ALERTS, class_="headline")
    parts = headline_parts(float(alerts.precision), float(alerts.recall), facts.case.rows)
    emphasised = [html.element("strong", part) if place % 2 else part for place, part in enumerate(parts)]
    return html.paragraph(emphasised, class_="headline")


def _basis(facts: Facts) -> Html:
    thresholds = facts.thresholds
    value = threshold_text(thresholds.values[thresholds.suggested])
    origin = (
        ", the threshold given."
        if thresholds.chosen is None
        else f". That threshold {_origin(thresholds.chosen, facts)}"
    )
    rows = f"Judged on {plural(facts.n_rows, 'row')} with {plural(facts.n_cases, 'rare row')} "
    alerts = f"({percent(facts.prevalence)}), with an alert for every score of at least {value}"
    return html.paragraph(rows, alerts, origin, _trained(facts.model), class_="lead")


def _origin(chosen: Chosen, facts: Facts) -> str:
    by = "has the best F1 on these rows" if chosen.rule == "f1" else f"was chosen by {chosen.rule} on these rows"
    *first, last = [one.text(facts.n_rows) for one in chosen.promises]
    promises = f"{', '.join(first)} and {last}" if first else last
    where = "" if last.endswith("new rows") else " on new rows"
    return (
        f"{by}, so the figures are slightly optimistic: confirm them on other rows. After correcting for this, expect "
        f"{promises}{where} ({chosen.confidence:.0%} {'interval' if len(chosen.promises) == 1 else 'intervals'})."
    )


def _trained(model: ModelFacts | None) -> str | None:
    if model is None or not model.training_rows:
        return None
    return f" Trained on {plural(sum(model.training_rows.values()), 'row')}."


def _dots(facts: Facts) -> Html:
    alerts = facts.thresholds.alerts(facts.thresholds.suggested)
    shown = (("100 alerts", "right", float(alerts.precision)), ("100 rare rows", "found", float(alerts.recall)))
    return html.element(
        "div",
        [
            html.element(
                "figure",
                html.hundred_dots(name, share),
                html.element("figcaption", f"{name}, {of_hundred(share)} {verb}"),
            )
            for name, verb, share in shown
        ],
        class_="dot-pair",
    )


def _numbers(facts: Facts) -> Html:
    ranking, thresholds = facts.ranking, facts.thresholds
    alerts = thresholds.alerts(thresholds.suggested)
    found, missed = alerts.true_positives, alerts.false_negatives
    precision, recall = share_interval(found, alerts.n_alerts), share_interval(found, found + missed)
    confidence = CONFIDENCE
    if thresholds.chosen is not None:
        precision, recall = thresholds.chosen.precision, thresholds.chosen.recall
        confidence = thresholds.chosen.confidence
    interval = f"{confidence:.0%} interval"
    missing = f"{whole(missed)} of {plural(found + missed, 'rare row')} missed"
    right = f"{whole(alerts.n_alerts)} alerts, {whole(alerts.false_positives)} of them false"
    chance = f"{_uncertainty(ranking.aucprc_interval)}; chance {percent(ranking.chance)}"
    return html.figures_list(
        [
            ("AUCPRC", decimals(ranking.aucprc), chance),
            ("Alerts per 1,000 rows", decimals(1000 * alerts.n_alerts / facts.n_rows, 2), right),
            ("Precision", percent(float(alerts.precision)), f"{interval} {between(precision)}"),
            ("Recall", percent(float(alerts.recall)), f"{missing}; {interval} {between(recall)}"),
            _cost(thresholds.chosen),
        ]
    )


def _cost(chosen: Chosen | None) -> tuple[str, str, str] | None:
    """The total cost of these rows, if the threshold was chosen by costs."""
    if chosen is None or chosen.cost is None:
        return None
    low, high = chosen.cost.interval
    by = "a missed rare row costs its own amount; " if chosen.by_amount else ""
    return (
        "Cost",
        cost_text(chosen.cost.value),
        f"{by}{chosen.confidence:.0%} interval {cost_text(low)} to {cost_text(high)}",
    )


def _uncertainty(interval: Interval | None) -> str:
    if interval is None:
        return "too few rare rows for an interval"
    return f"{INTERVAL} {decimals(interval.low)} to {decimals(interval.high)}"


def making(facts: Facts) -> Html:
    lines = [
        *([] if facts.model is None else _model_lines(facts.model)),
        ("Judged on", f"{plural(facts.n_rows, 'row')}, among them {whole(facts.n_cases)} {facts.case.rows}"),
        ("Made at", facts.created_at),
        ("Versions", ", ".join(f"{name} {number}" for name, number in facts.versions.items())),
    ]
    return html.section(
        "making",
        "How this was made",
        html.element(
            "dl", [(html.element("dt", name), html.element("dd", value)) for name, value in lines], class_="lines"
        ),
    )


def _model_lines(model: ModelFacts) -> list[tuple[str, Any]]:
    base = f" of {model.base}" if model.base else ""
    members = "" if model.n_members is None else f", {plural(model.n_members, 'member')}"
    lines = [
        ("Model", f"{model.kind}{members}{base}"),
        ("Features", None if model.n_features is None else whole(model.n_features)),
        ("Trained on", ", ".join(f"{plural(n, 'row')} of {label}" for label, n in model.training_rows.items()) or None),
        ("Training took", None if model.training_seconds is None else f"{decimals(model.training_seconds, 1)} s"),
        ("Parameters", html.element("code", ", ".join(f"{name}={value}" for name, value in model.parameters.items()))),
    ]
    return [(name, value) for name, value in lines if value is not None]
