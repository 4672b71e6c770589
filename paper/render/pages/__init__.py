"""One page for each table and figure of the paper: ours, the published one, and what differs."""

from paper.render.pages.checkerboard import CHECKERBOARD
from paper.render.pages.ensembles import ENSEMBLES
from paper.render.pages.hardness_under_imbalance import HARDNESS_UNDER_IMBALANCE
from paper.render.pages.missing_values import MISSING_VALUES
from paper.render.pages.overlap import OVERLAP
from paper.render.pages.payments_by_time import PAYMENTS_BY_TIME
from paper.render.pages.real_world import REAL_WORLD
from paper.render.pages.resampling import RESAMPLING
from paper.render.pages.self_paced_sampling import SELF_PACED_SAMPLING
from paper.render.pages.sensitivity import SENSITIVITY
from paper.render.pages.story import STORY

# What came of it all, the tables and figures in the order of the paper, and what goes beyond it.
PAGES = [
    STORY,
    HARDNESS_UNDER_IMBALANCE,
    SELF_PACED_SAMPLING,
    CHECKERBOARD,
    OVERLAP,
    REAL_WORLD,
    RESAMPLING,
    ENSEMBLES,
    MISSING_VALUES,
    SENSITIVITY,
    PAYMENTS_BY_TIME,
]

__all__ = ["PAGES"]
