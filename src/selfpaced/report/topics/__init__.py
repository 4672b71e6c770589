"""The topics of a report: the facts, the figure and the section of each."""

from selfpaced.report.topics.suspects import suspect_rows
