"""`docs/field.md`, written from the results alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import isnan
from pathlib import Path
from typing import Any

import pandas as pd

from contest.markdown import bold, table
from contest.methods import METHODS, OURS
from contest.picture import draw
from contest.runner import BUSY, RANGES
from contest.statistics import (
    DIGITS,
    ERRORS_ABOVE_NOISE,
    common_splits,
    difference,
    duel,
    failures,
    frame_of,
    given_up,
    have_run,
    lead_without_luck,
    means,
    standings,
)
from contest.targets import RARE_ROWS_FOR_RANGES, calibration, rank, rare_rows_by_score, targets

FEWEST_METHODS = 5
INTRODUCTION = """# The field: all methods on many tables with rare events

This page and its picture are written by `python benchmarks/field.py --render` from
[`field.json`](../benchmarks/results/field.json). Every method learns from the same 70% of a table's rows and is judged
by AUCPRC on the other 30%: the mean over up to 5 random stratified splits of a table below 20,000 rows and up to 3 of
a larger one. Where a table's name ends with "by-time", the last 30% are tested on. By group, and for new attacks, the
groups of the test rows (customers, kinds of attacks) are not in the training rows. No method is told the groups or the
times; what ours gains if it is told the times is [elsewhere](decisions/0024-recipes-and-blends.md). The column "splits"
counts those that have run.

