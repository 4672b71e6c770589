"""A report: its facts, and the HTML page that is made from them.

A case is a row of the class that the scores are for: a rare row.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import sha256
from html import escape
from importlib.resources import files
from math import isfinite
from typing import Any

from selfpaced.report import html
from selfpaced.report.answer import Case, ModelFacts, RecipeFacts, answer, making, recipes
from selfpaced.report.course import Course, course
from selfpaced.report.data import DataFacts, SuspectFacts, data, suspects
from selfpaced.report.html import Html
from selfpaced.report.importance import Importances, importance
from selfpaced.report.learning import Learning, learning
from selfpaced.report.quality import Calibration, RankingFacts, calibration, ranking
from selfpaced.report.thresholds import RowByRow, Thresholds, decision, explorer
from selfpaced.storage import AnyPath, Place, located, write_whole


@dataclass(frozen=True)
class Facts:
    """All figures of a report, as typed data. Labels, ids, names and values of columns are strings."""

    title: str
    created_at: str
    versions: dict[str, str]
    case: Case
    n_rows: int
    n_cases: int
    model: ModelFacts | None
    ranking: RankingFacts
    thresholds: Thresholds
    calibration: Calibration | None
    learning: Learning | None
    recipes: tuple[RecipeFacts, ...]
    importances: Importances | None
    suspects: SuspectFacts
    data: DataFacts | None
    course: Course | None = None
    decision: RowByRow | None = None
    cautions: tuple[str, ...] = ()

    @property
    def prevalence(self) -> float:
        return self.n_cases / self.n_rows

    def to_json(self) -> str:
        return json.dumps(_finite(asdict(self)), allow_nan=False, indent=1, ensure_ascii=False)


def _finite(value: Any) -> Any:
    """Replace infinities and NaN, which JSON does not have, by None."""
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not isfinite(value) else value


class Report:
    """The result of `make_report`. A notebook displays the page.

    Parameters
    ----------
    facts : Facts
        All figures of the page.

    Attributes
    ----------
    facts : Facts
        All figures of the page, as typed data.

    See Also
    --------
    make_report : Makes a report from a model and rows.
    report_of_scores : Makes a report from labels and scores.

    Examples
    --------
    >>> from selfpaced.report import report_of_scores
    >>> report = report_of_scores([0, 0, 0, 1], [0.1, 0.2, 0.3, 0.9])
    >>> report
    <Report on 4 rows: AUCPRC 1.000, chance 0.25>
    """

    def __init__(self, facts: Facts) -> None:
        self.facts = facts

    def to_html(self) -> str:
        """The page, complete in one file.

        Returns
        -------
        str
            HTML that needs no other file and no network.
        """
        return page_of(self.facts)

    def to_json(self) -> str:
        """The facts as JSON.

        Returns
        -------
        str
            A JSON object.
        """
        return self.facts.to_json()

    def save(self, path: AnyPath) -> Place:
        """Write the page to a file or URL, or the facts if it ends in `.json`. An error leaves no partial file.

        Parameters
        ----------
        path : path or URL
            Where to write.

        Returns
        -------
        Path or RemoteFile
            Where the file is.
        """
        target = located(path)
        text = self.to_json() if target.suffix.lower() == ".json" else self.to_html()
        return write_whole(target, text)

    def _repr_html_(self) -> str:
        """The page in an iframe, so that the styles of the notebook and of the page do not mix."""
        return (
            f'<iframe title="{escape(self.facts.title)}" srcdoc="{escape(self.to_html())}" sandbox="allow-scripts" '
            'width="100%" height="900" style="border:0"></iframe>'
        )

    def __repr__(self) -> str:
        ranking = self.facts.ranking
        return f"<Report on {self.facts.n_rows:,} rows: AUCPRC {ranking.aucprc:.3f}, chance {ranking.chance:.2g}>"


SECTIONS = {
    "In short": answer,
    "Threshold": explorer,
    "Row by row": decision,
    "Over time": course,
    "Ranking": ranking,
    "Probability": calibration,
    "Learning": learning,
    "Recipes": recipes,
    "Features": importance,
    "Suspects": suspects,
    "Data": data,
    "Making": making,
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
    head = html.element(
        "head",
        html.element("meta", charset="utf-8"),
        html.element("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        html.element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        html.element("meta", name="color-scheme", content="light dark"),
        html.element("title", title),
        html.element("style", style),
    )
    made_at = created_at or datetime.now(UTC).isoformat(timespec="seconds")
    body = html.element(
        "body",
        html.element("a", "Skip to the report", href="#main", class_="skip"),
        _header(title, made_at, {name: id for name, (id, _) in shown.items()}),
        html.element("main", html.joined(made for _, made in shown.values()), id="main", tabindex=-1),
        None if script is None else html.element("script", script),
    )
    return f"<!doctype html>\n{html.element('html', head, body, lang='en')}\n"


def _header(title: str, created_at: str, ids: Mapping[str, str]) -> Html:
    links = [html.element("li", html.element("a", name, href=f"#{id}")) for name, id in ids.items()]
    return html.element(
        "header",
        html.element("h1", title),
        html.element("p", f"Made by selfpaced on {created_at[:10]}", class_="made"),
        html.element("nav", html.element("ul", links), aria_label="Sections"),
    )


def _policy(style: str, script: str | None) -> str:
    """Forbid all connections, and all styles and scripts except those of this page."""
    scripts = "" if script is None else f"script-src {_hash(script)}; "
    return f"default-src 'none'; style-src {_hash(style)}; {scripts}base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _resource(name: str) -> Html:
    return Html(files("selfpaced.report").joinpath(name).read_text(encoding="utf-8"))
