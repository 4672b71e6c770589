"""The paper's claims one by one, and what our runs say, with paired tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from paper.datasets import DATASETS
from paper.experiments.ensembles import BY_DISTANCE as CURVES_BY_DISTANCE
from paper.experiments.ensembles import METHOD_NAMES as ENSEMBLES
from paper.experiments.real_world import BY_DISTANCE as TABLES_BY_DISTANCE
from paper.experiments.real_world import MORE_MODELS
from paper.render.page import Frames, Page
from paper.render.pages.missing_values import SHARES, with_none_missing
from paper.render.pages.payments_by_time import with_the_table
from paper.render.paired import FEWEST_RUNS, LEVEL, SHARED, Comparison, comparisons, paired_t
from paper.render.summary import GIVEN_UP, given_up, over_runs, published, used, with_members
from paper.render.tables import markdown

RANDOM = {"Easy", "UnderBagging"}
PRINTED_SIZES = {10, 20, 50}
SIZE_COMPARED = 10
ENOUGH_BINS = 10
PAPERS_BINS = 20

# What a claim comes to in one sentence, and the section about it.
Finding = tuple[str, str]
Section = Callable[[Frames, Sequence[Comparison]], Finding]


def story(frames: Frames, folder: Path) -> str:
    every = list(all_comparisons(frames))
    found = {title: text(frames, every) for title, text in CLAIMS.items()}
    parts = "\n\n".join(f"## {title}\n\n{text.strip()}" for title, (_, text) in found.items())
    short = markdown(["claim", "what our runs say"], [[title, sentence] for title, (sentence, _) in found.items()])
    return f"""
Each claim of the paper, and what our runs say about it. Everything on this page is computed from the files in
`results/`. Data sets that are not the paper's have names of their own: 10% file, FEBRL pairs, PaySim simulated again.

**How it is tested.** Methods are compared on the runs that both have, by AUCPRC. Runs are random splits, which share
rows. The t-test is therefore the corrected one of Nadeau and Bengio, which adds {SHARED:.2f} (test rows per training
row) to 1/runs. On the checkerboard, whose rows are drawn anew, it is the plain one. Two deviations are compared by the
paired test of Pitman and Morgan. "Clear" means p < {LEVEL:g}, without a correction for the number of tests: of 100
comparisons without any difference, about 5 are clear by chance. With fewer than {FEWEST_RUNS} runs nothing is tested.
Three runs are few: only large differences are clear.

## In short

{short}

{parts}
"""


def all_comparisons(frames: Frames) -> Iterator[Comparison]:
    """SPE against the rivals of every table that has results."""
    if len(board := frames["checkerboard"]):
        yield from comparisons("Checkerboard", board, ["model"], shared=0)
    for dataset, rows in _by_dataset(frames["real_world"]):
        yield from comparisons(f"Real-world tasks: {DATASETS[dataset].title}", rows, ["model"])
    if len(resampling := frames["resampling"]):
        yield from comparisons("Re-sampling on Credit Fraud", resampling, ["model"])
    for dataset, rows in _by_dataset(frames["ensembles"]):
        rows = with_members(rows)
        printed = rows[rows["n_members"].isin(PRINTED_SIZES)]
        yield from comparisons(f"Ensembles of trees: {DATASETS[dataset].title}", printed, ["n_members"])
    if len(frames["missing_values"]):
        yield from comparisons("Missing values in Credit Fraud", frames["missing_values"], ["missing"])


def _by_dataset(frame: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    for dataset in dict.fromkeys(frame["dataset"]) if len(frame) else []:
        yield dataset, frame[frame["dataset"] == dataset]


# The claims


def best(frames: Frames, every: Sequence[Comparison]) -> Finding:
    settings = {(each.table, each.setting): _nearest_rival(every, each) for each in every}
    ahead = sum(rival.difference >= 0 for rival in settings.values())
    lost = [rival for rival in settings.values() if _is_clear(rival) and rival.difference < 0]
    names = [f"- {each.table}, {each.setting}: {each.rival} is ahead by {-each.difference:.3f}" for each in lost]
    tested, better, worse = _tested(every)
    short = (
        f"Of {tested} tested comparisons, SPE is clearly better in {better} and clearly worse in {worse}. It has the "
        f"best mean in {ahead} of {len(settings)} settings."
    )
    return (
        short,
        f"""
