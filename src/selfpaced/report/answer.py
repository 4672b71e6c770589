"""The facts of a report; its first section with the headline, and what the model is made of."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

from selfpaced.report import html
from selfpaced.report.about import ModelFacts, RecipeFacts
from selfpaced.report.alerts import Alert
from selfpaced.report.course import Course
from selfpaced.report.data import DataFacts, SuspectFacts
from selfpaced.report.groups import GroupedFacts
from selfpaced.report.html import Bar, Html, between, decimals, percent, plural, threshold_text, whole
from selfpaced.report.importance import Importances
from selfpaced.report.learning import Learning
from selfpaced.report.quality import Calibration, RankingFacts
from selfpaced.report.thresholds import NO_ALERTS, Chosen, RowByRow, Thresholds, ZoneFacts
from selfpaced.thresholds import CONFIDENCE, cost_text, headline_parts, of_hundred, rows_where, share_interval


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
class Facts:
    """All figures of a report, as typed data. Labels, ids, names and values of columns are strings.

    A case is a row of the class that the scores are for: a rare row.
    """

    title: str
    created_at: str
    versions: dict[str, str]
    case: Case
    n_rows: int
    n_cases: int
    model: ModelFacts | None
    ranking: RankingFacts
    thresholds: Thresholds
    calibration: Calibration | None
    learning: Learning | None
    recipes: tuple[RecipeFacts, ...]
    importances: Importances | None
    suspects: SuspectFacts
    alerts: tuple[Alert, ...]
    data: DataFacts | None
    course: Course | None = None
    decision: RowByRow | None = None
    cautions: tuple[str, ...] = ()
    zones: tuple[ZoneFacts, ...] | None = None
    by_group: GroupedFacts | None = None

    def to_json(self) -> str:
        return json.dumps(_finite(asdict(self)), allow_nan=False, indent=1, ensure_ascii=False)


def _finite(value: Any) -> Any:
    """Replace infinities and NaN, which JSON does not have, by None."""
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def recipe_bars(recipes: Sequence[RecipeFacts]) -> Html:
    """The AUCPRC of each recipe that was judged. Those that are not a part of the model are grey."""
    bars = [
        Bar(one.name, one.aucprc, "bar case" if one.weight > 0 else "bar quiet", one.standard_error)
        for one in recipes
        if one.aucprc is not None
    ]
    said = [f"{one.name}: weight {percent(one.weight)}" for one in recipes]
    return html.bar_chart("Recipes by AUCPRC", "; ".join(said) + ".", bars)


RECIPE_COLUMNS: html.Columns = {
    "Recipe": ("name", html.named),
    "AUCPRC": ("aucprc", decimals),
    "Standard error": ("standard_error", decimals),
    "Weight": ("weight", percent),
    "Seconds": ("seconds", lambda seconds: decimals(seconds, 1)),
    "Note": ("note", str),
}


def recipes(found: Sequence[RecipeFacts]) -> html.Section:
    n_blended, first = sum(one.weight > 0 for one in found), found[0]
    are_judged = any(one.aucprc is not None for one in found)
    explained = (
        "A recipe is an ensemble with its own kind of members. Each was judged on some training rows, by models "
        "that had not seen the rows that they scored. These figures compare recipes: see the other sections for the "
        "quality of the model. A recipe that ranks less well can have a weight, because its errors are on other rows."
        if are_judged
        else "There were too few rare rows to compare the recipes, so all of them have the same weight. The scores are "
        "not calibrated."
    )
    about_bars = "± is the standard error. Recipes in grey are not a part of the model."
    return html.section(
        "recipes",
        "Recipes",
        "Which recipes the model is made of",
        html.lead(
            f"The model is a blend of {n_blended} of {plural(len(found), 'recipe')}. ",
            html.label(first.name),
            f" has the largest weight, {percent(first.weight)}.",
        ),
        html.columns(
            html.figure("AUCPRC of each recipe", recipe_bars(found), about_bars) if are_judged else None,
            html.prose(html.paragraph(explained)),
        ),
        html.records(RECIPE_COLUMNS, found),
    )


def answer(facts: Facts) -> html.Section:
    alerts = facts.thresholds.suggested_alerts
    parts = headline_parts(float(alerts.precision), float(alerts.recall), facts.case.rows)
    emphasised = [html.strong(part) if place % 2 else part for place, part in enumerate(parts)]
    headline = html.paragraph(emphasised if alerts.n_alerts else NO_ALERTS, class_="headline")
    shown = (("100 alerts", "right", float(alerts.precision)), ("100 rare rows", "found", float(alerts.recall)))
    dots = [
        html.element(
            "figure",
            html.hundred_dots(name, share),
            html.element("figcaption", f"{name}, {of_hundred(share)} {verb}"),
        )
        for name, verb, share in shown
    ]
    cautions = [html.element("li", caution[:1].upper() + caution[1:]) for caution in facts.cautions]
    return html.section(
        "answer",
        "In short",
        "In short",
        html.element(
            "div",
            html.element("div", headline, html.lead(*_basis(facts))),
            html.element("div", dots, class_="dot-pair"),
            class_="hero",
        ),
        html.element("div", html.strong("Caution"), html.element("ul", cautions), class_="caution")
        if cautions
        else None,
        html.figures_list(_numbers(facts)),
    )


def _basis(facts: Facts) -> list[str]:
    """The rows and the threshold that the headline is about, in sentences."""
    thresholds, model = facts.thresholds, facts.model
    value, chosen = threshold_text(thresholds.values[thresholds.suggested]), thresholds.chosen
    given = "given" if thresholds.chosen_by is None else f"that {thresholds.chosen_by} chose in training"
    said = [
        f"Judged on {plural(facts.n_rows, 'row')} with {plural(facts.n_cases, 'rare row')} "
        f"({percent(facts.n_cases / facts.n_rows)}), with an alert for every score of at least {value}",
        f", the threshold {given}." if chosen is None else f". That threshold {_origin(chosen, facts.n_rows)}",
    ]
    if model is not None and model.training_rows:
        said.append(f" Trained on {plural(sum(model.training_rows.values()), 'row')}.")
    return said


def _origin(chosen: Chosen, n_rows: int) -> str:
    by = "has the best F1 on these rows" if chosen.rule == "f1" else f"was chosen by {chosen.rule} on these rows"
    *first, last = [one.text(n_rows) for one in chosen.promises]
    promises = f"{', '.join(first)} and {last}" if first else last
    where = "" if last.endswith("new rows") else " on new rows"
    return (
        f"{by}, so the figures are slightly optimistic: confirm them on other rows. After correcting for this, expect "
        f"{promises}{where} ({chosen.confidence:.0%} {'interval' if len(chosen.promises) == 1 else 'intervals'})."
    )


def _numbers(facts: Facts) -> list[tuple[str, str, str]]:
    """Key figures, each with a note. A threshold that was chosen on these rows has intervals that allow for it."""
    ranking, chosen, alerts = facts.ranking, facts.thresholds.chosen, facts.thresholds.suggested_alerts
    found, missed = alerts.true_positives, alerts.false_negatives
    confidence = CONFIDENCE if chosen is None else chosen.confidence
    precision = share_interval(found, alerts.n_alerts) if chosen is None else chosen.precision
    recall = share_interval(found, found + missed) if chosen is None else chosen.recall
    interval, area = f"{confidence:.0%} interval", ranking.aucprc_interval
    uncertainty = (
        "too few rare rows for an interval"
        if area is None
        else f"{CONFIDENCE:.0%} interval {decimals(area.low)} to {decimals(area.high)}"
    )
    right = f"{whole(alerts.n_alerts)} alerts, {whole(alerts.false_positives)} of them false"
    missing = f"{whole(missed)} of {plural(found + missed, 'rare row')} missed"
    shown = [
        ("AUCPRC", decimals(ranking.aucprc), f"{uncertainty}; chance {percent(ranking.chance)}"),
        ("Alerts per 1,000 rows", decimals(1000 * alerts.n_alerts / facts.n_rows, 2), right),
        ("Precision", percent(float(alerts.precision)), f"{interval} {between(precision)}"),
        ("Recall", percent(float(alerts.recall)), f"{missing}; {interval} {between(recall)}"),
    ]
    if chosen is not None and chosen.cost is not None:
        by = "a missed rare row costs its own amount; " if chosen.by_amount else ""
        low, high = chosen.cost.interval
        note = f"{by}{interval} {cost_text(low)} to {cost_text(high)}"
        shown.append(("Cost", cost_text(chosen.cost.value), note))
    return shown


def making(facts: Facts) -> html.Section:
    model = facts.model
    lines: dict[str, Any] = {}
    if model is not None:
        members = "" if model.n_members is None else f", {plural(model.n_members, 'member')}"
        took = model.training_seconds
        lines = {
            "Model": f"{model.kind}{members}" + (f" of {model.base}" if model.base else ""),
            "Features": None if model.n_features is None else whole(model.n_features),
            "Trained on": ", ".join(f"{plural(n, 'row')} of {label}" for label, n in model.training_rows.items()),
            "Training took": None if took is None else f"{decimals(took, 1)} s",
            "Parameters": html.element(
                "code", ", ".join(f"{name}={value}" for name, value in model.parameters.items())
            ),
        }
    lines |= {
        "Judged on": f"{plural(facts.n_rows, 'row')}, among them {whole(facts.n_cases)} {facts.case.rows}",
        "Made at": facts.created_at,
        "Versions": ", ".join(f"{name} {number}" for name, number in facts.versions.items()),
    }
    shown = [(html.element("dt", name), html.element("dd", value)) for name, value in lines.items() if value]
    return html.section("making", "Making", "How this was made", html.element("dl", shown, class_="lines"))
