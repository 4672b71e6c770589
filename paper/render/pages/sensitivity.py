"""Figure: sensitivity to bins and hardness."""

from __future__ import annotations

from pathlib import Path

from paper.render import figures
from paper.render.page import Frames, Page
from paper.render.summary import over_runs
from paper.render.tables import crossed


def sensitivity(frames: Frames, folder: Path) -> str:
    figures.sensitivity(frames["sensitivity"], folder / "sensitivity.png")
    credit = frames["sensitivity"].query("dataset == 'credit-fraud'")
    bins = list(dict.fromkeys(credit["bins"]))
    summary = over_runs(credit, ["bins", "hardness"], "aucprc")
    return f"""
AUCPRC of SPE with 10 members on Credit Fraud, trees of depth 10 (the paper prints no figures for these curves). One bin
is random under-bagging.

{crossed(summary, bins, list(dict.fromkeys(credit["hardness"])), ["bins"])}

![AUCPRC by bins and hardness](sensitivity.png)

The right part is of generated rows, not of the published data set, with GBDT of 10 rounds.

**Setup.** The paper does not name the base models of this figure.
"""


SENSITIVITY = Page("sensitivity", "Sensitivity to bins and hardness", ["sensitivity"], sensitivity)
