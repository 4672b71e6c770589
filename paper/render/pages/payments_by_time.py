"""Beyond the paper: payments without the step, and split by time."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from paper.datasets import DATASETS
from paper.experiments.payments_by_time import METHOD_NAMES, VARIANTS
from paper.render.page import Frames, Page, what_differs
from paper.render.summary import over_runs
from paper.render.tables import crossed, markdown

AT_RANDOM = "at random"
MEASURES = {"aucprc": "AUCPRC", "f1_validation": "F1 at the threshold that is best on the validation rows"}


def with_the_table(frames: Frames) -> pd.DataFrame:
    """The variants, and beside them the cells of the table of real-world tasks: at random, with the step."""
    variants, table = frames["payments_by_time"], frames["real_world"]
    here = (
        table["dataset"].isin(variants["dataset"]) & (table["model"] == "GBDT10") & table["method"].isin(METHOD_NAMES)
    )
    both = pd.concat([table[here].assign(variant=AT_RANDOM), variants])
    return both.sort_values("variant", key=lambda names: names.map([AT_RANDOM, *VARIANTS].index), kind="stable")


def payments_by_time(frames: Frames, folder: Path) -> str:
    frame = with_the_table(frames)
    parts = [_dataset(frame[frame["dataset"] == dataset], dataset) for dataset in dict.fromkeys(frame["dataset"])]
    return (
        "\n".join(parts)
        + """
**Setup.** GBDT10 with 10 members. "Without step" leaves out the hour of a payment, which a model cannot use for later
payments. "By time" trains on the first 60% of the payments, validates on the next 20% and tests on the last 20%.
Payments of one hour stay together. A split by time is the same in all runs, which then differ by the seeds of the
methods alone. Scores at random reach an AUCPRC that is the share of frauds among the test rows.
"""
    )


def _dataset(frame: pd.DataFrame, dataset: str) -> str:
    tables = [
        f"### {title}\n\n"
        + crossed(over_runs(frame, ["variant", "method"], measure), [AT_RANDOM, *VARIANTS], METHOD_NAMES, ["split"])
        for measure, title in MEASURES.items()
    ]
    counts = frame.dropna(subset=["n_test_rows"]).groupby("variant", sort=False)[["n_test_rows", "n_test_positives"]]
    lines = [
        [variant, f"{rows:,.0f}", f"{positives:,.0f}", f"{positives / rows:.4f}"]
        for variant, rows, positives in counts.mean().itertuples(name=None)
    ]
    test_rows = markdown(["split", "test rows", "frauds among them", "share"], lines)
    return "\n\n".join([f"## {DATASETS[dataset].title}", what_differs([dataset]), *tables, test_rows]) + "\n"


PAYMENTS_BY_TIME = Page(
    "payments-by-time", "Payments without the step, and by time", ["payments_by_time", "real_world"], payments_by_time
)
