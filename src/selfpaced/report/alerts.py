"""The alerts with the highest scores, and the reasons of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.report import about, html
from selfpaced.report.data import rows_in_sample
from selfpaced.report.html import score_text, shortened

N_ALERTS, N_REASONS = 10, 4
LONGEST_REASON = 120


@dataclass(frozen=True)
class Alert:
    """An alert. Its reasons are sentences, the strongest first."""

    id: str
    score: float
    is_case: bool
    reasons: tuple[str, ...]


def highest_rows(scores: NDArray[Any]) -> NDArray[np.intp]:
    """The positions of the rows with the highest scores."""
    return np.argsort(-scores, kind="stable")[:N_ALERTS]


def alert_facts(
    model: Any,
    is_case: NDArray[np.bool_],
    scores: NDArray[Any],
    threshold: float,
    ids: Any,
    sample: Any,
    sample_rows: NDArray[np.integer] | None,
) -> tuple[Alert, ...]:
    """The highest alerts of the sample. Empty for models that give no reasons."""
    if sample is None or not about.gives_reasons(model):
        return ()
    wanted = [row for row in highest_rows(scores).tolist() if scores[row] >= threshold]
    known, rows = rows_in_sample(sample, sample_rows, wanted)
    if not known:
        return ()
    return tuple(
        Alert(
            shortened(str(row if ids is None else ids[row])),
            float(scores[row]),
            bool(is_case[row]),
            tuple(shortened(str(reason), LONGEST_REASON) for reason in reasons),
        )
        for row, reasons in zip(known, about.reasons_of(model, rows, N_REASONS), strict=True)
    )


def list_of_alerts(found: Sequence[Alert]) -> html.Section:
    header = ["Row", "Score", "Label", "Reasons, the strongest first"]
    cells = [
        [
            one.id,
            score_text(one.score),
            "rare" if one.is_case else "common",
            html.element("ol", [html.element("li", reason) for reason in one.reasons], class_="reasons"),
        ]
        for one in found
    ]
    return html.section(
        "alerts",
        "Alerts",
        "The highest alerts, and why",
        html.lead(
            "The columns that raised each score most, against a row with typical values. They explain the model, not "
            "the world. Columns that are correlated share what they add."
        ),
        html.table(header, cells, numbers=[1]),
    )
