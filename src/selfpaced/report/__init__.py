"""A report that people want to look at: one HTML page on a model and the rows it is judged by."""

from selfpaced.report.building import make_report, report_of_scores
from selfpaced.report.report import Report
from selfpaced.report.suspects import suspect_rows

__all__ = ["Report", "make_report", "report_of_scores", "suspect_rows"]
