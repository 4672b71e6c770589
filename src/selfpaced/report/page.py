"""A report, and the HTML page that is made from its facts."""

from base64 import b64encode
from collections.abc import Iterable
from datetime import UTC, datetime
from hashlib import sha256
from html import escape

from selfpaced.report import html
from selfpaced.report.alerts import list_of_alerts
from selfpaced.report.answer import Facts, answer, making, recipes
from selfpaced.report.course import course
from selfpaced.report.data import data, suspects
from selfpaced.report.groups import by_group
from selfpaced.report.html import Html, Section
from selfpaced.report.importance import importance
from selfpaced.report.learning import learning
from selfpaced.report.quality import calibration, ranking
from selfpaced.report.thresholds import decision, explorer, zones
from selfpaced.storage import AnyPath, Place, located, write_whole


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
        facts = self.facts
        alerts = facts.thresholds.suggested_alerts
        calibrated_by = None if facts.model is None else facts.model.calibration
        counts = facts.n_rows, facts.n_cases
        sections = [
            answer(facts),
            explorer(facts.thresholds, facts.ranking, facts.case.rows),
            zones(facts.zones) if facts.zones else None,
            decision(facts.decision) if facts.decision else None,
            course(facts.course) if facts.course else None,
            by_group(facts.by_group) if facts.by_group else None,
            ranking(facts.ranking, alerts),
            calibration(facts.calibration, *counts, calibrated_by) if facts.calibration else None,
            learning(facts.learning) if facts.learning else None,
            recipes(facts.recipes) if facts.recipes else None,
            importance(facts.importances) if facts.importances else None,
            list_of_alerts(facts.alerts) if facts.alerts else None,
            suspects(facts.suspects, facts.case.rows),
            data(facts.data, facts.n_rows) if facts.data else None,
            making(facts),
        ]
        return assembled(facts.title, sections, facts.created_at, html.resource("page.js"))

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


def assembled(
    title: str, sections: Iterable[Section | None], created_at: str | None = None, script: Html | None = None
) -> str:
    """A page of sections. Those that are None are omitted."""
    style = html.resource("page.css")
    shown = [one for one in sections if one is not None]
    made_at = created_at or datetime.now(UTC).isoformat(timespec="seconds")
    links = [html.element("li", html.element("a", one.link, href=f"#{one.id}")) for one in shown]
    head = html.element(
        "head",
        html.element("meta", charset="utf-8"),
        html.element("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        html.element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        html.element("meta", name="color-scheme", content="light dark"),
        html.element("title", title),
        html.element("style", style),
    )
    header = html.element(
        "header",
        html.element("h1", title),
        html.element("p", f"Made by selfpaced on {made_at[:10]}", class_="made"),
        html.element("nav", html.element("ul", links), aria_label="Sections"),
    )
    body = html.element(
        "body",
        html.element("a", "Skip to the report", href="#main", class_="skip"),
        header,
        html.element("main", [one.shown for one in shown], id="main", tabindex=-1),
        None if script is None else html.element("script", script),
    )
    return f"<!doctype html>\n{html.element('html', head, body, lang='en')}\n"


def _policy(style: str, script: str | None) -> str:
    """Forbid all connections, and all styles and scripts except those of this page."""
    scripts = "" if script is None else f"script-src {_hash(script)}; "
    return f"default-src 'none'; style-src {_hash(style)}; {scripts}base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
