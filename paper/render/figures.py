"""Drawings from finished cells. Every function draws one picture and saves it, with its numbers as CSV beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from paper.datasets import DATASETS
from paper.experiments.hardness_under_imbalance import CENTRES, N_BINS, gaussians
from paper.render.summary import over_runs

MAJORITY, MINORITY = "#4477aa", "#cc3311"
COLOURS = ["#4477aa", "#cc3311", "#228833", "#aa3377", "#ee7733", "#222222"]


def figure(n_rows: int, n_columns: int, width: float = 3.2, height: float = 2.8, **options: Any) -> tuple[Figure, Any]:
    drawing = Figure(figsize=(width * n_columns, height * n_rows), layout="constrained")
    return drawing, drawing.subplots(n_rows, n_columns, squeeze=False, **options)


def save(drawing: Figure, path: Path, numbers: pd.DataFrame) -> Path:
    """A picture and its numbers, under a name that no file of results has: both may be in one folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    drawing.savefig(path, dpi=110, metadata={"Software": f"matplotlib {mpl.__version__}"})
    numbers.round(6).to_csv(path.with_suffix(".numbers.csv"), index=False, lineterminator="\n")
    return path


def curves(frame: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """The points of curves: mean, deviation and number of runs of the AUCPRC."""
    return over_runs(frame, by, "aucprc")[["mean", "sd", "runs"]].reset_index()


def band(axes: Any, x: Sequence[Any], summary: pd.DataFrame, label: str, colour: str) -> None:
    """A curve of means with a band of one standard deviation over runs."""
    mean, sd = summary["mean"].to_numpy(), summary["sd"].fillna(0).to_numpy()
    axes.plot(x, mean, label=label, color=colour, marker="o", markersize=2.5, linewidth=1.3)
    axes.fill_between(x, mean - sd, mean + sd, color=colour, alpha=0.15, linewidth=0)


def overlap(frame: pd.DataFrame, path: Path) -> Path:
    covariances = list(dict.fromkeys(frame["covariance"]))
    drawing, axes = figure(1, len(covariances))
    for covariance, ax in zip(covariances, axes[0], strict=True):
        here = frame[frame["covariance"] == covariance]
        for method, colour in zip(["Cascade", "SPE"], COLOURS, strict=False):
            summary = over_runs(here[here["method"] == method], ["round"], "aucprc")
            band(ax, summary.index, summary, method, colour)
        ax.axhline(here["bayes"].mean(), color="grey", linestyle=":", label="Bayes")
        ax.set(title=f"covariance {float(covariance):g}", xlabel="members", ylabel="AUCPRC on the test set")
        ax.legend(frameon=False)
    return save(drawing, path, curves(frame, ["covariance", "method", "round"]))


def hardness_under_imbalance(frame: pd.DataFrame, path: Path) -> Path:
    drawing, axes = figure(len(CENTRES), 3)
    edges = np.linspace(0, 1, N_BINS + 1)
    for kind, line in zip(CENTRES, axes, strict=True):
        scatter(line[0], *gaussians(kind, 10, seed=0))
        line[0].set(title=f"{kind}, 10:1")
        for model, ax in zip(["KNN", "AdaBoost10"], line[1:], strict=True):
            here = frame[(frame["data"] == kind) & (frame["model"] == model)]
            for imbalance, colour in zip(dict.fromkeys(here["imbalance"]), COLOURS, strict=False):
                rows = over_runs(here[here["imbalance"] == imbalance], ["bin"], "rows")["mean"]
                ax.stairs(rows.to_numpy(), edges, color=colour, label=f"{imbalance}:1")
            ax.set(title=f"{kind}, {model}", xlabel="hardness", ylabel="rows", yscale="log")
            ax.legend(frameon=False)
    settings = ["data", "model", "imbalance", "bin"]
    return save(drawing, path, frame.groupby(settings, sort=False)["rows"].mean().reset_index())


def scatter(axes: Any, X: Any, y: Any) -> None:
    for label, colour in enumerate([MAJORITY, MINORITY]):
        axes.scatter(*X[y == label].T, s=2, color=colour, linewidths=0)
    axes.set(xticks=[], yticks=[])


def self_paced_sampling(frame: pd.DataFrame, path: Path) -> Path:
    """Rows to the left and hardness to the right, as in the paper, of all majority rows and of those drawn."""
    alphas = sorted(set(frame["alpha"]), key=float)
    drawing, axes = figure(2, len(alphas) + 1, width=2.6, height=2.3, sharey="row")
    columns = [("all majority rows", frame[frame["alpha"] == alphas[0]], "rows", "hardness")]
    columns += [
        (f"drawn, alpha = {alpha}", frame[frame["alpha"] == alpha], "rows_drawn", "hardness_drawn") for alpha in alphas
    ]
    for number, (title, here, rows, hardness) in enumerate(columns):
        for ax, value, colour in [(axes[0][number], rows, MAJORITY), (axes[1][number], hardness, MINORITY)]:
            means = over_runs(here, ["bin"], value)["mean"]
            ax.bar(means.index, means, color=colour)
            ax.set(yscale="log", xlabel="hardness bin")
        axes[0][number].set(title=title)
    axes[0][0].set(ylabel="rows")
    axes[1][0].set(ylabel="sum of hardness")
    measured = ["rows", "hardness", "rows_drawn", "hardness_drawn"]
    return save(drawing, path, frame.groupby(["alpha", "bin"], sort=False)[measured].mean().reset_index())


def _title(dataset: str, rows: pd.DataFrame) -> str:
    return f"{DATASETS[dataset].title} ({counted_runs(rows)})"


def counted_runs(rows: pd.DataFrame) -> str:
    """
    >>> counted_runs(pd.DataFrame({"method": ["SPE", "SPE", "SMOTE"], "run": ["0", "1", "0"]}))
    '1 to 2 runs'
    """
    curve = "method" if "method" in rows else "hardness"
    counts = rows.groupby(curve)["run"].nunique()
    few, many = int(counts.min()), int(counts.max())
    return f"{f'{few} to ' if few < many else ''}{many} run{'s' if many > 1 else ''}"


def ensembles(frame: pd.DataFrame, path: Path) -> Path:
    datasets = list(dict.fromkeys(frame["dataset"]))
    drawing, axes = figure(1, len(datasets), width=4.6, height=3.6)
    for dataset, ax in zip(datasets, axes[0], strict=True):
        here = frame[frame["dataset"] == dataset]
        for method, colour in zip(dict.fromkeys(frame["method"]), COLOURS, strict=False):
            curve = over_runs(here[here["method"] == method], ["n_members"], "aucprc").sort_index()
            if len(curve):
                band(ax, curve.index, curve, method, colour)
        ax.set(title=_title(dataset, here), xlabel="members", ylabel="AUCPRC on the test set")
        ax.legend(frameon=False, fontsize="small")
    return save(drawing, path, curves(frame, ["dataset", "method", "n_members"]))


def sensitivity(frame: pd.DataFrame, path: Path) -> Path:
    datasets = list(dict.fromkeys(frame["dataset"]))
    drawing, axes = figure(1, len(datasets), width=4.6, height=3.4)
    for dataset, ax in zip(datasets, axes[0], strict=True):
        here = frame[frame["dataset"] == dataset].assign(bins=lambda frame: frame["bins"].astype(int))
        for hardness, colour in zip(dict.fromkeys(here["hardness"]), COLOURS, strict=False):
            curve = over_runs(here[here["hardness"] == hardness], ["bins"], "aucprc").sort_index()
            band(ax, curve.index, curve, hardness, colour)
        ax.set(title=_title(dataset, here), xlabel="bins", ylabel="AUCPRC on the test set")
        ax.legend(frameon=False)
    return save(drawing, path, curves(frame, ["dataset", "hardness", "bins"]))
