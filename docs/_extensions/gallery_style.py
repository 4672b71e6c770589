"""The order of the examples, and one style for their pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

# From the algorithm to decisions, and from one table to many. An example that is not listed comes last.
ORDER = [
    "plot_checkerboard_rounds.py",
    "plot_hardness_bins.py",
    "plot_csv_to_decision.py",
    "plot_categories_and_missing.py",
    "plot_blend.py",
    "plot_lightgbm_comparison.py",
    "plot_calibration.py",
    "plot_alert_budget.py",
    "plot_row_costs.py",
    "plot_time_order.py",
    "plot_explain_alert.py",
    "plot_wrong_labels.py",
    "plot_larger_than_memory.py",
    "plot_dask.py",
]
STYLE = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": "medium",
    "figure.dpi": 100,
    "grid.color": "0.9",
    "legend.frameon": False,
}


def reset(gallery_conf: dict[str, Any], fname: str) -> None:
    """Set the style before each example; sphinx-gallery has restored matplotlib's defaults."""
    plt.rcParams.update(STYLE)


class TeachingOrder:
    """The place of an example in the gallery, as sphinx-gallery asks for it."""

    def __init__(self, src_dir: str) -> None:
        self.src_dir = src_dir

    def __call__(self, filename: str) -> tuple[int, str]:
        """The place in the list, then the name."""
        name = Path(filename).name
        return (ORDER.index(name) if name in ORDER else len(ORDER)), name

    def __repr__(self) -> str:
        return "<TeachingOrder>"
