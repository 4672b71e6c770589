"""How often SPE is best, for us and in the paper, and how many of its figures are reached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from paper.render.tables import NOTHING, markdown


@dataclass(frozen=True)
class Score:
    """The counts of one table.

    Attributes
    ----------
    rows : comparisons of SPE with others, finished by us.
    best_ours, best_published : comparisons in which no other method is above SPE.
    cells : figures of SPE that we have and the paper printed.
    reached, reached_by_our_sd : those not below the published mean by more than the published deviation, or ours.
    spe_difference, others_difference : ours minus the published mean, on average over the cells.
    """

    table: str
    rows: int
    best_ours: int
    best_published: int
    cells: int
    reached: int
    reached_by_our_sd: int
    spe_difference: float
    others_difference: float


def score(table: str, results: pd.DataFrame, *, other_rows: bool = False) -> Score:
    """Count a table: results with published figures beside them, indexed by settings of which the last is the method.

    A comparison counts when all methods that the paper has for it are finished. On other rows than the published
    ones, who is best is counted, and figures are not compared.
    """
    printed = results.dropna(subset=["mean_published"])
    complete = [group for group in _comparisons(printed) if group["paired"].notna().all()]
    spe = printed[printed.index.get_level_values(-1) == "SPE"].dropna(subset=["mean"])
    difference = printed["mean"] - printed["mean_published"]
    if other_rows:
        spe, difference = spe.iloc[:0], difference * np.nan
    our_sd = spe["sd"].fillna(0)
    is_spe = printed.index.get_level_values(-1) == "SPE"
    return Score(
        table,
        len(complete),
        sum(_is_best(group["paired"]) for group in complete),
        sum(_is_best(group["mean_published"]) for group in complete),
        len(spe),
        int((spe["mean"] >= spe["mean_published"] - spe["sd_published"]).sum()),
        int((spe["mean"] >= spe["mean_published"] - our_sd).sum()),
        float(difference[is_spe].mean()),
        float(difference[~is_spe].mean()),
    )


def _comparisons(results: pd.DataFrame) -> list[pd.DataFrame]:
    """The results of all methods under one setting, for each setting, indexed by method."""
    others = list(range(results.index.nlevels - 1))
    return [group.droplevel(others) for _, group in results.groupby(level=others)]


def _is_best(means: pd.Series) -> bool:
    # As printed, with three digits: equals are best together, in the paper's tables too.
    return bool(means.round(3)["SPE"] >= means.round(3).max())


def as_markdown(scores: Sequence[Score]) -> str:
    header = [
        "table",
        "SPE best, ours",
        "SPE best, paper",
        "SPE reaches the published value (by the published sd)",
        "… (by our sd)",
        "SPE, ours minus paper",
        "others, ours minus paper",
    ]
    lines = [
        [
            score.table,
            _of(score.best_ours, score.rows),
            _of(score.best_published, score.rows),
            _of(score.reached, score.cells),
            _of(score.reached_by_our_sd, score.cells),
            _signed(score.spe_difference),
            _signed(score.others_difference),
        ]
        for score in scores
    ]
    return markdown(header, [*lines, _total(scores)])


def _total(scores: Sequence[Score]) -> list[str]:
    def add(name: str) -> int:
        return sum(getattr(score, name) for score in scores)

    return [
        "**all**",
        f"**{_of(add('best_ours'), add('rows'))}**",
        f"**{_of(add('best_published'), add('rows'))}**",
        f"**{_of(add('reached'), add('cells'))}**",
        f"**{_of(add('reached_by_our_sd'), add('cells'))}**",
        "",
        "",
    ]


def _signed(difference: float) -> str:
    return NOTHING if np.isnan(difference) else f"{difference:+.3f}"


def _of(part: int, whole: int) -> str:
    return f"{part} of {whole}" if whole else NOTHING
