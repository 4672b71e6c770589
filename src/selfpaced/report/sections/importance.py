"""What the model looks at."""

from __future__ import annotations

from selfpaced.report.facts import Facts
from selfpaced.report.figures import importance_bars
from selfpaced.report.html import Html, element
from selfpaced.report.sections.parts import columns, figure, paragraph, section
from selfpaced.report.words import percent, plural


def importance(facts: Facts) -> Html | None:
    found = facts.importances
    if found is None or not found.names:
        return None
    hidden = found.n_features - len(found.names)
    rest = f" {plural(hidden, 'less important feature')} not shown." if hidden else ""
    total = sum(max(value, 0.0) for value in found.values)
    first = f"{percent(max(found.values[0], 0.0) / total)} of what is shown here" if total else "nothing"
    return section(
        "importance",
        "What it looks at",
        columns(
            figure("Most important features", importance_bars(found), f"{found.method.capitalize()}.{rest}"),
            element(
                "div",
                paragraph(element("b", found.names[0], class_="label"), f" comes first, with {first}."),
                paragraph(
                    "Importance says what the model uses, not what causes a case. A single feature that decides nearly "
                    "everything deserves a second look: was it known at the time of scoring?"
                ),
                class_="prose",
            ),
        ),
    )
