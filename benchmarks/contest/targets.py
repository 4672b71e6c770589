"""What `AutoSelfPacedClassifier` is meant to reach, beside what was measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from contest.methods import AUTOGLUON, AUTOGLUON_HIGH, OURS, TUNED, TUNED_LONG
from contest.statistics import difference, duel, regrets, standings

MOST_REGRET = 0.005
MOST_SHARE_OF_REGRET = 1 / 3
MOST_BEHIND = 0.02
RARE_ROWS_FOR_MOST_BEHIND = 100
RARE_ROWS_FOR_RANGES = 100
LEAST_SHARE_AHEAD = 0.8
MOST_SECONDS_ON_CREDIT_FRAUD = 60
MOST_MISCALIBRATION = 0.1


@dataclass(frozen=True)
class Target:
    """A claim, what was measured, and whether it holds; None if it was not measured."""

    claim: str
    measured: str
    met: bool | None


def targets(frame: pd.DataFrame, figures: pd.DataFrame, has_run: pd.DataFrame) -> list[Target]:
    """All targets, from the fits on some tables, the figures of these tables, and where the methods have run."""
    if OURS not in figures:
        return []
    beside = [other for other in (TUNED, TUNED_LONG, AUTOGLUON, AUTOGLUON_HIGH) if other in figures]
    compared = standings(figures, has_run, OURS)
    return [
        rank(compared, "best mean rank of all methods"),
        *_regret(compared),
        _farthest_behind(figures, frame),
        _above_the_noise(figures, frame),
        *(_ahead_of(frame, other) for other in beside),
        *(_seconds_against(frame, other) for other in beside),
        _credit_fraud(frame),
        _calibration(frame),
    ]


def rank(compared: pd.DataFrame, claim: str) -> Target:
    """Against each method on the tables that it ran on, if these are at least half of them."""
    others = compared[compared["is on most"]].drop(OURS)
    lead = others["rank"] - others["rank of ours"]
    nearest = lead.idxmin()
    measured = f"{compared.loc[OURS, 'rank']:.2f}; next {others.loc[nearest, 'rank']:.2f} ({nearest})"
    if others.loc[nearest, "rank of ours"] != compared.loc[OURS, "rank"]:
        measured += f", ours {others.loc[nearest, 'rank of ours']:.2f} on its tables"
    return Target(claim, measured, bool(lead.min() > 0))


def _regret(compared: pd.DataFrame) -> list[Target]:
    ours, others = compared.loc[OURS, "regret"], compared[compared["is on most"]].drop(OURS)
    best = others["regret"].idxmin()
    theirs = others.loc[best, "regret"]
    share = others.loc[best, "regret of ours"] / theirs if theirs > 0 else float("inf")
    return [
        Target(f"mean regret at most {MOST_REGRET}", f"{ours:.4f}", bool(ours <= MOST_REGRET)),
        Target(
            "mean regret at most a third of the best alternative's, on the tables of that",
            f"{share:.2f} of {theirs:.4f} ({best})",
            bool(share <= MOST_SHARE_OF_REGRET),
        ),
    ]


def _above_the_noise(figures: pd.DataFrame, frame: pd.DataFrame) -> Target:
    """Behind the best alternative by more than the noise, on tables with many rare rows."""
    claim = f"regret above the noise on no table with at least {RARE_ROWS_FOR_MOST_BEHIND} rare rows"
    of_tables = {
        name: rows for name, rows in frame.groupby("table") if rows["rare"].iloc[0] >= RARE_ROWS_FOR_MOST_BEHIND
    }
    best = figures.drop(columns=OURS).loc[list(of_tables)].idxmax(axis=1)
    found = [difference(rows, OURS, best[name]) for name, rows in of_tables.items()]
    behind = [one for one in found if one.mean < 0]
    above = sum(one.is_above_the_noise for one in behind)
    unknown = sum(one.noise_from is None for one in behind)
    measured = f"{above} of {len(found)} tables" + (f"; noise unknown on {unknown} more" if unknown else "")
    return Target(claim, measured, None if unknown and not above else above == 0)


def _farthest_behind(figures: pd.DataFrame, frame: pd.DataFrame) -> Target:
    rare = frame.groupby("table")["rare"].first()
    behind = regrets(figures)[OURS][rare.reindex(figures.index) >= RARE_ROWS_FOR_MOST_BEHIND]
    claim = f"never more than {MOST_BEHIND} behind with at least {RARE_ROWS_FOR_MOST_BEHIND} rare rows"
    if behind.empty:
        return Target(claim, "", None)
    return Target(claim, f"{behind.max():.4f} ({behind.idxmax()})", bool(behind.max() <= MOST_BEHIND))


def _ahead_of(frame: pd.DataFrame, other: str) -> Target:
    found = duel(frame, OURS, other)
    differ = found.ahead + found.behind
    measured = f"{found.ahead} of {differ}; {found.equal} more equal"
    met = None if differ == 0 else found.ahead / differ >= LEAST_SHARE_AHEAD
    return Target(f"ahead of {other} on at least {LEAST_SHARE_AHEAD:.0%} of the tables that differ", measured, met)


def _seconds_against(frame: pd.DataFrame, other: str) -> Target:
    """Processor time: another process that needs the cores at the same moment does not change it."""
    seconds = frame.pivot_table(index=["table", "split"], columns="method", values="fit_cpu_seconds")
    pairs = seconds.reindex(columns=[OURS, other]).dropna()
    claim = f"in no more processor time than {other}"
    if pairs.empty:
        return Target(claim, "", None)
    ours, theirs = pairs[OURS].sum(), pairs[other].sum()
    return Target(claim, f"{ours:.0f} s against {theirs:.0f} s", bool(ours <= theirs))


def _credit_fraud(frame: pd.DataFrame) -> Target:
    claim = f"at most {MOST_SECONDS_ON_CREDIT_FRAUD} s on Credit Fraud with 2 threads and calibration"
    ours = frame[(frame["table"] == "credit-fraud") & (frame["method"] == OURS)]
    fits = ours[ours["threads"] == 2]["fit_seconds"]
    if fits.empty:
        others = ours["fit_seconds"]
        return Target(claim, "" if others.empty else f"{others.median():.0f} s in 1 thread, median", None)
    return Target(claim, f"{fits.median():.0f} s, median", bool(fits.median() <= MOST_SECONDS_ON_CREDIT_FRAUD))


def calibration(frame: pd.DataFrame) -> pd.Series:
    """Our mean probability of the test rows / their share of rare rows, by table."""
    ours = frame[frame["method"] == OURS].groupby("table")[["mean_score", "rare_share"]].mean()
    return ours["mean_score"] / ours["rare_share"]


def rare_rows_by_score(frame: pd.DataFrame) -> pd.Series:
    """For each table with enough rare test rows, pairs of our expected and the found ones, by ranges of scores."""
    ours = frame[(frame["method"] == OURS) & frame["by_score"].notna()]
    sums = ours.groupby("table")["by_score"].apply(lambda splits: np.sum(list(splits), axis=0))
    return sums[[table[:, 1].sum() >= RARE_ROWS_FOR_RANGES for table in sums]].map(
        lambda table: [(expected, int(found)) for expected, found in table]
    )


def _calibration(frame: pd.DataFrame) -> Target:
    error = (calibration(frame) - 1).abs()
    within = int((error <= MOST_MISCALIBRATION).sum())
    measured = f"{within} of {error.size} tables; farthest {error.max():.0%} ({error.idxmax()})"
    claim = f"mean probability within {MOST_MISCALIBRATION:.0%} of the share of rare rows"
    return Target(claim, measured, within == error.size)
