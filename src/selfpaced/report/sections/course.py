"""The figures of the held-out rows over time."""

from __future__ import annotations

from collections.abc import Sequence

from selfpaced.report.facts import Course, Facts
from selfpaced.report.figures.course import course_lines
from selfpaced.report.html import Html, table
from selfpaced.report.sections.parts import columns, figure, paragraph, section, unfolding
from selfpaced.report.words import decimals, percent, plural, whole


def course(facts: Facts) -> Html | None:
    found = facts.course
    if found is None:
        return None
    labels = [one.name for one in found.periods]
    expected: dict[str, Sequence[float]] = {
        "rare": [one.n_cases for one in found.periods],
        "sum of scores": [one.expected for one in found.periods],
    }
    shares = {
        "precision": [one.found / one.n_alerts if one.n_alerts else None for one in found.periods],
        "recall": [one.found / one.n_cases if one.n_cases else None for one in found.periods],
    }
    return section(
        "course",
        "Over time",
        paragraph(
            f"The rows of this report by {found.period}, in UTC: {plural(len(labels), 'period')}.", class_="lead"
        ),
        columns(
            figure(
                "Rare rows and the sum of scores",
                course_lines("Rare rows and the sum of scores", labels, expected),
                "If scores are probabilities, their sum is the number of rare rows that they expect.",
            ),
            figure(
                "Precision and recall",
                course_lines("Precision and recall", labels, shares, 1.0),
                "At the suggested threshold. A period without alerts has no precision.",
            ),
        ),
        unfolding("All periods", _table(found)),
    )


def _table(found: Course) -> Html:
    rows = [
        [
            one.name,
            whole(one.n_rows),
            whole(one.n_cases),
            decimals(one.expected, 1),
            whole(one.n_alerts),
            whole(one.found),
            percent(one.found / one.n_alerts) if one.n_alerts else "",
        ]
        for one in found.periods
    ]
    header = ["Begins", "Rows", "Rare", "Sum of scores", "Alerts", "Right", "Precision"]
    return table(header, rows, numbers=range(1, 7))