Boosting libraries, CatBoost, EBM and our own ensembles read categories and missing values in their own way. Forests get
categories as numbers, the networks RealMLP and TabM medians for missing numbers. AutoGluon and FLAML get the time that
ours took on the same rows, at least 30 and 10 seconds; AutoGluon with `good_quality` has all its models but neural
networks, with `high_quality` these, too. Methods that have not run yet are not shown. The tables were chosen by rules
on their rare rows, before any method ran, and those by time and by group were sampled or generated
(`benchmarks/contest/ordered.py`).
"""


@dataclass(frozen=True)
class Findings:
    """The fits and figures of the tables on which ours and enough others have run, on the splits that ours has.

    A method has a figure of a table if it has run on all these splits: means over other splits cannot be compared.
    """

    frame: pd.DataFrame
    figures: pd.DataFrame
    failed: dict[tuple[str, str], str]
    given_up: dict[tuple[str, str], float]
    facts: pd.DataFrame
    has_run: pd.DataFrame

    @classmethod
    def of(cls, whole: dict[str, Any], methods: Sequence[str], most_splits: int | None = None) -> Findings:
        """On the first `most_splits` splits of each table, or on all."""
        frame, failed = frame_of(whole, methods), failures(whole, methods)
        if OURS in methods:
            ours = frame.loc[frame["method"] == OURS, ["table", "split"]]
            frame = frame.merge(ours, on=["table", "split"])
        if most_splits is not None:
            frame = frame[frame["split"] < most_splits]
        tried = set(frame["method"]) | {method for _, method in failed}
        figures = means(frame).reindex(columns=[name for name in methods if name in tried])
        has_run = have_run(figures, failed)
        is_whole = has_run.sum(axis=1) >= min(FEWEST_METHODS, max(1, has_run.shape[1]))
        if OURS in has_run:
            is_whole &= has_run[OURS]
        figures, has_run = figures[is_whole], has_run[is_whole]
        ranked = has_run.columns[has_run.any()]
        facts = pd.DataFrame.from_dict(whole["tables"], orient="index").reindex(figures.index)
        frame = frame[frame["table"].isin(figures.index)]
        return cls(frame, figures[ranked], failed, given_up(whole, methods), facts, has_run[ranked])

    def on(self, tables: pd.Index) -> Findings:
        """The same for some of the tables."""
        frame = self.frame[self.frame["table"].isin(tables)]
        kept = self.figures.index.intersection(tables)
        return replace(
            self,
            frame=frame,
            figures=self.figures.loc[kept],
            facts=self.facts.loc[kept],
            has_run=self.has_run.loc[kept],
        )

    @property
    def standings(self) -> pd.DataFrame:
        return standings(self.figures, self.has_run, OURS)


def write_page(whole: dict[str, Any], methods: Sequence[str], docs: Path) -> Path:
    found = Findings.of(whole, methods)
    first = Findings.of(whole, methods, most_splits=1).on(found.figures.index)
    if found.figures.empty:
        raise SystemExit("No table has figures of enough methods yet. Choose finished methods by --only-method.")
    on_most = found.standings.index[found.standings["is on most"]]
    draw(found.figures[on_most], found.standings.loc[on_most, "rank"], docs / "images" / "field.png")
    page = docs / "field.md"
    page.write_text("\n".join([INTRODUCTION, *sections(found, first)]))
    return page


def sections(found: Findings, first: Findings) -> list[str]:
    written = [
        ("", former_recipes(found)),
        ("", "![AUCPRC behind the best method of each table, and mean ranks](images/field.png)\n"),
        ("What was to be reached", target_table(found, first)),
        ("All methods", method_table(found) + "\n\n" + reading(found)),
        ("All methods on the first split", first_split(found, first)),
        ("AUCPRC by table", figure_table(found)),
        ("Ours against each method", duel_table(found)),
        ("Regret and its noise", noise_table(found)),
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


def target_table(found: Findings, first: Findings) -> str:
    words = {True: "met", False: "missed", None: "not measured"}
    reached = targets(found.frame, found.figures, found.has_run)
    if reached and only_on_the_first(found, first):
        reached.insert(1, rank(first.standings, "the same on the first split, which more methods have run on"))
    rows = [[target.claim, target.measured, words[target.met]] for target in reached]
    return table(["target", "measured", ""], rows) if rows else ""


def method_table(found: Findings) -> str:
    """Best mean rank first, methods on few tables last. Seconds are medians, so that large tables do not decide."""
    compared = found.standings
    middle = found.frame.groupby("method")[["fit_seconds", "fit_cpu_seconds", "predict_seconds"]].median()
    has_ours = OURS in found.figures
    rows = [
        [
            METHODS[name].title,
            f"`{name}`",
            f"{row['tables']:.0f}",
            f"{row['rank']:.2f}",
            *([f"{row['rank of ours']:.2f}"] if has_ours else []),
            f"{row['regret']:.4f}",
            *([f"{row['regret of ours']:.4f}"] if has_ours else []),
            f"{row['largest']:.4f}",
            f"{middle.loc[name, 'fit_seconds']:.2f}",
            f"{middle.loc[name, 'fit_cpu_seconds']:.2f}",
            f"{middle.loc[name, 'predict_seconds']:.3f}",
        ]
        for name, row in compared.iterrows()
    ]
    ours = ["ours there"] if has_ours else []
    header = ["method", "name below", "tables", "mean rank", *ours, "mean regret", *ours, "largest"]
    return table([*header, "fit s", "fit CPU s", "predict s"], rows)


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
        text += (
            f" Not run on all tables with all splits, and without a rank on the others: {names}. Their ranks and "
            'regrets can only be compared with those in the columns "ours there", which are of the same tables. '
            "Methods on fewer than half of the tables stand last."
        )
    if busy:
        text += (
            f" **{busy} of {len(found.frame)} fits ran while other processes took more than {BUSY:.0%} of the machine: "
            "their seconds by the clock are too long. Processor seconds are not.**"
        )
    return text + time_of_limited_methods(found.frame)


def time_of_limited_methods(frame: pd.DataFrame) -> str:
    """Their time is limited by the clock: on a busy machine that can be less than ours in processor seconds."""
    text = ""
    for name in METHODS:
        both = common_splits(frame, [OURS, name]) if METHODS[name].has_a_budget else frame[:0]
        if not both.empty:
            seconds = both.set_index(["method", "table", "split"])["fit_cpu_seconds"].sort_index()
            fewer = int((seconds[name] < seconds[OURS]).sum())
            text += f" `{name}` had fewer processor seconds than ours on {fewer} of {len(seconds[OURS])} fits."
    return text


def only_on_the_first(found: Findings, first: Findings) -> list[str]:
    """Methods that have run on the first split of a table, and lack others that ours has."""
    more = first.has_run.sum() > found.has_run.reindex(columns=first.has_run.columns, fill_value=False).sum()
    return list(more.index[more])


def first_split(found: Findings, first: Findings) -> str:
    """All methods where all can be compared, if some have run on the first split alone."""
    few = only_on_the_first(found, first)
    if not few:
        return ""
    names = ", ".join(f"`{name}`" for name in few)
    with_few = first.figures.index[first.figures[few].notna().any(axis=1)]
    rows = [_of_first_split(first, name, few) for name in with_few]
    return (
        f"On some tables, {names} have run on the first split alone. Here all methods are compared on that split: no "
        "figure is a mean over splits that another one lacks. Seconds are of a method's own fits: of few tables, if it "
        f"has run on few.\n\n{method_table(first)}\n\nAUCPRC on the first split, "
        "where one of them has run, with ours and the best of all other methods:\n\n"
        + table(["table", OURS, *few, "best other"], rows)
    )


def _of_first_split(first: Findings, table_name: str, few: Sequence[str]) -> list[str]:
    figures = first.figures.loc[table_name]
    others = figures.drop([OURS, *few], errors="ignore").dropna()
    best = f"{figures.max():.3f}"
    shown = ["—" if isnan(value) else f"{value:.3f}" for value in figures.reindex([OURS, *few])]
    shown = [bold(text, text == best) for text in shown]
    if others.empty:
        return [table_name, *shown, "—"]
    other = f"{others.max():.3f}"
    return [table_name, *shown, f"{bold(other, other == best)} {others.idxmax()}"]


def figure_table(found: Findings) -> str:
    """The best of each table is bold, with all that are equal to it by the digits shown."""
    shown = found.figures.round(3)
    best = shown.max(axis=1)
    splits = found.frame.groupby("table")["split"].nunique()
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
    with_fits = set(found.frame["method"])
    duels = {name: duel(found.frame, OURS, name) for name in METHODS if name in with_fits and name != OURS}
    rows = [
        [
            METHODS[other].title,
            f"{one.tables}",
            f"{one.splits}",
            f"{one.ahead} / {one.equal} / {one.behind}",
            f"{one.wins} / {one.ties} / {one.losses}",
            f"{one.mean_difference:+.4f}",
            f"{one.p:.2g}",
        ]
        for other, one in duels.items()
    ]
    header = ["against", "tables", "splits", "ahead / equal / behind", "wins / ties / losses", "mean difference", "p"]
    return table(header, rows) + (
        "\n\nOn the splits that both have. Tables where our mean is higher, equal or lower; then tables with a "
        "significant difference at 5% by the corrected resampled t-test over the splits (Nadeau and Bengio, 2003). In "
        "the order of time there is no other split, so that table is a tie, and so is a table with fewer than three "
        "splits. p is that of Wilcoxon's signed-rank test over all tables."
    )


def noise_table(found: Findings) -> str:
    """Ours against the best alternative of every table, the largest regret first, each with its standard error."""
    others = found.figures.drop(columns=OURS, errors="ignore")
    if OURS not in found.figures or others.empty:
        return ""
    best = others.idxmax(axis=1)
    by_table = {name: difference(rows, OURS, best[name]) for name, rows in found.frame.groupby("table")}
    without_luck = {name: lead_without_luck(rows, OURS) for name, rows in found.frame.groupby("table")}
    rows = [
        [
            name,
            f"{found.facts.loc[name, 'rare']:,}",
            f"{found.figures.loc[name, OURS]:.4f}",
            METHODS[best[name]].title,
            f"{others.loc[name, best[name]]:.4f}",
            f"{one.mean:+.4f}",
            "not known" if one.noise_from is None else f"{one.error:.4f}",
            one.noise_from or "",
            bold("behind" if one.mean < 0 else "ahead", one.mean < 0) if one.is_above_the_noise else "",
            "" if without_luck[name] is None else f"{without_luck[name]:+.4f}",
        ]
        for name, one in sorted(by_table.items(), key=lambda item: item[1].mean)
    ]
    behind = [one for one in by_table.values() if one.mean < 0]
    known = [round(lead, DIGITS) for lead in without_luck.values() if lead is not None]
    text = (
        f"Another method has a higher figure on {len(behind)} of {len(by_table)} tables, on "
        f"{sum(one.is_above_the_noise for one in behind)} of them by more than {ERRORS_ABOVE_NOISE} standard errors of "
        "the difference. The error is that of the mean over the splits, which share training rows (Nadeau and Bengio, "
        "2003). Where fewer than three splits have run, and in the order of time, the test rows were drawn again "
        "(groups where rows are in groups): that leaves out how much depends on the training rows, and takes rows for "
        "independent, so it is too small. A method that lacks splits of a table cannot be its best here.\n\n"
    )
    if known:
        text += (
            "The best of many methods is partly lucky. The last column compares ours on each split with the method "
            f"that is best on the other splits: ours is behind it on {sum(lead < 0 for lead in known)} of {len(known)} "
            f"tables, and the mean difference is {sum(known) / len(known):+.4f}.\n\n"
        )
    header = ["table", "rare rows", "ours", "best other", "its AUCPRC", "difference", "standard error", "from"]
    return text + table([*header, "above the noise", "to the best on other splits"], rows)


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
    here = [
        (table, method)
        for table, method in found.failed
        if table in found.figures.index and method in found.figures and pd.isna(found.figures.loc[table, method])
    ]
    reasons = [(table, method, found.failed[table, method]) for table, method in here]
    reasons += [
        (table, method, f"given up after {seconds:g} s of processor time for one fit; it has no rank there")
        for (table, method), seconds in found.given_up.items()
        if table in found.figures.index
    ]
    return "\n".join(f"- {table}: {METHODS[method].title}: {reason}" for table, method, reason in reasons)


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
