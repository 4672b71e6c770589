"""The rows that look mislabelled."""

from __future__ import annotations

from collections.abc import Sequence

from selfpaced.report.facts import Facts, Suspect
from selfpaced.report.html import Html, element, table
from selfpaced.report.sections.parts import cases_of, named, paragraph, section
from selfpaced.report.words import score_text

SHOWN = 8
LONGEST_NAME = 18


def suspects(facts: Facts) -> Html:
    found = facts.suspects
    return section(
        "suspects",
        "Rows to look at",
        paragraph(
            "Where scores and labels contradict each other most, either the model is blind or the label is wrong. "
            "A person should look.",
            class_="lead",
        ),
        element(
            "div",
            _list(
                "No case, but the highest scores",
                "Cases that were never labelled?",
                found.columns,
                found.alarming_others,
            ),
            _list(
                ["Among the ", cases_of(facts.case), ", the lowest scores"],
                "Wrong labels, or cases unlike all others?",
                found.columns,
                found.missed_cases,
            ),
            class_="suspect-lists",
        ),
    )


def _list(title: object, question: str, columns: Sequence[str], rows: Sequence[Suspect]) -> Html:
    header = ["Row", "Score", *(named(name, LONGEST_NAME) for name in columns)]
    cells = [[row.id, score_text(row.score), *row.values] for row in rows]
    numbers = range(1, len(header))
    more = None
    if len(cells) > SHOWN:
        more = element(
            "details",
            element("summary", f"{len(cells) - SHOWN} more"),
            table(header, cells[SHOWN:], numbers=numbers, class_="rows"),
        )
    shown = table(header, cells[:SHOWN], numbers=numbers, class_="rows")
    return element("div", element("h3", title), paragraph(question, class_="note"), shown, more)