*SPE outperforms all other methods on every data set and with every base model.*

{_counts(every)}

Against the best rival of each setting, SPE has the higher mean in {ahead} of {len(settings)} settings. The best rival
is chosen by the same runs, which favours the rival. It is clearly ahead of SPE in {len(lost)} of them:

{_lines(names)}

{_nearest(settings.values())}
""",
    )


def _nearest_rival(every: Sequence[Comparison], setting: Comparison) -> Comparison:
    rivals = [each for each in every if (each.table, each.setting) == (setting.table, setting.setting)]
    return min(rivals, key=lambda each: each.difference)


def _nearest(rivals: Iterable[Comparison]) -> str:
    lines = [
        [each.table, each.setting, each.rival, str(each.runs), f"{each.difference:+.3f}", _p(each.p_mean)]
        for each in rivals
    ]
    return markdown(["table", "setting", "best rival", "runs", "SPE minus rival", "p"], lines)


def fewer_rows(frames: Frames, every: Sequence[Comparison]) -> Finding:
    lines, sentences = [], []
    for dataset, rows in _by_dataset(frames["ensembles"]):
        ten = rows[rows["n_members"] == SIZE_COMPARED]
        found = ten.groupby("method")["n_training_rows"].mean().reindex(ENSEMBLES).dropna()
        for method in found.index.drop("SPE", errors="ignore"):
            ratio = found[method] / found["SPE"]
            difference = _difference(
                every, f"Ensembles of trees: {DATASETS[dataset].title}", str(SIZE_COMPARED), method
            )
            title = DATASETS[dataset].title
            lines.append([title, method, f"{found[method]:,.0f}", f"{ratio:,.1f}", difference])
            if ratio > 1:
                sentences.append(f"{title}: {method} trains on {ratio:,.0f} times the rows, SPE minus it {difference}")
    short = "; ".join(sentences) + "."
    return (
        short,
        f"""
*SPE is competitive with over-sampling ensembles and trains on far fewer rows (around 1/300).*

Rows of all {SIZE_COMPARED} members together:

{markdown(["data set", "rival", "rows of the rival", "times those of SPE", "AUCPRC, SPE minus rival"], lines)}
""",
    )


def robust(frames: Frames, every: Sequence[Comparison]) -> Finding:
    lines = []
    for dataset, rows in _by_dataset(frames["sensitivity"]):
        rows = rows.assign(bins=rows["bins"].astype(int))
        by_run = rows.pivot_table(index="run", columns=["bins", "hardness"], values="aucprc").dropna()
        means = by_run[[key for key in by_run if key[0] >= ENOUGH_BINS]].mean()
        if not len(means):
            continue
        high, low = means.idxmax(), means.idxmin()
        one, twenty = by_run[1, "absolute"], by_run[PAPERS_BINS, "absolute"]
        lines.append(
            [
                DATASETS[dataset].title,
                str(len(by_run)),
                f"{means[high]:.3f} ({high[0]} bins, {high[1]})",
                f"{means[low]:.3f} ({low[0]} bins, {low[1]})",
                f"{means[high] - means[low]:.3f}",
                f"{by_run[high].std():.3f}" if len(by_run) > 1 else "—",
                _with_p((twenty - one).mean(), paired_t(twenty - one, SHARED)),
            ]
        )
    header = ["data set", "runs", "best", "worst", "range", "sd over runs", f"{PAPERS_BINS} bins minus 1 bin"]
    short = "; ".join(
        f"{title}: the means of the settings differ by {gap}, "
        + (f"with a deviation of {sd} over {runs} runs" if runs != "1" else "in one run")
        for title, runs, _, _, gap, sd, _ in lines
    )
    short += "."
    return (
        short,
        f"""
