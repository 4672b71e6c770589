"""The order of the examples, one style for their pictures, and thumbnails that can be read."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image
from sphinx.application import Sphinx

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


WIDEST = 2.4  # of a picture that is shown whole, for each pixel of height
NARROWEST_GAP = 4  # between two panels, in pixels
WIDTH = 800  # of a thumbnail, twice what a page shows, for sharp screens


def first_panels(picture: Image.Image) -> Image.Image:
    """The left part of a wide picture, up to the white space between two panels; any other picture itself."""
    width, height = picture.size
    if width <= WIDEST * height:
        return picture
    edges = np.flatnonzero(np.asarray(picture.convert("L")).min(axis=0) <= 250)  # columns that are not white
    gaps = [(stop - start, int(start)) for start, stop in pairwise(edges) if 0.8 * height < start < WIDEST * height]
    gap, end = max(gaps, default=(0, width))
    return picture.crop((0, 0, end + 8, height)) if gap >= NARROWEST_GAP else picture


def make_thumbnails(app: Sphinx) -> None:
    """Replace the thumbnails of sphinx-gallery, in which wide pictures are too small to read."""
    for path in sorted((Path(app.srcdir) / "gallery" / "images").glob("sphx_glr_plot_*_001.png")):
        with Image.open(path) as picture:
            part = first_panels(picture.convert("RGB"))
        part.thumbnail((WIDTH, WIDTH))
        part.save(path.parent / "thumb" / path.name.replace("_001.png", "_thumb.png"), optimize=True)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx, after sphinx-gallery."""
    app.connect("builder-inited", make_thumbnails, priority=900)
    return {"parallel_read_safe": True}
