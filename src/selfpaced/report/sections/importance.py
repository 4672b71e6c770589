"""The features that the model uses."""

from __future__ import annotations

from collections.abc import Sequence

from selfpaced.report.facts import Contrast, Facts
from selfpaced.report.figures import contrast_strips, importance_bars
from selfpaced.report.html import Html
from selfpaced.report.sections.parts import columns, figure, label, paragraph, section
from selfpaced.report.words import percent, plural


def importance(facts: Facts) -> Html | None:
    found = facts.importances
    if found is None or not found.names:
        return None
    hidden = found.n_features - len(found.names)
    rest = f" {plural(hidden, 'less important feature')} not shown." if hidden else ""
    error = "" if found.n_rows is None else f" Measured on {found.n_rows:,} rows; ± is the standard error."
    total = sum(max(value, 0.0) for value in found.values)
    first = f"{percent(max(found.values[0], 0.0) / total)} of what is shown here" if total else "nothing"
    return section(
        "importance",
        "Important features",
        paragraph(
            label(found.names[0]),
            f" comes first, with {first}. "
            "Importance shows what the model uses, not causes. Check a single feature that decides nearly "
            "everything: was it known at the time of scoring?",
            class_="lead",
        ),
        columns(
            figure("Most important features", importance_bars(found), f"Shown is the {found.method}.{error}{rest}"),
            _contrasts(found.contrasts),
        ),
    )


def _contrasts(contrasts: Sequence[Contrast]) -> Html | None:
    if not contrasts:
        return None
    return figure(
        "The first of them in rare and common rows",
        contrast_strips(contrasts),
        "Lines cover 90% of the rows, bars the middle half; marks are medians.",
    )
