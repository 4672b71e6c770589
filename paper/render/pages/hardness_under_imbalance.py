"""Figure: hardness under growing imbalance."""

from __future__ import annotations

from pathlib import Path

from paper.render import figures
from paper.render.page import Frames, Page, picture
from paper.render.tables import markdown

ALTERNATIVE = (
    "For disjoint and for overlapped Gaussians: the points, and histograms of the hardness of rows under KNN and "
    "AdaBoost at three ratios of imbalance."
)


def hardness(frames: Frames, folder: Path) -> str:
    figures.hardness_under_imbalance(frames["hardness_under_imbalance"], folder / "hardness-under-imbalance.png")
    hard = frames["hardness_under_imbalance"].query("bin >= 5")
    counts = hard.groupby(["data", "imbalance", "model"], sort=False)["rows"].sum()
    runs = frames["hardness_under_imbalance"]["run"].nunique()
    settings = list(dict.fromkeys((data, model) for data, _, model in counts.index))
    imbalances = list(dict.fromkeys(imbalance for _, imbalance, _ in counts.index))
    rows = [
        [data, model, *(f"{counts[data, imbalance, model] / runs:.0f}" for imbalance in imbalances)]
        for data, model in settings
    ]
    table = markdown(["data", "model", *(f"{imbalance}:1" for imbalance in imbalances)], rows)
    return f"""
Rows with a hardness |F(x) - y| of at least 0.5, that is misclassified ones, among fresh rows of the same distribution,
when the majority grows and the 100 minority rows stay (mean of {runs} runs):

{table}

{picture("hardness-under-imbalance", ALTERNATIVE)}

**Setup.** The paper gives neither the Gaussians nor the sizes: ours are one centre for each class four units apart in
both directions, or three of each close together, all with a standard deviation of 0.5. Hardness is measured on fresh
rows; on the training rows a boosted tree has none.
"""


HARDNESS_UNDER_IMBALANCE = Page(
    "hardness-under-imbalance", "Hardness under growing imbalance", ["hardness_under_imbalance"], hardness
)
