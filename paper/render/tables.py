"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

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


def crossed(summary: pd.DataFrame, rows: Sequence[str], columns: Sequence[str], names: Sequence[str]) -> str:
    """A table with one row for each of `rows` and one column for each of `columns`, the best of ours in bold.

    The summary is indexed by (row, column); what has no result yet is a dash.
    """
    lines = []
    for row in rows:
        means = {column: summary["mean"].get((row, column)) for column in columns}
        finished = {column: mean for column, mean in means.items() if pd.notna(mean)}
        best = max(finished.values(), default=None)
        texts = [_text(summary.loc[(row, c)], means[c] == best) if c in finished else NOTHING for c in columns]
        lines.append([row, *texts])
    return markdown([" / ".join(names), *columns], lines)


def _text(result: pd.Series, is_best: bool) -> str:
    text = cell(result)
    if not is_best:
        return text
    first, *others = text.split("<br>")
    return "<br>".join([f"**{first}**", *others])
