"""`docs/field.md`, written from the results alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isnan
from pathlib import Path
from typing import Any

import pandas as pd

from contest.markdown import bold, table
from contest.methods import METHODS, OURS
from contest.picture import draw
from contest.runner import BUSY, RANGES
from contest.statistics import duel, failures, frame_of, have_run, means, ranks, regrets
from contest.targets import RARE_ROWS_FOR_RANGES, calibration, rare_rows_by_score, targets

FEWEST_METHODS = 5
INTRODUCTION = """# The field: all methods on many tables with rare events

This page and its picture are written by `python benchmarks/field.py --render` from
[`field.json`](../benchmarks/results/field.json). Every method learns from the same 70% of a table's rows and is judged
by AUCPRC on the other 30%: the mean over up to 5 random stratified splits of a table below 20,000 rows and up to 3 of
a larger one. Where a table's name ends with "by-time", the last 30% are tested on. By group, and for new attacks, the
groups of the test rows (customers, kinds of attacks) are not in the training rows, and no method is told the groups.
The column "splits" counts those that have run.

Boosting libraries, CatBoost and our own ensembles read categories and missing values in their own way. Forests get
categories as numbers. AutoGluon and FLAML get the time that ours took on the same rows, at least 30 and 10 seconds;
AutoGluon has all its models but neural networks. The tables were chosen by rules on their rare rows, before any method
ran, and those by time and by group were sampled or generated (`benchmarks/contest/ordered.py`).
"""


@dataclass(frozen=True)
class Findings:
    """The fits and figures of the tables on which ours and enough others have run, on the splits that ours has."""

    frame: pd.DataFrame
    figures: pd.DataFrame
    failed: dict[tuple[str, str], str]
    facts: pd.DataFrame
    has_run: pd.DataFrame

    @classmethod
    def of(cls, whole: dict[str, Any], methods: Sequence[str]) -> Findings:
        frame, failed = frame_of(whole, methods), failures(whole, methods)
        if OURS in methods:
            ours = frame.loc[frame["method"] == OURS, ["table", "split"]]
            frame = frame.merge(ours, on=["table", "split"])
        tried = set(frame["method"]) | {method for _, method in failed}
        figures = means(frame).reindex(columns=[name for name in methods if name in tried])
        has_run = have_run(figures, failed)
        is_whole = has_run.sum(axis=1) >= min(FEWEST_METHODS, max(1, has_run.shape[1]))
        if OURS in has_run:
            is_whole &= has_run[OURS]
        # A method that has not finished all splits of a table is waited for.
        begun = pd.crosstab(frame["table"], frame["method"]).reindex_like(figures).fillna(0) > 0
        is_whole &= ~(begun & ~has_run).any(axis=1)
        figures, has_run = figures[is_whole], has_run[is_whole]
        facts = pd.DataFrame.from_dict(whole["tables"], orient="index").reindex(figures.index)
        return cls(frame[frame["table"].isin(figures.index)], figures, failed, facts, has_run)


def write_page(whole: dict[str, Any], methods: Sequence[str], docs: Path) -> Path:
    found = Findings.of(whole, methods)
    if found.figures.empty:
        raise SystemExit("No table has figures of enough methods yet. Choose finished methods by --only-method.")
    draw(found.figures, ranks(found.figures, found.has_run), docs / "images" / "field.png")
    page = docs / "field.md"
    page.write_text("\n".join([INTRODUCTION, *sections(found)]))
    return page


def sections(found: Findings) -> list[str]:
    written = [
        ("", former_recipes(found)),
        ("", "![AUCPRC behind the best method of each table, and mean ranks](images/field.png)\n"),
        ("What was to be reached", target_table(found)),
        ("All methods", method_table(found)),
        ("AUCPRC by table", figure_table(found)),
        ("Ours against each method", duel_table(found)),
        ("Where we lose", losses(found)),
        ("Calibration", calibration_text(found)),
        ("Not possible", failure_list(found)),
        ("The tables", table_list(found)),
    ]
    return [f"## {title}\n\n{text}\n" if title else text for title, text in written if text]


def former_recipes(found: Findings) -> str:
    """Which figures of ours are older than its present recipes. Rare rows by ranges of scores came with these."""
    ours = found.frame[found.frame["method"] == OURS]
    former = sorted(set(ours.loc[ours["by_score"].isna(), "table"]))
    if not former:
        return ""
    return (
        f"**On {len(former)} of {len(found.figures)} tables ours was measured with its former recipes**, which had "
        "more members: on all that have no rare rows by ranges of scores below. Its figures and seconds there are "
        "those of the former recipes, and are to be measured again.\n"
    )


def target_table(found: Findings) -> str:
    words = {True: "met", False: "missed", None: "not measured"}
    mean_ranks = ranks(found.figures, found.has_run).mean()
    reached = targets(found.frame, found.figures, mean_ranks)
    rows = [[target.claim, target.measured, words[target.met]] for target in reached]
    return table(["target", "measured", ""], rows) if rows else ""


def method_table(found: Findings) -> str:
    """Best mean rank first. Seconds are medians over all fits, so that large tables do not decide alone."""
    mean_ranks = ranks(found.figures, found.has_run).mean().sort_values()
    n_tables, behind = found.has_run.sum(), regrets(found.figures)
    middle = found.frame.groupby("method")[["fit_seconds", "fit_cpu_seconds", "predict_seconds"]].median()
    rows = [
        [
            METHODS[name].title,
            f"`{name}`",
            str(n_tables[name]),
            f"{mean_ranks[name]:.2f}",
            f"{behind[name].mean():.4f}",
            f"{behind[name].max():.4f}",
            f"{middle.loc[name, 'fit_seconds']:.2f}",
            f"{middle.loc[name, 'fit_cpu_seconds']:.2f}",
            f"{middle.loc[name, 'predict_seconds']:.3f}",
        ]
        for name in mean_ranks.index
    ]
    header = [
        "method",
        "name below",
        "tables",
        "mean rank",
        "mean regret",
        "largest",
        "fit s",
        "fit CPU s",
        "predict s",
    ]
    return table(header, rows) + "\n\n" + reading(found)


def reading(found: Findings) -> str:
    busy = int((found.frame["busy_share"] > BUSY).sum())
    threads = " or ".join(map(str, sorted(found.frame["threads"].unique())))
    text = (
        f"Over {len(found.figures)} tables. The regret is the AUCPRC that a method is behind the best of a table. "
        "Equal figures, by four digits, share their rank. Seconds are the median over all fits, by the clock and of "
        f"the processor, in {threads} thread(s)."
    )
    absent = [name for name in found.figures if not found.has_run[name].all()]
    if absent:
        names = ", ".join(f"`{name}`" for name in absent)
        text += f" Not run on all tables, and without a rank on the others: {names}."
    if busy:
        text += (
            f" **{busy} of {len(found.frame)} fits ran while other processes took more than {BUSY:.0%} of the machine: "
            "their seconds by the clock are too long. Processor seconds are not.**"
        )
    return text


def figure_table(found: Findings) -> str:
    """The best of each table is bold, with all that are equal to it by the digits shown."""
    shown = found.figures.round(3)
    best = shown.max(axis=1)
    splits = found.frame.groupby(["table", "method"])["split"].nunique().groupby("table").min()
    rows = [
        [
            name,
            f"{facts['rows']:,}",
            f"{facts['rare']:,}",
            str(splits[name]),
            *("—" if isnan(value) else bold(f"{value:.3f}", value == best[name]) for value in shown.loc[name]),
        ]
        for name, facts in found.facts.iterrows()
    ]
    return table(["table", "rows", "rare", "splits", *found.figures.columns], rows)


def duel_table(found: Findings) -> str:
    if OURS not in found.figures:
        return ""
    others = [name for name in found.figures if name != OURS]
    duels = {other: duel(found.frame, OURS, other) for other in others}
    rows = [
        [
            METHODS[other].title,
            f"{one.ahead} / {one.equal} / {one.behind}",
            f"{one.wins} / {one.ties} / {one.losses}",
            f"{one.mean_difference:+.4f}",
            f"{one.p:.2g}",
        ]
        for other, one in duels.items()
    ]
    header = ["against", "ahead / equal / behind", "wins / ties / losses", "mean difference", "p"]
    return table(header, rows) + (
        "\n\nTables where our mean is higher, equal or lower; then tables with a significant difference at 5% by the "
        "corrected resampled t-test over the splits (Nadeau and Bengio, 2003). In the order of time there is no other "
        "split, so that table is a tie. p is that of Wilcoxon's signed-rank test over all tables."
    )


def losses(found: Findings) -> str:
    """Every table where another method has a higher figure, the largest difference first."""
    if OURS not in found.figures:
        return ""
    behind = regrets(found.figures)[OURS].fillna(found.figures.max(axis=1)).sort_values(ascending=False)
    best = found.figures.idxmax(axis=1)
    rows = [
        [
            name,
            f"{found.facts.loc[name, 'rare']:,}",
            f"{found.figures.loc[name, OURS]:.4f}",
            METHODS[best[name]].title,
            f"{found.figures.loc[name, best[name]]:.4f}",
            f"{by:.4f}",
        ]
        for name, by in behind[behind > 0].items()
    ]
    if not rows:
        return "No method has a higher figure on any table."
    text = f"Another method has a higher figure on {len(rows)} of {len(behind)} tables:\n\n"
    return text + table(["table", "rare rows", "ours", "best", "its AUCPRC", "behind"], rows)


def calibration_text(found: Findings) -> str:
    if OURS not in found.figures:
        return ""
    ratios = calibration(found.frame)
    text = "Our mean probability of the test rows / their share of rare rows; 1 is right.\n\n"
    text += table(["table", "ratio"], [[name, f"{ratio:.3f}"] for name, ratio in ratios.items()])
    by_range = rare_rows_by_score(found.frame)
    if by_range.empty:
        return text
    names = [f"below {RANGES[0]:g}", *(f"{one:g} to {other:g}" for one, other in pairwise(RANGES))]
    rows = [[name, *(f"{one:.0f} / {other}" for one, other in by_range[name])] for name in by_range.index]
    return (
        f"{text}\n\nThe same by ranges of scores, on tables with at least {RARE_ROWS_FOR_RANGES} rare test rows: rare "
        "rows expected / found, the sum over all splits.\n\n"
    ) + table(["table", *names, f"above {RANGES[-1]:g}"], rows)


def failure_list(found: Findings) -> str:
    here = [key for key in found.failed if key[0] in found.figures.index and pd.isna(found.figures.loc[key])]
    return "\n".join(f"- {table}: {METHODS[method].title}: {found.failed[table, method]}" for table, method in here)


def table_list(found: Findings) -> str:
    rows = [
        [
            name,
            facts["source"],
            f"{(facts['rows'] - facts['rare']) / facts['rare']:.0f}",
            *(f"{facts[count]:,}" for count in ("features", "categorical", "missing_values")),
        ]
        for name, facts in found.facts.iterrows()
    ]
    return table(["table", "source", "common rows for a rare one", "features", "categorical", "missing values"], rows)
