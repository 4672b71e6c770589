"""Table and figure: ensembles by the number of their members."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from paper.datasets import DATASETS
from paper.experiments.ensembles import BUDGET, FEW_SIZES, METHOD_NAMES
from paper.render import figures, variants
from paper.render.page import MEASURES, READING, Frames, Page, picture, titles, what_differs
from paper.render.scorecard import Score, score
from paper.render.summary import beside, given_up, over_runs, published, with_members
from paper.render.tables import crossed, markdown

SIZES = ["10", "20", "50"]
ALTERNATIVE = (
    "AUCPRC on the test rows against the number of members from 1 to 100, one part for each data set ({}), one curve "
    "for each method with a band of one standard deviation."
)


def ensembles(frames: Frames, folder: Path) -> str:
    frame = frames["ensembles"]
    figures.ensembles(with_members(frame), folder / "ensembles.png")
    tables = [
        f"## {title}\n\n{crossed(_ensemble_summary(frame, measure), SIZES, METHOD_NAMES, ['members'])}\n"
        for measure, title in MEASURES.items()
    ]
    return (
        READING
        + "\n"
        + "\n".join(tables)
        + f"""
{variants.comparison(_as_printed(frame), ("n_members", "method"), _printed_ensembles("aucprc"), SIZES, METHOD_NAMES)}

## Rows that all members together are trained on

{_samples(frame)}

The published counts come from a training set with 316 positives, those of SMOTEBoost and SMOTEBagging from one with
321. SMOTEBoost adds as many synthetic rows as there are positives each round after the first; SMOTEBagging's bags take
10%, 20%, ..., 100% of the rows, with synthetic ones until they are balanced. With 170,885 rows of which 321 are
positive the counts are the published ones exactly.

## From 1 to 100 members

{picture("ensembles", ALTERNATIVE.format(titles(frame)))}

{_others(frame)}

**Setup.** All members are trees without a limit of depth. Thresholds are the best on the test rows, as in the authors'
code; the files of results have the other two rules as well. AdaBoost stops when a member makes no mistake on the
training rows, as a tree without limits does. Our SMOTEBoost and RUSBoost continue, with that member's weight limited.
SMOTEBoost and SMOTEBagging are drawn up to 50 members. The paper leaves them out on Payment Simulation. We try one run,
which is given up when its process has used {BUDGET.seconds:,.0f} seconds of processor time or {BUDGET.gigabytes:g} GB.
"""
    )


def _others(frame: pd.DataFrame) -> str:
    """The curves on other data sets as tables. The paper leaves out two methods on Payment Simulation: we try them."""
    parts = []
    for dataset in dict.fromkeys(frame["dataset"]):
        rows = frame[frame["dataset"] == dataset]
        here = with_members(rows).astype({"n_members": str})
        if dataset != "credit-fraud" and len(here):
            sizes = [str(size) for size in FEW_SIZES]
            notes = {
                (size, method): text
                for (method, largest), text in given_up(rows, ["method", "size"]).items()
                for size in sizes
                if int(size) <= int(largest)
            }
            summary = over_runs(here, ["n_members", "method"], "aucprc")
            table = crossed(summary, sizes, METHOD_NAMES, ["members"], notes=notes)
            parts.append(f"### AUCPRC on {DATASETS[dataset].title}\n\n{what_differs([dataset])}\n\n{table}")
    return "\n\n".join(parts)


def _ensemble_summary(frame: pd.DataFrame, measure: str) -> pd.DataFrame:
    column = measure if measure == "aucprc" else f"{measure}_best"
    return beside(over_runs(_as_printed(frame), ["n_members", "method"], column), _printed_ensembles(measure))


def _as_printed(frame: pd.DataFrame) -> pd.DataFrame:
    """The ensembles of the sizes in the paper's table, on the data set of the table."""
    here = with_members(frame[frame["dataset"] == "credit-fraud"]).astype({"n_members": str})
    return here[here["n_members"].isin(SIZES)]


def _printed_ensembles(measure: str) -> pd.DataFrame:
    printed = published("ensembles")
    return printed[printed["metric"] == measure]


def _samples(frame: pd.DataFrame) -> str:
    ours = _as_printed(frame).groupby(["n_members", "method"])["n_training_rows"].mean()
    theirs = published("ensembles_samples").set_index(["n_members", "method"])["n_samples"].astype(int)
    rows = [
        [
            size,
            *(
                f"{ours[size, method]:,.0f}<br>paper {theirs[size, method]:,}" if (size, method) in ours else "—"
                for method in METHOD_NAMES
            ),
        ]
        for size in SIZES
    ]
    return markdown(["members", *METHOD_NAMES], rows)


def score_ensembles(frames: Frames) -> list[Score]:
    parts = {measure: _ensemble_summary(frames["ensembles"], measure) for measure in MEASURES}
    return [score("Ensembles, n = 10, 20, 50, 4 measures", pd.concat(parts))]


ENSEMBLES = Page("ensembles", "Ensembles on Credit Fraud", ["ensembles"], ensembles, score_ensembles)
