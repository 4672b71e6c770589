"""One HTML file from facts. It loads nothing from the network or from other files."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from importlib.resources import files

from selfpaced.report import sections
from selfpaced.report.facts import Facts
from selfpaced.report.html import Html, element, joined

SECTIONS = {
    "In short": sections.answer,
    "Threshold": sections.explorer,
    "Row by row": sections.decision,
    "Over time": sections.course,
    "Ranking": sections.ranking,
    "Probability": sections.calibration,
    "Learning": sections.learning,
    "Recipes": sections.recipes,
    "Features": sections.importance,
    "Suspects": sections.suspects,
    "Data": sections.data,
    "Making": sections.making,
}


def page_of(facts: Facts) -> str:
    sections = {name: (make.__name__, make(facts)) for name, make in SECTIONS.items()}
    return assembled(facts.title, sections, facts.created_at, _resource("page.js"))


def assembled(
    title: str,
    sections: Mapping[str, tuple[str, Html | None]],
    created_at: str | None = None,
    script: Html | None = None,
) -> str:
    """A page of sections, given by the texts of the links to them. Sections that are None are omitted."""
    style = _resource("page.css")
    shown = {name: made for name, made in sections.items() if made[1] is not None}
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", style),
    )
    made_at = created_at or datetime.now(UTC).isoformat(timespec="seconds")
    body = element(
        "body",
        element("a", "Skip to the report", href="#main", class_="skip"),
        _header(title, made_at, {name: id for name, (id, _) in shown.items()}),
        element("main", joined(made for _, made in shown.values()), id="main", tabindex=-1),
        None if script is None else element("script", script),
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _header(title: str, created_at: str, ids: Mapping[str, str]) -> Html:
    links = [element("li", element("a", name, href=f"#{id}")) for name, id in ids.items()]
    return element(
        "header",
        element("h1", title),
        element("p", f"Made by selfpaced on {created_at[:10]}", class_="made"),
        element("nav", element("ul", links), aria_label="Sections"),
    )


def _policy(style: str, script: str | None) -> str:
    """Forbid all connections, and all styles and scripts except those of this page."""
    scripts = "" if script is None else f"script-src {_hash(script)}; "
    return f"default-src 'none'; style-src {_hash(style)}; {scripts}base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _resource(name: str) -> Html:
    return Html(files("selfpaced.report").joinpath(name).read_text(encoding="utf-8"))