*SPE is robust to the number of bins k and to the hardness function; a small k, such as k < 10, may be poor.*

Means over runs of the settings with at least {ENOUGH_BINS} bins and any of three hardness functions. One bin is random
under-sampling.

{markdown(header, lines)}
""",
    )


def stable(frames: Frames, every: Sequence[Comparison]) -> Finding:
    tested = [each for each in every if not np.isnan(each.p_deviation)]
    lines = []
    for table in dict.fromkeys(each.table for each in tested):
        here = [each for each in tested if each.table == table]
        clear = [each for each in here if each.p_deviation < LEVEL]
        ratio = np.median([each.deviation / each.rivals_deviation for each in here if each.rivals_deviation])
        smaller = sum(each.deviation < each.rivals_deviation for each in clear)
        lines.append([table, str(len(here)), f"{ratio:.2f}", str(smaller), str(len(clear) - smaller)])
    header = [
        "table",
        "comparisons",
        "median of SPE's sd / rival's sd",
        "SPE clearly steadier",
        "rival clearly steadier",
    ]
    steadier, less = (sum(int(line[column]) for line in lines) for column in (3, 4))
    short = f"Of {len(tested)} comparisons, SPE is clearly steadier in {steadier} and clearly less steady in {less}."
    return (
        short,
        f"""
*SPE gives similar results in independent runs; other methods are less stable.*

Our runs differ by the split of the data as well as by the seed, the paper's seem to differ by the seed alone.

{markdown(header, lines)}
""",
    )


def harmonising(frames: Frames, every: Sequence[Comparison]) -> Finding:
    lines = []
    extremes = {"random rows (Easy, UnderBagging)": RANDOM, "the hardest rows (Cascade)": {"Cascade"}}
    for title, rivals in extremes.items():
        lines.append([title, *_count([each for each in every if each.rival in rivals])])
    both = _settings_above(every, RANDOM) & _settings_above(every, {"Cascade"})
    known = {(each.table, each.setting) for each in every if each.rival in RANDOM}
    known &= {(each.table, each.setting) for each in every if each.rival == "Cascade"}
    short = f"SPE has a higher mean than both extremes in {len(both)} of {len(known)} settings."
    return (
        short,
        f"""
*Harmonised hardness is better than either extreme: rows at random, and only the hardest rows.*

{markdown(["rival", *COUNTED], lines)}

SPE has a higher mean than both extremes in {len(both)} of {len(known)} settings that have both.

{_overlap(frames["overlap"])}
""",
    )


def _settings_above(every: Sequence[Comparison], rivals: set[str]) -> set[tuple[str, str]]:
    return {(each.table, each.setting) for each in every if each.rival in rivals and each.difference > 0}


def _overlap(frame: pd.DataFrame) -> str:
    if not len(frame):
        return ""
    means = over_runs(frame, ["covariance", "method", "round"], "aucprc")["mean"]
    last = frame["round"].max()
    lines = [
        [
            covariance,
            *(
                f"{means[covariance, method, last] - means[covariance, method].max():+.3f}"
                for method in ("Cascade", "SPE")
            ),
            f"{means[covariance, 'SPE', last] - means[covariance, 'Cascade', last]:+.3f}",
        ]
        for covariance in dict.fromkeys(frame["covariance"])
    ]
    header = [
        "covariance",
        "Cascade, since its best round",
        "SPE, since its best round",
        "SPE minus Cascade at the end",
    ]
    return f"""
*As classes overlap more, Cascade gets worse in late rounds and SPE does not.* On checkerboards, after {last} members:

{markdown(header, lines)}
"""


def missing(frames: Frames, every: Sequence[Comparison]) -> Finding:
    means = over_runs(with_none_missing(frames), ["missing", "method"], "aucprc")["mean"]
    lines = [
        [
            method,
            *(f"{means[share, method]:.3f} ({means[share, method] / means['0.0', method]:.0%})" for share in SHARES),
        ]
        for method in ENSEMBLES
    ]
    here = [each for each in every if each.table.startswith("Missing values")]
    tested, better, worse = _tested(here)
    short = (
        f"Of {tested} tested comparisons, SPE is clearly better in {better} and clearly worse in {worse}. With "
        f"{float(SHARES[-1]):.0%} missing, {means[SHARES[-1]].idxmax()} has the highest mean."
    )
    return (
        short,
        f"""
