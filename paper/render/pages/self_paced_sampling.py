"""Figure: self-paced under-sampling."""

from __future__ import annotations

from pathlib import Path

from paper.render import figures
from paper.render.page import Frames, Page, picture

ALTERNATIVE = (
    "Bars for 20 hardness bins: rows above and the sum of their hardness below, of all majority rows and of those "
    "drawn at three values of the self-paced factor."
)


def self_paced_sampling(frames: Frames, folder: Path) -> str:
    figures.self_paced_sampling(frames["self_paced_sampling"], folder / "self-paced-sampling.png")
    return f"""
Majority rows of Credit Fraud by hardness bin (above) and the sum of their hardness (below): all of them, and those that
are drawn for the next member at three values of the self-paced factor. At alpha = 0 every bin contributes the same
hardness, as far as it has rows; as alpha grows, the same number of rows.

{picture("self-paced-sampling", ALTERNATIVE)}

**Setup.** The paper does not say what it shows here. Ours is the first round after the warm-up on Credit Fraud,
GBDT with 10 rounds, 20 bins, mean of the runs. The hardness of the drawn rows is their number times their bin's mean.
"""


SELF_PACED_SAMPLING = Page(
    "self-paced-sampling", "Self-paced under-sampling", ["self_paced_sampling"], self_paced_sampling
)
