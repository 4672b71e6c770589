"""The threshold explorer, and decisions row by row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from selfpaced.report.facts import Chosen, Decided, Facts, Thresholds
from selfpaced.report.html import Html, columns, element, figure, json_script, label, paragraph, section, table
from selfpaced.report.topics.quality import precision_recall_curve
from selfpaced.report.words import between, explorer_texts, percent, whole
from selfpaced.thresholds import cost_text


def explorer(facts: Facts) -> Html:
    thresholds = facts.thresholds
    every = [explorer_texts(thresholds.alerts(place), value) for place, value in enumerate(thresholds.values)]
    texts = every[thresholds.suggested]
    texts |= _promised(thresholds.chosen)
    curve = figure(
        "Precision and recall",
        precision_recall_curve(facts.ranking, thresholds),
        "Every threshold is a point of the curve. The dot is the one chosen here.",
    )
    return section(
        "explorer",
        "Choose a threshold",
        paragraph(
            "A lower threshold finds more ",
            label(facts.case.rows),
            " and raises more false alarms. Move the slider to compare.",
            class_="lead",
        ),
        columns(
            element("div", _slider(thresholds, texts), _measures(texts), _costs(thresholds)),
            element("div", curve, _matrix(texts)),
        ),
        json_script("explorer-data", _data(thresholds, every)),
    )


def _shown(texts: dict[str, str], name: str, tag: str = "span") -> Html:
    """An element whose text the script replaces."""
    return element(tag, texts[name], data_show=name)


def _slider(thresholds: Thresholds, texts: dict[str, str]) -> Html:
    rule = "Given" if thresholds.chosen is None else thresholds.chosen.rule
    presets = {"suggested": "Best F1"} if rule == "f1" else {"suggested": rule, "f1": "Best F1"}
    buttons = [
        element("button", words, type="button", data_preset=name)
        for name, words in {**presets, "cost": "Lowest cost"}.items()
    ]
    return element(
        "div",
        element("label", "An alert for every score of at least ", _shown(texts, "threshold", "b"), for_="threshold"),
        element(
            "input",
            type="range",
            id="threshold",
            min=0,
            max=len(thresholds.values) - 1,
            step=1,
            value=thresholds.suggested,
            aria_valuetext=texts["threshold"],
            autocomplete="off",
        ),
        element("div", element("span", "more alerts"), element("span", "fewer alerts"), class_="ends"),
        element("div", buttons, class_="presets"),
        element("p", texts["sentence"], class_="sentence", data_show="sentence", aria_live="polite"),
        class_="slider",
    )


def _measures(texts: dict[str, str]) -> Html:
    shown = (
        ("Precision", "precision", "precision-interval"),
        ("Recall", "recall", "recall-interval"),
        ("F1", "f1", None),
        ("Alerts per 1,000", "per-thousand", None),
    )
    return element(
        "dl",
        [
            element(
                "div",
                element("dt", name),
                _shown(texts, key, "dd"),
                None if interval is None else element("dd", _shown(texts, interval), class_="note"),
            )
            for name, key, interval in shown
        ],
        class_="numbers small",
    )


def _matrix(texts: dict[str, str]) -> Html:
    def row(name: str, *cells: tuple[str, str, str]) -> Html:
        shown = [
            element("td", _shown(texts, key, "b"), element("span", words), class_=class_)
            for key, words, class_ in cells
        ]
        return element("tr", element("th", name, scope="row"), shown)

    head = element("tr", element("td"), element("th", "Rare", scope="col"), element("th", "Common", scope="col"))
    rows = [
        row("Alert", ("found", "found", "hit"), ("false-alarms", "false alarms", "false")),
        row("No alert", ("missed", "missed", "miss"), ("left-alone", "no alert needed", "rest")),
    ]
    caption = element("caption", "Number of rows")
    return element("table", caption, element("thead", head), element("tbody", rows), class_="matrix")


def _costs(thresholds: Thresholds) -> Html:
    alerts = thresholds.alerts(thresholds.suggested)
    cost = alerts.false_positives * thresholds.cost_false_alarm + alerts.false_negatives * thresholds.cost_missed
    texts = {"cost": cost_text(cost), "cost-without": cost_text(thresholds.n_cases * thresholds.cost_missed)}
    return element(
        "fieldset",
        element("legend", "Costs: enter your own figures"),
        _cost_input("cost-false-alarm", "A false alarm costs", thresholds.cost_false_alarm),
        _cost_input("cost-missed", "A missed rare row costs", thresholds.cost_missed),
        paragraph(
            "Total: ",
            _shown(texts, "cost", "b"),
            " at this threshold, ",
            _shown(texts, "cost-without", "b"),
            " without any alert.",
        ),
        _by_amount(thresholds.chosen),
    )


def _by_amount(chosen: Chosen | None) -> Html | None:
    """The input has one cost for all missed rare rows."""
    if chosen is None or not chosen.by_amount or chosen.cost is None:
        return None
    return paragraph(
        "Here every missed rare row costs the mean amount. By the amounts of the rows themselves, the chosen threshold "
        f"costs {cost_text(chosen.cost.value)}.",
        class_="note",
    )


def _promised(chosen: Chosen | None) -> dict[str, str]:
    """The intervals of a threshold that was chosen on these rows allow for that choice."""
    if chosen is None:
        return {}
    return {"precision-interval": between(chosen.precision), "recall-interval": between(chosen.recall)}


def _cost_input(id: str, words: str, value: float) -> Html:
    return element(
        "label",
        words,
        element("input", type="number", id=id, min=0, step="any", value=f"{value:g}", autocomplete="off"),
        for_=id,
    )


def _data(thresholds: Thresholds, texts: Sequence[dict[str, str]]) -> dict[str, Any]:
    """Every text at every threshold, so that the script has none of its own."""
    places = range(len(thresholds.values))
    return {
        "texts": {name: [at[name] for at in texts] for name in texts[0]},
        "found": thresholds.found,
        "falseAlarms": thresholds.false_alarms,
        "cases": thresholds.n_cases,
        "others": thresholds.n_others,
        "suggested": thresholds.suggested,
        "bestF1": max(places, key=lambda place: (float(thresholds.alerts(place).f1), place)),
    }


def decision(facts: Facts) -> Html | None:
    found = facts.decision
    if found is None:
        return None
    saved = found.by_threshold.cost - found.row_by_row.cost
    compared = "less than" if saved > 0 else "more than"
    rows = {
        "No alert": found.no_alert,
        "One threshold, the suggested one": found.by_threshold,
        "Row by row": found.row_by_row,
    }
    return section(
        "decision",
        "Decisions row by row",
        paragraph(
            "By the rule ",
            element("code", found.rule),
            f" these rows cost {cost_text(found.row_by_row.cost)}, {cost_text(abs(saved))} {compared} by the suggested "
            "threshold. The left side of the rule is the expected loss of a row, its right side the cost of an alert.",
            class_="lead",
        ),
        table(
            ["Alerts", "Number", "Rare rows found", "Precision", "Cost"],
            [[name, *_cells(one)] for name, one in rows.items()],
            numbers=range(1, 5),
        ),
    )


def _cells(one: Decided) -> list[str]:
    precision = percent(one.found / one.n_alerts) if one.n_alerts else ""
    return [whole(one.n_alerts), whole(one.found), precision, cost_text(one.cost)]
