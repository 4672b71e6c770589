"""One HTML page about a model and its results on held-out rows."""

from selfpaced.report.backtest import backtest_page
from selfpaced.report.building import make_report, report_of_scores
from selfpaced.report.html import Axis, Html, drawing, element, joined, line, rectangle, text
from selfpaced.report.monitor import monitor_page
from selfpaced.report.page import Report
from selfpaced.report.words import moment_text, shortened

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
    "text",
]
