"""The field in one picture: how far each method is behind the best, on every table."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from contest.methods import AUTOGLUON, METHODS, OURS, TUNED
from contest.statistics import regrets

COLOURS = {OURS: "#cc3311", TUNED: "#4477aa", AUTOGLUON: "#228833"}
OTHERS = "#bbbbbb"


def draw(figures: pd.DataFrame, mean_ranks: pd.Series, path: Path) -> Path:
    """To the left the regret on every table, a dot for each method; to the right the mean ranks."""
    drawing = Figure(figsize=(11, 2 + 0.24 * len(figures)), layout="constrained")
    left, right = drawing.subplots(1, 2, width_ratios=[3, 2])
    _draw_regrets(left, regrets(figures))
    drawing.legend(loc="outside upper left", ncols=4, frameon=False, fontsize=8)
    _draw_ranks(right, mean_ranks.sort_values(ascending=False))
    path.parent.mkdir(parents=True, exist_ok=True)
    drawing.savefig(path, dpi=110, metadata={"Software": f"matplotlib {mpl.__version__}"})
    return path


def _draw_regrets(axes: mpl.axes.Axes, behind: pd.DataFrame) -> None:
    behind = behind.loc[behind.max(axis=1).sort_values().index]
    places = np.arange(len(behind))
    for method in sorted(behind, key=lambda name: name in COLOURS):
        colour = COLOURS.get(method, OTHERS)
        label = METHODS[method].title if method in COLOURS else None
        axes.scatter(behind[method], places, s=26 if method in COLOURS else 12, color=colour, label=label, zorder=2)
    axes.set(yticks=places, yticklabels=behind.index, xlabel="AUCPRC behind the best method of the table")
    axes.set_xscale("symlog", linthresh=0.01)
    axes.set_xlim(left=-0.001)
    axes.margins(y=0.01)
    axes.grid(axis="y", color="#eeeeee", zorder=1)
    axes.tick_params(labelsize=8)
    axes.scatter([], [], s=12, color=OTHERS, label="other methods")


def _draw_ranks(axes: mpl.axes.Axes, mean_ranks: pd.Series) -> None:
    colours = [COLOURS.get(method, OTHERS) for method in mean_ranks.index]
    titles = [METHODS[method].title for method in mean_ranks.index]
    bars = axes.barh(titles, mean_ranks, color=colours)
    axes.bar_label(bars, fmt="%.1f", padding=3, fontsize=8)
    axes.set(xlabel="mean rank over the tables, 1 is best")
    axes.margins(y=0.01)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
