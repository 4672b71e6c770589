"""Decisions row by row, compared with one threshold for all rows."""

from __future__ import annotations

from selfpaced.report.facts import Decided, Facts
from selfpaced.report.html import Html, element, table
from selfpaced.report.sections.parts import paragraph, section
from selfpaced.report.words import percent, whole
from selfpaced.thresholds import cost_text


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
