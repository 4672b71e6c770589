"""One HTML page about a model and its results on held-out rows."""

from selfpaced.report import html
from selfpaced.report.about import has_stages
from selfpaced.report.alerts import highest_rows
from selfpaced.report.building import ReportOptions, make_report, report_of_scores
from selfpaced.report.data import suspect_rows
from selfpaced.report.groups import GROUP_COLUMNS, GroupedFacts, difference_text, group_facts
from selfpaced.report.page import Report
from selfpaced.report.service import DRIFT_COLUMNS, FOLD_COLUMNS, PERIOD_COLUMNS, backtest_page, monitor_page

__all__ = ["Report", "make_report", "report_of_scores", "suspect_rows"]
