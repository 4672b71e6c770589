"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import pandas as pd

from paper.render.summary import cell

NOTHING = "—"


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """
    >>> print(markdown(["a", "b"], [["1", "2"]]))
    | a | b |
    |---|---|
    | 1 | 2 |
    """
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("|" + "|".join(_padded(text) for text in line) + "|" for line in lines)


def _padded(text: str) -> str:
    return text if set(text) == {"-"} else f" {text} "


def crossed(
    summary: pd.DataFrame,
    rows: Sequence[str],
    columns: Sequence[str],
    names: Sequence[str],
    *,
    best_of: str = "row",
    notes: Mapping[tuple[str, ...], str] = MappingProxyType({}),
) -> str:
    """A table with one row for each of `rows` and one column for each of `columns`.

    The summary is indexed by (row, column); what has no result is its note, or a dash. The best of ours in
    each row, or in each column, is bold.
    """
    finished = {key: mean for key, mean in summary["mean"].items() if pd.notna(mean)}

    def is_best(row: str, column: str) -> bool:
        rivals = [(row, other) for other in columns] if best_of == "row" else [(other, column) for other in rows]
        return finished[row, column] == max(finished[key] for key in rivals if key in finished)

    def text(row: str, column: str) -> str:
        if (row, column) not in finished:
            return notes.get((row, column), NOTHING)
        return _text(summary.loc[(row, column)], is_best(row, column))

    lines = [[row, *(text(row, column) for column in columns)] for row in rows]
    return markdown([" / ".join(names), *columns], lines)


def _text(result: pd.Series, is_best: bool) -> str:
    text = cell(result)
    if not is_best:
        return text
    first, *others = text.split("<br>")
    return "<br>".join([f"**{first}**", *others])
