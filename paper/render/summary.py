"""Means over runs, and published figures beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

PUBLISHED = Path(__file__).parents[1] / "published"
GIVEN_UP = "given up"


def over_runs(frame: pd.DataFrame, by: Sequence[str], value: str) -> pd.DataFrame:
    """Mean, standard deviation and number of runs of a measure, indexed by settings.

    If the last setting is the method, "paired" is the mean over the runs that all methods of a comparison have: a mean
    over ten splits and a single split cannot be told apart by which is larger.
    """
    frame = frame.dropna(subset=[value])  # a cell that was given up has no measure
    grouped = frame.groupby(list(by), sort=False)[value]
    summary = pd.DataFrame({"mean": grouped.mean(), "sd": grouped.std(), "runs": grouped.count()})
    return summary.assign(paired=_paired(frame, by, value)) if len(by) > 1 else summary


def _paired(frame: pd.DataFrame, by: Sequence[str], value: str) -> pd.Series:
    *setting, method = by
    n_methods = frame.groupby(setting)[method].transform("nunique")
    n_in_run = frame.groupby([*setting, "run"])[method].transform("nunique")
    return frame[n_in_run == n_methods].groupby(list(by))[value].mean()


@cache
def published(table: str) -> pd.DataFrame:
    """A table of the paper as it was printed, all keys as text."""
    frame = pd.read_csv(PUBLISHED / f"{table}.csv")
    keys = [name for name in frame.columns if name not in ("mean", "sd")]
    return frame.astype(dict.fromkeys(keys, str))


def beside(ours: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Our summary and the published one of the same settings; what either lacks is NaN."""
    keys = list(ours.index.names)
    theirs = table.set_index(keys)[["mean", "sd"]]
    return ours.join(theirs.add_suffix("_published"), how="outer")


def given_up(frame: pd.DataFrame, by: Sequence[str]) -> dict[tuple[str, ...], str]:
    """Why cells were given up, by their settings, with the time and memory that their processes used."""
    if "given_up" not in frame:
        return {}
    cells = frame[frame["given_up"].fillna("") != ""]
    return {
        tuple(cell[name] for name in by): f"{GIVEN_UP}: {cell['given_up']}{used(cell)}"
        for cell in cells.to_dict("records")
    }


def used(cell: Mapping[str, Any]) -> str:
    """What the process of a cell used, if it had a budget: a quick pass has none."""
    seconds, peak = cell.get("processor_seconds"), cell.get("peak_gigabytes")
    return "" if pd.isna(seconds) else f", {seconds:,.0f} s of processor time and {peak:.1f} GB used"


def with_members(frame: pd.DataFrame) -> pd.DataFrame:
    """Ensembles that have results, by their number of members. A cell that was given up has no number of members."""
    return frame.dropna(subset=["n_members"]).astype({"n_members": int})


def cell(row: Any) -> str:
    """A result for reading: ours with its deviation and runs; below, the published one and the difference.

    Figures of other rows do not compare: they have no difference.
    """
    ours = with_deviation(row["mean"], row["sd"]) + f" ({int(row['runs'])})"
    if pd.isna(row.get("mean_published")):
        return ours
    theirs = with_deviation(row["mean_published"], row["sd_published"])
    if row.get("other_rows"):
        return f"{ours}<br>paper, published rows: {theirs}"
    return f"{ours}<br>paper {theirs}<br>{row['mean'] - row['mean_published']:+.3f}"


def with_deviation(mean: float, sd: float) -> str:
    """
    >>> with_deviation(0.5, 0.01), with_deviation(0.5, float("nan"))
    ('0.500 ± 0.010', '0.500')
    """
    return f"{mean:.3f}" if pd.isna(sd) else f"{mean:.3f} ± {sd:.3f}"
