"""One HTML page about a model and its results on held-out rows."""

from selfpaced.report.about import has_stages
from selfpaced.report.alerts import highest_rows
from selfpaced.report.building import ReportOptions, make_report, report_of_scores
from selfpaced.report.data import suspect_rows
from selfpaced.report.groups import GroupedFacts, difference_text, group_facts, share_text
from selfpaced.report.html import Axis, Html, drawing, element, joined, line, moment_text, rectangle, shortened, text
from selfpaced.report.page import Report
from selfpaced.report.service import backtest_page, monitor_page

__all__ = ["Report", "make_report", "report_of_scores", "suspect_rows"]
