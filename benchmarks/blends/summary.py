"""The means of a comparison over all tables, beside one of the models in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from contest.results import Row
from text_table import text_table


@dataclass(frozen=True)
class Summary:
    """A model over all tables.

    Attributes
    ----------
    mean : of its figures, first over the splits of a table, then over the tables.
    difference, error : how much more that is than the reference, and the standard error over the tables.
    wins, losses : tables on which it is better or worse than the reference by more than 0.001.
    """

    mean: float
    difference: float
    error: float
    wins: int
    losses: int


TIE = 0.001


def by_table(rows: Sequence[Row], comparison: str, fact: str = "aucprc") -> dict[str, dict[str, float]]:
    """For each model of a comparison its figure on each table, the mean of the splits."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row["method"] == comparison:
            for model, figure in row[fact].items():
                found[model][row["table"]].append(figure)
    return {model: {table: fmean(figures) for table, figures in tables.items()} for model, tables in found.items()}


def summaries(tables_of: dict[str, dict[str, float]], reference: str) -> dict[str, Summary]:
    """
    >>> found = summaries({"a": {"x": 0.5, "y": 0.3}, "b": {"x": 0.6, "y": 0.3}}, reference="a")
    >>> round(found["b"].difference, 3), found["b"].wins, found["b"].losses
    (0.05, 1, 0)
    """
    usual = tables_of[reference]
    found = {}
    for model, figures in tables_of.items():
        more = [figure - usual[table] for table, figure in figures.items()]
        error = stdev(more) / len(more) ** 0.5 if len(more) > 1 else float("nan")
        wins, losses = sum(each > TIE for each in more), sum(each < -TIE for each in more)
        found[model] = Summary(fmean(figures.values()), fmean(more), error, wins, losses)
    return found


def as_text(found: dict[str, Summary], reference: str) -> str:
    """A table for the terminal, the best model first."""
    lines = [
        [model, f"{each.mean:.4f}", f"{each.difference:+.4f}", f"{each.error:.4f}", f"{each.wins}", f"{each.losses}"]
        for model, each in sorted(found.items(), key=lambda item: -item[1].mean)
    ]
    return text_table(["", "AUCPRC", f"against {reference}", "standard error", "better", "worse"], lines)