*SPE is robust to missing values, and other methods perform poorly when many are missing.*

AUCPRC by the share of missing values, and what is left of the value without missing ones:

{markdown(["method", *(f"{float(share):.0%}" for share in SHARES)], lines)}

{_counts(here)}
""",
    )


def distances(frames: Frames, every: Sequence[Comparison]) -> Finding:
    tried = list(_by_distance(frames))
    refused = [outcome for outcome in tried if GIVEN_UP in outcome]
    short = f"{len(refused)} of {len(tried)} cells that we tried were given up; the list says why."
    return (
        short,
        f"""
*Methods that need distances between rows cannot run on the large data sets.*

What we tried, methods and base models (KNN) that need distances:

{_lines(tried)}

The limits are ours, so that all cells end within hours. A cell that was given up may end if it has more time.
""",
    )


def _by_distance(frames: Frames) -> Iterator[str]:
    """What became of each cell with distances between rows of a large data set."""
    table, curves = frames["real_world"], frames["ensembles"]
    needs_distances = table["method"].isin(TABLES_BY_DISTANCE) | (table["model"] == "KNN")
    yield from _outcomes(table[needs_distances], ["model", "method"])
    yield from _outcomes(curves[curves["method"].isin(CURVES_BY_DISTANCE)], ["method", "size"])


def _outcomes(rows: pd.DataFrame, by: Sequence[str]) -> Iterator[str]:
    large = rows[[DATASETS[name].published_name in MORE_MODELS for name in rows["dataset"]]]
    why_not = given_up(large, ["dataset", *by])
    for _, row in large.drop_duplicates(["dataset", *by, "run"], keep="last").iterrows():
        key = tuple(row[name] for name in ("dataset", *by))
        runs = f"it runs. AUCPRC {row['aucprc']:.3f}, {row['n_training_rows']:,.0f} training rows{used(row)}"
        yield f"- {DATASETS[key[0]].title}, {', '.join(key[1:])}: {why_not.get(key, runs)}."


def by_time(frames: Frames, every: Sequence[Comparison]) -> Finding:
    parts, sentences = [], []
    for dataset, rows in _by_dataset(with_the_table(frames)) if len(frames["payments_by_time"]) else []:
        found = list(comparisons(DATASETS[dataset].title, rows, ["variant"]))
        nearest = list(dict.fromkeys(_nearest_rival(found, each) for each in found))
        parts.append(_nearest(nearest))
        sentences += [f"{each.setting}: SPE minus {each.rival} {each.difference:+.3f}" for each in nearest]
    short = "; ".join(sentences) + "." if sentences else "Not run."
    return (
        short,
        f"""
The hour of a payment (`step`) is a feature in the paper. In some hours there are only frauds, which random splits let
every method learn, and it is of no use for later payments. The same comparison
[without it and by time](payments-by-time.md), with GBDT10. By time there is one split, and runs differ by the seeds of
the methods alone:

{_lines(parts)}
""",
    )


def rivals(frames: Frames, every: Sequence[Comparison]) -> Finding:
    """Why SPE leads by less than in the paper: how far both are from their published figures, on the paper's data."""
    names = ["real_world", "checkerboard", "ensembles", "missing_values"]
    both = pd.concat([differences(frames[name], name) for name in names])
    means = both.groupby("method").agg(["mean", "count"]).sort_values("mean")
    lines = [[method, f"{mean:+.3f}", f"{count:.0f}"] for method, mean, count in means.itertuples(name=None)]
    others = both.drop("SPE").mean()
    spe = both["SPE"].mean()
    short = f"Ours minus the published AUCPRC, on the paper's own data: SPE {spe:+.3f}, rivals {others:+.3f}."
    return (
        short,
        f"""
Where SPE does not lead here, its rivals are better than published, and SPE is as published. Ours minus the published
AUCPRC, mean over all cells on the paper's own data:

{markdown(["method", "ours minus published", "cells"], lines)}

Reasons that we can show:

- **Scores.** The published figures of some rivals fit hard votes, SPE's fit probabilities (the
  [checkerboard](checkerboard.md) and [real-world tasks](real-world.md) have both). A mean of probabilities ranks rows
  better than a share of votes.
- **Cascade.** Ours ranks rows by the mean probability of all members so far. It is the best rival
  {_times_nearest(every)}. Where classes overlap it gets worse in late rounds, as the paper says.
- **FEBRL pairs** have few different patterns, which training and test rows share, so that little is left to gain.
""",
    )


