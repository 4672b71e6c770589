"""One HTML page about a model and its results on held-out rows."""

from selfpaced.report.building import make_report, report_of_scores
from selfpaced.report.html import Axis, Html, drawing, element, joined, line, moment_text, rectangle, shortened, text
from selfpaced.report.page import Report
from selfpaced.report.service import backtest_page, monitor_page

__all__ = [
    "Axis",
    "Html",
    "Report",
    "backtest_page",
    "drawing",
    "element",
    "joined",
    "line",
    "make_report",
    "moment_text",
    "monitor_page",
    "rectangle",
    "report_of_scores",
    "shortened",
    "text",
]
