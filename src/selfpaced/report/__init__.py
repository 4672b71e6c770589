"""One HTML page about a model and its results on held-out rows."""

from selfpaced.report.building import make_report, report_of_scores
from selfpaced.report.report import Report
from selfpaced.report.suspects import suspect_rows

__all__ = ["Report", "make_report", "report_of_scores", "suspect_rows"]
