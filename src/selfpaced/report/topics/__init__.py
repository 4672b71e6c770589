"""The topics of a report: the facts, the figures and the section of each."""

from selfpaced.report.topics.data import suspect_rows

__all__ = ["suspect_rows"]
