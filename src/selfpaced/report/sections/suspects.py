"""The rows that look mislabelled."""

from __future__ import annotations

from collections.abc import Sequence

from selfpaced.report.facts import Facts, Suspect
from selfpaced.report.html import Html, element, table
from selfpaced.report.sections.parts import label, named, paragraph, section, unfolding
from selfpaced.report.words import score_text

SHOWN = 8
LONGEST_NAME = 18


def suspects(facts: Facts) -> Html:
    found = facts.suspects
    return section(
        "suspects",
        "Rows to look at",
        paragraph(
            "Where scores and labels contradict each other most, either the model or the label is wrong. "
            "A person should look at these rows.",
            class_="lead",
        ),
        element(
            "div",
            _list(
                "The highest scores among common rows",
                "Rare rows that were never labelled?",
                found.columns,
                found.alarming_others,
            ),
            _list(
                ["The lowest scores among ", label(facts.case.rows)],
                "Wrong labels, or rare rows unlike all others?",
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
    shown, rest = (table(header, some, numbers=numbers, class_="rows") for some in (cells[:SHOWN], cells[SHOWN:]))
    more = unfolding(f"{len(cells) - SHOWN} more", rest) if len(cells) > SHOWN else None
    return element("div", element("h3", title), paragraph(question, class_="note"), shown, more)
