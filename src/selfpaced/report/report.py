"""A report: facts, and the page that shows them."""

from __future__ import annotations

from html import escape

from selfpaced.remote_files import AnyPath, Place, located
from selfpaced.report.facts import Facts
from selfpaced.report.page import page_of
from selfpaced.whole_files import write_whole


class Report:
    """The result of `make_report`. A notebook displays the page.

    Parameters
    ----------
    facts : selfpaced.report.facts.Facts
        All figures of the page.

    Attributes
    ----------
    facts : selfpaced.report.facts.Facts
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
