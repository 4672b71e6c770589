"""Probabilities against hard votes: which of them the published figures fit, and what becomes of SPE's lead."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from paper.render.summary import beside, over_runs
from paper.render.tables import crossed, markdown

SCORES = {"probabilities": "aucprc", "votes": "aucprc_votes"}


def comparison(
    frame: pd.DataFrame, keys: tuple[str, str], printed: pd.DataFrame, rows: Sequence[str], methods: Sequence[str]
) -> str:
    """The table with hard votes, how far both variants are from the published columns, and SPE's lead under each.

    `keys` are the columns of the setting and of the method.
    """
    results = {name: beside(over_runs(frame, keys, column), printed) for name, column in SCORES.items()}
    return f"""
## AUCPRC of hard votes

The share of members that call a row rare, instead of the mean of their probabilities; a single model then has two
scores only. The paper does not say which it took.

{crossed(results["votes"], rows, methods, [keys[0]])}

Mean distance of each published column from ours, over the rows of the table:

{_distances(results, methods)}

SPE's lead over the best other method, published and ours. In the last column SPE is scored by probabilities and the
others by votes: where that alone fits the published lead, the lead is one of scoring, not of sampling.

{_leads(results, rows)}
"""


def _distances(results: dict[str, pd.DataFrame], methods: Sequence[str]) -> str:
    gaps = {
        name: (both["mean"] - both["mean_published"]).abs().groupby(level=1).mean() for name, both in results.items()
    }
    lines = []
    for method in methods:
        by = {name: gap.get(method) for name, gap in gaps.items()}
        if not any(pd.isna(distance) for distance in by.values()):
            lines.append([method, *(f"{distance:.3f}" for distance in by.values()), min(by, key=lambda name: by[name])])
    return markdown(["method", *(f"to {name}" for name in SCORES), "closer"], lines)


def _leads(results: dict[str, pd.DataFrame], rows: Sequence[str]) -> str:
    by_probability, by_votes = (_by_method(results[name], "mean") for name in SCORES)
    printed = _by_method(results["probabilities"], "mean_published")
    mixed = by_votes.assign(SPE=by_probability["SPE"])
    variants = [printed, by_probability, by_votes, mixed]
    # Only methods that both have, or the leads would be over different rivals.
    known = [row for row in rows if row in printed.index and not printed.loc[row].isna().all()]
    lines = [[row, *(_lead(variant.where(printed.notna()), row) for variant in variants)] for row in known]
    return markdown(["", "published", "probabilities", "votes", "SPE probabilities, others votes"], lines)


def _by_method(results: pd.DataFrame, value: str) -> pd.DataFrame:
    """A row for each setting, a column for each method."""
    setting, method = results.index.names
    return results.reset_index().pivot_table(index=setting, columns=method, values=value, dropna=False)


def _lead(means: pd.DataFrame, row: str) -> str:
    if row not in means.index or pd.isna(means.loc[row, "SPE"]):
        return "—"
    return f"{means.loc[row, 'SPE'] - means.loc[row].drop('SPE').max():+.3f}"
