"""Table and pictures: the checkerboard."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from paper.experiments.checkerboard import BASE_MODELS, SIX_METHODS
from paper.render import pictures, variants
from paper.render.page import READING, Frames, Page, picture
from paper.render.scorecard import Score, score
from paper.render.summary import beside, over_runs, published
from paper.render.tables import crossed

METHODS_DRAWN = "Five methods in columns: the training sets of the 5th and 10th member, and a map of the probabilities."


def checkerboard(frames: Frames, folder: Path) -> str:
    frame = frames["checkerboard"]
    pictures.data(folder / "checkerboard.png")
    pictures.training_and_probabilities(folder / "checkerboard-methods.png")
    return f"""
{READING}
**The limit:** the true probabilities of the mixture reach {_bayes(frame)} on the same test sets. No model can be
expected above it; a published cell above it owes that to its test set.

## AUCPRC of probabilities

{_crossed_checkerboard(frame)}

{variants.comparison(frame, ("model", "method"), published("checkerboard"), BASE_MODELS, SIX_METHODS)}

{picture("checkerboard", "Points of sixteen Gaussians on a grid of four by four, whose colours alternate.")}

## What members are trained on

Training sets of the 5th and the 10th member, and the probabilities of the whole, for trees of depth 10.

{picture("checkerboard-methods", METHODS_DRAWN)}

**Setup.** Training, validation and test set are drawn anew in each run, so our deviations include that of the test
set; the published ones are too small to. SVM has an RBF kernel and is ranked by its decision function (members of an
ensemble by its logistic function). AdaBoost boosts trees of depth 10. The paper's MLP is PyTorch's with unknown
training; ours is scikit-learn's on standardised features. Easy with a base model other than AdaBoost is under-bagging
of that model. GBDT stops early on the validation rows.
"""


def _bayes(frame: pd.DataFrame) -> str:
    by_run = frame.groupby("run")["bayes"].first()
    return f"an AUCPRC of {by_run.mean():.3f} ± {by_run.std():.3f}" if len(by_run) > 1 else f"{by_run.mean():.3f}"


def _crossed_checkerboard(frame: pd.DataFrame) -> str:
    summary = beside(over_runs(frame, ["model", "method"], "aucprc"), published("checkerboard"))
    return crossed(summary, BASE_MODELS, SIX_METHODS, ["AUCPRC"])


def score_checkerboard(frames: Frames) -> list[Score]:
    summary = over_runs(frames["checkerboard"], ["model", "method"], "aucprc")
    return [score("Checkerboard", beside(summary, published("checkerboard")))]


CHECKERBOARD = Page("checkerboard", "Checkerboard", ["checkerboard"], checkerboard, score_checkerboard)
