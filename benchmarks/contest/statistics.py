"""What the results say: ranks, regrets and their noise, and wins by paired tests.

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

from contest.results import GIVEN_UP
from contest.splits import TEST_SHARE

DIGITS = 4
ERRORS_ABOVE_NOISE = 2
LEVEL = 0.05
FEWEST_SPLITS_FOR_A_TEST = 3
LEAST_SHARE_OF_TABLES = 0.5
COLUMNS = [
    "table",
    "method",
    "split",
    "aucprc",
    "mean_score",
    "rare_share",
    "by_score",
    "redrawn",
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
    """Why a method has no figure for a table, by table and method. A fit that was given up is not a failure."""
    failed = [row for row in whole["results"] if "error" in row and GIVEN_UP not in row and row["method"] in methods]
    return {(row["table"], row["method"]): row["error"] for row in failed}


def given_up(whole: dict[str, Any], methods: Sequence[str]) -> dict[tuple[str, str], float]:
    """The processor seconds after which a fit was given up, by table and method."""
    rows = [row for row in whole["results"] if GIVEN_UP in row and row["method"] in methods]
    return {(row["table"], row["method"]): row[GIVEN_UP] for row in rows}


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


def standings(figures: pd.DataFrame, has_run: pd.DataFrame, one: str) -> pd.DataFrame:
    """The mean rank and regret of each method, beside those that `one` has on the same tables.

    Ranks of other tables, among other methods, cannot be compared: two methods are compared where both have run.
    """
    ranked, behind = ranks(figures, has_run), regrets(figures)
    here = pd.DataFrame(
        {
            "tables": has_run.sum(),
            "rank": ranked.mean(),
            "regret": behind.mean(),
            "largest": behind.max(),
        }
    )
    if one in figures:
        here["rank of ours"] = {name: ranked.loc[has_run[name], one].mean() for name in figures}
        here["regret of ours"] = {name: behind.loc[figures[name].notna(), one].mean() for name in figures}
    here["is on most"] = figures.notna().mean() >= LEAST_SHARE_OF_TABLES
    return here.sort_values(["is on most", "rank"], ascending=[False, True])


def corrected_p(differences: Sequence[float], test_share: float = TEST_SHARE) -> float:
    """Two-sided p-value of the corrected resampled t-test (Nadeau and Bengio, 2003) for differences over splits.

    Random splits share most of their training rows, so the usual t-test takes them for more evidence than they are. The
    variance of the mean is not s² / n, but s² (1 / n + n_test / n_train).

    >>> round(corrected_p([0.01, 0.02, 0.03, 0.02, 0.02]), 4)
    0.0234
    >>> corrected_p([0.0, 0.0, 0.0])
    1.0
    """
    mean, error = float(np.mean(differences)), corrected_error(differences, test_share)
    if error == 0:
        return 1.0 if mean == 0 else 0.0
    return float(2 * t.sf(abs(mean) / error, len(differences) - 1))


def corrected_error(differences: Sequence[float], test_share: float = TEST_SHARE) -> float:
    """The standard error of the mean in that test.

    >>> round(corrected_error([0.01, 0.02, 0.03, 0.02, 0.02]), 4)
    0.0056
    """
    return float(np.std(differences, ddof=1) * np.sqrt(1 / len(differences) + test_share / (1 - test_share)))


@dataclass(frozen=True)
class Difference:
    """How far one method is ahead of another on a table, and the standard error of that.

    Attributes
    ----------
    noise_from : "splits", "test rows", or None if neither is known: then there is no error.
    """

    mean: float
    error: float
    noise_from: str | None

    @property
    def is_above_the_noise(self) -> bool:
        return abs(self.mean) > ERRORS_ABOVE_NOISE * self.error


def difference(of_table: pd.DataFrame, one: str, other: str) -> Difference:
    """From the splits of a table that both methods have.

    The error is that of the corrected test over at least three random splits. With fewer, and in the order of time, it
    is that of test rows drawn again, which leaves out how much depends on the training rows.
    """
    both = common_splits(of_table, [one, other]).set_index(["method", "split"]).sort_index()
    values = both.loc[one, "aucprc"] - both.loc[other, "aucprc"]
    mean = round(float(values.mean()), DIGITS)
    if len(values) >= FEWEST_SPLITS_FOR_A_TEST and (both["order"] != "time").all():
        return Difference(mean, corrected_error(list(values)), "splits")
    if both["redrawn"].notna().all():
        pairs = zip(both.loc[one, "redrawn"], both.loc[other, "redrawn"], strict=True)
        return Difference(mean, float(np.mean([np.std(np.subtract(*pair), ddof=1) for pair in pairs])), "test rows")
    return Difference(mean, float("nan"), None)


def lead_without_luck(of_table: pd.DataFrame, one: str) -> float | None:
    """How far a method is ahead of the other one that is best on all splits but the one it is compared on.

    The best of many methods on the rows it is judged by is partly lucky; a choice by other rows is not. None without at
    least three random splits that the methods have.
    """
    by_split = of_table.pivot_table(index="split", columns="method", values="aucprc").dropna(axis="columns")
    if len(by_split) < FEWEST_SPLITS_FOR_A_TEST or by_split.shape[1] < 2 or (of_table["order"] == "time").any():
        return None
    others = by_split.drop(columns=one)
    chosen = {split: others.drop(index=split).mean().idxmax() for split in by_split.index}
    return float(np.mean([by_split.loc[split, one] - others.loc[split, name] for split, name in chosen.items()]))


def common_splits(frame: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """The fits of these methods on the tables and splits that all of them have."""
    some = frame[frame["method"].isin(methods)]
    n_methods = some.groupby(["table", "split"])["method"].transform("nunique")
    return some[n_methods == len(methods)]


@dataclass(frozen=True)
class Duel:
    """One method against another over all tables that both have figures for.

    Attributes
    ----------
    tables, splits : how many both have.
    wins, ties, losses : tables with a significant difference over the splits, and tables without one.
    ahead, equal, behind : tables by their figures alone.
    p : two-sided p-value of Wilcoxon's signed-rank test over the tables' figures.
    """

    tables: int
    splits: int
    wins: int
    ties: int
    losses: int
    ahead: int
    equal: int
    behind: int
    mean_difference: float
    p: float


def duel(frame: pd.DataFrame, one: str, other: str) -> Duel:
    """On the splits that both methods have."""
    frame = common_splits(frame, [one, other])
    figures = means(frame)
    differences = (figures[one] - figures[other]).round(DIGITS)
    outcomes = [outcome(of_table, one, other) for _, of_table in frame.groupby("table")]
    return Duel(
        tables=len(figures),
        splits=len(frame) // 2,
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
