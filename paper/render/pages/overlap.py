"""Figure: training curves under overlap."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from paper.render import figures
from paper.render.page import Frames, Page, picture
from paper.render.summary import over_runs
from paper.render.tables import markdown

ALTERNATIVE = (
    "AUCPRC on the test rows against the number of members, one part for each of three covariances, with curves of "
    "Cascade and SPE and the Bayes value as a dotted line."
)


def overlap(frames: Frames, folder: Path) -> str:
    figures.overlap(frames["overlap"], folder / "overlap.png")
    last = frames["overlap"]["round"].max()
    best = _peak(frames["overlap"])
    at_end = over_runs(frames["overlap"].query("round == @last"), ["covariance", "method"], "aucprc")
    rows = [
        [
            covariance,
            method,
            f"{best[covariance, method]:.3f}",
            f"{result['mean']:.3f} ± {result['sd']:.3f}",
            f"{result['mean'] - best[covariance, method]:+.3f}",
        ]
        for (covariance, method), result in at_end.iterrows()
    ]
    header = ["covariance", "method", "highest mean of any round", f"after {last} members", "lost since"]
    return f"""
AUCPRC on the test set after each member, for trees of depth 10 (the paper prints no figures for these curves):

{markdown(header, rows)}

{picture("overlap", ALTERNATIVE)}

**Setup.** {last} members; the paper does not say how many it has. Mean and deviation of
{frames["overlap"]["run"].nunique()} runs, each with boards of its own.
"""


def _peak(frame: pd.DataFrame) -> pd.Series:
    means = over_runs(frame, ["covariance", "method", "round"], "aucprc")["mean"]
    return means.groupby(["covariance", "method"]).max()


OVERLAP = Page("overlap", "Training curves under overlap", ["overlap"], overlap)
