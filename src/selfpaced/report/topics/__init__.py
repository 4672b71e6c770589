"""The topics of a report: the facts, the figures and the section of each."""