def _times_nearest(every: Sequence[Comparison]) -> str:
    nearest = {(each.table, each.setting): _nearest_rival(every, each).rival for each in every}
    return f"in {sum(rival == 'Cascade' for rival in nearest.values())} of {len(nearest)} settings"


def differences(frame: pd.DataFrame, table: str) -> pd.Series:
    """Ours minus the published AUCPRC of each cell, by method."""
    printed = published(table)
    if "metric" in printed:
        printed = printed[printed["metric"] == "aucprc"]
    keys = [name for name in printed.columns if name not in {"metric", "mean", "sd"}]
    if table == "ensembles":
        frame = with_members(frame[frame["dataset"] == "credit-fraud"])
    ours = over_runs(frame.astype(dict.fromkeys(keys, str)), keys, "aucprc")["mean"]
    theirs = printed.set_index(keys)["mean"]
    return (ours - theirs).dropna().droplevel([name for name in keys if name != "method"])


CLAIMS: dict[str, Section] = {
    "SPE is best": best,
    "SPE needs fewer rows": fewer_rows,
    "SPE is robust to its parameters": robust,
    "SPE is stable over runs": stable,
    "Harmonising beats both extremes": harmonising,
    "SPE is robust to missing values": missing,
    "Distances do not scale": distances,
    "Where it does not hold, and why": rivals,
    "Payments without the hour, and by time": by_time,
}


# Words and counts

COUNTED = ["comparisons", "SPE clearly better", "rival clearly better", "neither", "untested"]


def _counts(every: Sequence[Comparison]) -> str:
    tables = dict.fromkeys(each.table for each in every)
    lines = [[table, *_count([each for each in every if each.table == table])] for table in tables]
    return markdown(["table", *COUNTED], [*lines, ["**all**", *(f"**{count}**" for count in _count(every))]])


def _count(every: Sequence[Comparison]) -> list[str]:
    tested, better, worse = _tested(every)
    return [str(count) for count in (len(every), better, worse, tested - better - worse, len(every) - tested)]


def _tested(every: Sequence[Comparison]) -> tuple[int, int, int]:
    """How many comparisons are tested, and in how many SPE is clearly better, or clearly worse."""
    clear = [each for each in every if _is_clear(each)]
    better = sum(each.difference > 0 for each in clear)
    return sum(not np.isnan(each.p_mean) for each in every), better, len(clear) - better


def _is_clear(each: Comparison) -> bool:
    return each.p_mean < LEVEL


def _difference(every: Sequence[Comparison], table: str, setting: str, rival: str) -> str:
    for each in every:
        if (each.table, each.setting, each.rival) == (table, setting, rival):
            return _with_p(each.difference, each.p_mean)
    return "—"


def _with_p(difference: float, p: float) -> str:
    """
    >>> _with_p(0.12, 0.0312), _with_p(-0.12, float("nan"))
    ('+0.120 (p 0.031)', '-0.120 (untested)')
    """
    return f"{difference:+.3f} ({'' if np.isnan(p) else 'p '}{_p(p)})"


def _p(value: float) -> str:
    if np.isnan(value):
        return "untested"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _lines(lines: Sequence[str]) -> str:
    return "\n".join(lines) if lines else "None."


STORY = Page(
    "story", "Does the paper's story hold?", ["checkerboard", "real_world", "ensembles", "missing_values"], story
)
