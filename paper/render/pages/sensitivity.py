"""Figure: sensitivity to bins and hardness."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from paper.datasets import DATASETS
from paper.render import figures
from paper.render.page import Frames, Page, picture, titles, what_differs
from paper.render.summary import over_runs
from paper.render.tables import crossed

ALTERNATIVE = (
    "AUCPRC of SPE with 10 members against the number of bins, one part for each data set ({}), one curve for each "
    "hardness function with a band of one standard deviation."
)


def sensitivity(frames: Frames, folder: Path) -> str:
    figures.sensitivity(frames["sensitivity"], folder / "sensitivity.png")
    credit = frames["sensitivity"].query("dataset == 'credit-fraud'")
    bins = list(dict.fromkeys(credit["bins"]))
    summary = over_runs(credit, ["bins", "hardness"], "aucprc")
    return f"""
AUCPRC of SPE with 10 members on Credit Fraud, trees of depth 10 (the paper prints no figures for these curves). One bin
is random under-bagging.

{crossed(summary, bins, list(dict.fromkeys(credit["hardness"])), ["bins"])}

{picture("sensitivity", ALTERNATIVE.format(titles(frames["sensitivity"])))}

{_others(frames["sensitivity"])}

**Setup.** The paper does not name the base model of this figure.
"""


def _others(frame: pd.DataFrame) -> str:
    """A table for each other data set. One bin is the same under every hardness function, and is computed once."""
    parts = []
    for dataset in dict.fromkeys(frame["dataset"]):
        here = frame[frame["dataset"] == dataset]
        if dataset != "credit-fraud":
            table = crossed(
                over_runs(here, ["bins", "hardness"], "aucprc"),
                list(dict.fromkeys(here["bins"])),
                list(dict.fromkeys(here["hardness"])),
                ["bins"],
                notes={("1", name): "as absolute" for name in ("squared", "cross_entropy")},
            )
            parts.append(f"## {DATASETS[dataset].title}\n\n{what_differs([dataset])}\n\n{table}")
    return "\n\n".join(parts)


SENSITIVITY = Page("sensitivity", "Sensitivity to bins and hardness", ["sensitivity"], sensitivity)
