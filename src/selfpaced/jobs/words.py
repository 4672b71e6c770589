"""Figures in words that need no statistics."""

from __future__ import annotations

from typing import Any

from selfpaced.ensembles.streaming import TableEvaluation


def headline(found: TableEvaluation, target: str | None, label: Any) -> str:
    """
    >>> found = TableEvaluation(1000, 100, 0.8, 0.5, 0.83, 0.87, 0.79, best_threshold=0.5, best_f1=0.83)
    >>> headline(found, "is_fraud", 1)
    'Of 100 alerts, 87 are right; it finds 79% of all rows where is_fraud is 1.'
    """
    which = f"rows where {target} is {label!r}" if target else f"rows of the class {label!r}"
    return f"Of 100 alerts, {100 * found.precision:.0f} are right; it finds {found.recall:.0%} of all {which}."


def chance(found: TableEvaluation) -> str:
    """The AUCPRC of random scores.

    >>> chance(TableEvaluation(100_000, 3, 0.8, 0.5, 0.83, 0.87, 0.79, best_threshold=0.5, best_f1=0.83))
    '3e-05'
    """
    return f"{found.n_positives / found.n_rows:.2g}"
