"""The first section: what the model finds, at which threshold, and how it was made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.report.facts import CONFIDENCE, Chosen, Facts, ModelFacts, PromisedRecall
from selfpaced.report.html import Html, element, hundred_dots, paragraph, section
from selfpaced.report.topics.quality import Tally
from selfpaced.report.words import (
    NO_ALERTS,
    between,
    decimals,
    percent,
    plural,
    promise_text,
    share_interval,
    threshold_text,
    whole,
)
from selfpaced.thresholds import (
    Interval,
    LowestCost,
    Rule,
    ThresholdChoice,
    amounts_of,
    choice_from,
    cost_text,
    headline_parts,
    of_hundred,
    parse_rule,
    sweep_from,
    with_costs,
)


@dataclass(frozen=True)
class Suggestion:
    """A threshold, the first costs in the explorer, and the rule that chose the threshold, if any."""

    threshold: float
    costs: tuple[float, float] | None
    chosen: Chosen | None = None


def suggested(
    counts: Tally,
    is_case: NDArray[np.bool_],
    scores: NDArray[Any],
    threshold: float | str | Rule | ThresholdChoice | None,
    costs: Any,
    amounts: Any,
) -> Suggestion:
    """The threshold to suggest. Costs that the rule does not use only go to the explorer."""
    if threshold is not None and not isinstance(threshold, str | Rule | ThresholdChoice):
        if amounts is not None:
            raise ValueError("amounts need a threshold that is chosen by costs, such as threshold='cost=5'.")
        return Suggestion(threshold, costs)
    own = None if amounts is None else amounts_of(amounts, is_case)
    if isinstance(threshold, ThresholdChoice):
        choice, rule = threshold, threshold.rule
    else:
        rule = parse_rule("f1" if threshold is None else threshold)
        rule = with_costs(rule, costs if isinstance(rule, LowestCost) else None, amounts is not None)
        sweep = sweep_from(counts.scores, counts.alerts, is_case, scores, own)
        choice = choice_from(sweep, rule, confidence=CONFIDENCE)
    promises = [PromisedRecall(name, choice.value(name), choice.intervals[name]) for name in rule.promises()]
    precision, recall = choice.intervals["precision"], choice.intervals["recall"]
    chosen = Chosen(str(rule), choice.confidence, tuple(promises), precision, recall, by_amount=own is not None)
    return Suggestion(choice.threshold, _explorers(rule, own) or costs, chosen)


def _explorers(rule: Rule, amounts: NDArray[np.float64] | None) -> tuple[float, float] | None:
    """The extra cost of a wrong row over a right one, by the rule. A missed rare row costs the mean amount."""
    if not isinstance(rule, LowestCost) or rule.costs is None:
        return None
    missed = float(np.mean(amounts)) if rule.costs.missed is None and amounts is not None else rule.costs.missed
    assert missed is not None
    return rule.costs.false_alarm - rule.costs.left_alone, max(0.0, missed - rule.costs.hit)


INTERVAL = f"{CONFIDENCE:.0%} interval"


def answer(facts: Facts) -> Html:
    return section(
        "answer",
        "In short",
        element("div", element("div", _headline(facts), _basis(facts)), _dots(facts), class_="hero"),
        _cautions(facts.cautions),
        _numbers(facts),
    )


def _cautions(cautions: Sequence[str]) -> Html | None:
    """What a reader must know before the figures."""
    if not cautions:
        return None
    said = [element("li", caution[:1].upper() + caution[1:]) for caution in cautions]
    return element("div", element("strong", "Caution"), element("ul", said), class_="caution")


def _headline(facts: Facts) -> Html:
    alerts = facts.thresholds.alerts(facts.thresholds.suggested)
    if alerts.n_alerts == 0:
        return paragraph(NO_ALERTS, class_="headline")
    parts = headline_parts(float(alerts.precision), float(alerts.recall), facts.case.rows)
    emphasised = [element("strong", part) if place % 2 else part for place, part in enumerate(parts)]
    return paragraph(emphasised, class_="headline")


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
    return paragraph(rows, alerts, origin, _trained(facts.model), class_="lead")


def _origin(chosen: Chosen, facts: Facts) -> str:
    by = "has the best F1 on these rows" if chosen.rule == "f1" else f"was chosen by {chosen.rule} on these rows"
    *first, last = [promise_text(one, facts.n_rows) for one in chosen.promises]
    promises = f"{', '.join(first)} and {last}" if first else last
    return (
        f"{by}, so the figures are slightly optimistic: confirm them on other rows. Corrected for that, expect "
        f"{promises} there ({chosen.confidence:.0%} {'interval' if len(chosen.promises) == 1 else 'intervals'})."
    )


def _trained(model: ModelFacts | None) -> str | None:
    if model is None or not model.training_rows:
        return None
    return f" Trained on {plural(sum(model.training_rows.values()), 'row')}."


def _dots(facts: Facts) -> Html:
    alerts = facts.thresholds.alerts(facts.thresholds.suggested)
    shown = (("100 alerts", "right", float(alerts.precision)), ("100 rare rows", "found", float(alerts.recall)))
    return element(
        "div",
        [
            element("figure", hundred_dots(name, share), element("figcaption", f"{name}, {of_hundred(share)} {verb}"))
            for name, verb, share in shown
        ],
        class_="dot-pair",
    )


def _numbers(facts: Facts) -> Html:
    ranking, thresholds = facts.ranking, facts.thresholds
    alerts = thresholds.alerts(thresholds.suggested)
    found, missed = alerts.true_positives, alerts.false_negatives
    precision, recall = share_interval(found, alerts.n_alerts), share_interval(found, found + missed)
    if thresholds.chosen is not None:
        precision, recall = thresholds.chosen.precision, thresholds.chosen.recall
    return element(
        "dl",
        _number(
            "AUCPRC",
            decimals(ranking.aucprc),
            f"{_uncertainty(ranking.aucprc_interval)}; chance {percent(ranking.chance)}",
        ),
        _number(
            "Alerts per 1,000 rows",
            decimals(1000 * alerts.n_alerts / facts.n_rows, 2),
            f"{whole(alerts.n_alerts)} alerts, {whole(alerts.false_positives)} of them false",
        ),
        _number("Precision", percent(float(alerts.precision)), f"{INTERVAL} {between(precision)}"),
        _number(
            "Recall",
            percent(float(alerts.recall)),
            f"{whole(missed)} of {plural(found + missed, 'rare row')} missed; {INTERVAL} {between(recall)}",
        ),
        _cost(thresholds.chosen),
        class_="numbers",
    )


def _cost(chosen: Chosen | None) -> Html | None:
    """The total cost of these rows, if the threshold was chosen by costs."""
    if chosen is None or chosen.cost is None:
        return None
    low, high = chosen.cost.interval.low, chosen.cost.interval.high
    by = "a missed rare row costs its own amount; " if chosen.by_amount else ""
    return _number("Cost", cost_text(chosen.cost.value), f"{by}{INTERVAL} {cost_text(low)} to {cost_text(high)}")


def _uncertainty(interval: Interval | None) -> str:
    if interval is None:
        return "too few rare rows for an interval"
    return f"{INTERVAL} {decimals(interval.low)} to {decimals(interval.high)}"


def _number(name: str, value: str, note: str) -> Html:
    return element("div", element("dt", name), element("dd", value), element("dd", note, class_="note"))


def making(facts: Facts) -> Html:
    lines = [
        *([] if facts.model is None else _model_lines(facts.model)),
        ("Judged on", f"{plural(facts.n_rows, 'row')}, among them {whole(facts.n_cases)} {facts.case.rows}"),
        ("Made at", facts.created_at),
        ("Versions", ", ".join(f"{name} {number}" for name, number in facts.versions.items())),
    ]
    return section(
        "making",
        "How this was made",
        element("dl", [(element("dt", name), element("dd", value)) for name, value in lines], class_="lines"),
    )


def _model_lines(model: ModelFacts) -> list[tuple[str, Any]]:
    base = f" of {model.base}" if model.base else ""
    members = "" if model.n_members is None else f", {plural(model.n_members, 'member')}"
    lines = [
        ("Model", f"{model.kind}{members}{base}"),
        ("Features", None if model.n_features is None else whole(model.n_features)),
        ("Trained on", ", ".join(f"{plural(n, 'row')} of {label}" for label, n in model.training_rows.items()) or None),
        ("Training took", None if model.training_seconds is None else f"{decimals(model.training_seconds, 1)} s"),
        ("Parameters", element("code", ", ".join(f"{name}={value}" for name, value in model.parameters.items()))),
    ]
    return [(name, value) for name, value in lines if value is not None]
