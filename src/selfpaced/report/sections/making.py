"""The model, the rows and the versions."""

from __future__ import annotations

from typing import Any

from selfpaced.report.facts import Facts, ModelFacts
from selfpaced.report.html import Html, element
from selfpaced.report.sections.parts import section
from selfpaced.report.words import decimals, plural, whole


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
