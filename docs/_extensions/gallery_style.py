"""How the pictures of the gallery look: one style for all of them."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt

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
