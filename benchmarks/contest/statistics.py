"""What the results say: ranks, regrets, and wins by paired tests.

A figure of a table and a method is the mean AUCPRC over the splits, rounded to four digits: methods that differ by less
are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata, t, wilcoxon

from contest.splits import TEST_SHARE

DIGITS = 4
LEVEL = 0.05
FEWEST_SPLITS_FOR_A_TEST = 3
COLUMNS = [
    "table",
    "method",
    "split",
    "aucprc",
    "mean_score",
    "rare_share",
    "by_score",
    "fit_seconds",
    "fit_cpu_seconds",
    "predict_seconds",
    "busy_share",
    "threads",
]


def frame_of(whole: dict[str, Any], methods: Sequence[str]) -> pd.DataFrame:
    """The finished fits of the methods, each with what is known of its table."""
    finished = [row for row in whole["results"] if "error" not in row and row["method"] in methods]
    of_tables = pd.DataFrame.from_dict(whole["tables"], orient="index", columns=["rows", "rare", "order"])
    return pd.DataFrame(finished, columns=COLUMNS).join(of_tables, on="table")


def failures(whole: dict[str, Any], methods: Sequence[str]) -> dict[tuple[str, str], str]:
    """Why a method has no figure for a table, by table and method."""
    failed = [row for row in whole["results"] if "error" in row and row["method"] in methods]
    return {(row["table"], row["method"]): row["error"] for row in failed}


def means(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean AUCPRC, a row for each table and a column for each method.

    A method that lacks a split which another method has gets no figure for the table: means over different rows cannot
    be compared.
    """
    n_splits = frame.pivot_table(index="table", columns="method", values="aucprc", aggfunc="count")
    is_whole = n_splits.eq(n_splits.max(axis=1), axis="index")
    return frame.pivot_table(index="table", columns="method", values="aucprc").where(is_whole).round(DIGITS)


def have_run(figures: pd.DataFrame, failed: dict[tuple[str, str], str]) -> pd.DataFrame:
    """Whether a method has a figure for a table, or a reason why not."""
    is_known = figures.notna()
    for table, method in failed:
        if table in is_known.index and method in is_known.columns:
            is_known.loc[table, method] = True
    return is_known


def ranks(figures: pd.DataFrame, has_run: pd.DataFrame | None = None) -> pd.DataFrame:
    """1 for the best of a table; equal ones share their mean rank; a method that failed is behind all others.

    A method that has not run on a table has no rank there. Without `has_run`, all have.
    """
    if has_run is None:
        has_run = figures.notna() | True
    ranked = rankdata(-figures.fillna(-1.0).where(has_run, -2.0).to_numpy(), axis=1)
    return pd.DataFrame(ranked, figures.index, figures.columns).where(has_run)


def regrets(figures: pd.DataFrame) -> pd.DataFrame:
    """How far a method is behind the best of the table; no figure where it has none."""
    return (-figures).add(figures.max(axis=1), axis="index").round(DIGITS)


def corrected_p(differences: Sequence[float], test_share: float = TEST_SHARE) -> float:
    """Two-sided p-value of the corrected resampled t-test (Nadeau and Bengio, 2003) for differences over splits.

    Random splits share most of their training rows, so the usual t-test takes them for more evidence than they are. The
    variance of the mean is not s² / n, but s² (1 / n + n_test / n_train).

    >>> round(corrected_p([0.01, 0.02, 0.03, 0.02, 0.02]), 4)
    0.0234
    >>> corrected_p([0.0, 0.0, 0.0])
    1.0
    """
    n, mean, variance = len(differences), float(np.mean(differences)), float(np.var(differences, ddof=1))
    if variance == 0:
        return 1.0 if mean == 0 else 0.0
    error = np.sqrt(variance * (1 / n + test_share / (1 - test_share)))
    return float(2 * t.sf(abs(mean) / error, n - 1))


@dataclass(frozen=True)
class Duel:
    """One method against another over all tables that both have figures for.

    Attributes
    ----------
    wins, ties, losses : tables with a significant difference over the splits, and tables without one.
    ahead, equal, behind : tables by their figures alone.
    p : two-sided p-value of Wilcoxon's signed-rank test over the tables' figures.
    """

    wins: int
    ties: int
    losses: int
    ahead: int
    equal: int
    behind: int
    mean_difference: float
    p: float


def duel(frame: pd.DataFrame, one: str, other: str) -> Duel:
    figures = means(frame[frame["method"].isin([one, other])]).dropna()
    differences = (figures[one] - figures[other]).round(DIGITS)
    outcomes = [outcome(frame[frame["table"] == table], one, other) for table in figures.index]
    return Duel(
        wins=outcomes.count(1),
        ties=outcomes.count(0),
        losses=outcomes.count(-1),
        ahead=int((differences > 0).sum()),
        equal=int((differences == 0).sum()),
        behind=int((differences < 0).sum()),
        mean_difference=float(differences.mean()),
        p=float(wilcoxon(differences).pvalue) if differences.any() else 1.0,
    )


def outcome(of_table: pd.DataFrame, one: str, other: str) -> int:
    """1 if the first method is significantly better over the splits, -1 if it is worse, otherwise 0.

    Without different test rows there is nothing to test, as in the order of time: that is 0.
    """
    by_split = of_table.pivot_table(index="split", columns="method", values="aucprc")
    differences = (by_split[one] - by_split[other]).dropna()
    if len(differences) < FEWEST_SPLITS_FOR_A_TEST or (of_table["order"] == "time").any():
        return 0
    mean = differences.mean()
    return int(np.sign(mean)) if corrected_p(list(differences)) < LEVEL else 0
