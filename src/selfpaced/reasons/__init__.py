"""Reasons of a score: which columns raised it, by how much, and what is usual."""

from selfpaced.reasons.reasons import Groups, Reason, Reasons, check_top, reasons_of, source_names

__all__ = ["Reason", "Reasons"]
