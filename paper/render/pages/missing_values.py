"""Table: ensembles with missing values."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from paper.experiments.ensembles import METHOD_NAMES
from paper.render import variants
from paper.render.page import READING, Frames, Page
from paper.render.scorecard import Score, score
from paper.render.summary import beside, over_runs, published
from paper.render.tables import crossed

SHARES = ["0.0", "0.25", "0.5", "0.75"]


def missing_values(frames: Frames, folder: Path) -> str:
    return f"""
{READING}
{crossed(_missing_summary(frames), SHARES, METHOD_NAMES, ["missing"])}

{variants.comparison(with_none_missing(frames), ("missing", "method"), _printed_missing(), SHARES, METHOD_NAMES)}

**Setup.** A random share of all values, in training, validation and test rows alike, is replaced by 0, after Time and
Amount were standardised. Trees without a limit of depth, 10 members. The row without missing values is that of the
table of ensembles, as in the paper.
"""


def _missing_summary(frames: Frames) -> pd.DataFrame:
    return beside(over_runs(with_none_missing(frames), ["missing", "method"], "aucprc"), _printed_missing())


def with_none_missing(frames: Frames) -> pd.DataFrame:
    """All shares; the row without missing values is that of the table of ensembles."""
    none = frames["ensembles"].query("dataset == 'credit-fraud' and n_members == 10").assign(missing="0.0")
    return pd.concat([none, frames["missing_values"]])


def _printed_missing() -> pd.DataFrame:
    printed = published("missing_values")
    return printed.assign(missing=printed["missing"].astype(float).astype(str))


def score_missing_values(frames: Frames) -> list[Score]:
    return [score("Missing values", _missing_summary(frames))]


MISSING_VALUES = Page(
    "missing-values", "Missing values", ["missing_values", "ensembles"], missing_values, score_missing_values
)
