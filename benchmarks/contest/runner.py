"""The loop over tables, methods and splits: one fit at a time, and none that is finished."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score

from contest.answers import answers
from contest.environments import REQUIREMENTS
from contest.methods import METHODS, OURS
from contest.results import Results, Row
from contest.splits import SMALL_TABLE, held_out_rows, n_splits
from contest.table import Data, Labels, Order, Table
from contest.threads import USUAL

# The share of the machine that other processes may take before seconds are called too long.
BUSY = 0.1
N_REDRAWN = 100
# Where the ranges of scores end, for the calibration of each.
RANGES = (0.01, 0.03, 0.1, 0.3, 0.6)


@dataclass(frozen=True)
class Field:
    """What is to be run, and where the results are kept.

    Attributes
    ----------
    most_splits : of each table; None for as many as it has.
    again : whether fits are repeated whose seconds were taken on a busy machine or with another number of threads.
    most_seconds : of processor time for a fit, after which it is given up; 0 for as many as it takes.
    """

    tables: Sequence[Table]
    methods: Sequence[str]
    results: Results
    most_splits: int | None = None
    n_threads: int = USUAL
    again: bool = False
    most_seconds: float = 0

    def run(self) -> None:
        for table in self.tables:
            try:
                data = table.load()
            except FileNotFoundError as error:
                print(f"{table.name}: {error}", flush=True)
                continue
            left = {method: self._unfinished(table.name, method, data.y.size) for method in self.methods}
            if any(left.values()):
                self._run_table(table, data, left)

    def _unfinished(self, table: str, method: str, n_rows: int) -> list[int]:
        splits = range(n_splits(n_rows))[: self.most_splits]
        finished = self.results.finished(table, method)
        hopeless = self.results.given_up(table, method, self.most_seconds)
        return [
            split
            for split in splits
            if split not in hopeless and (split not in finished or (self.again and not self._counts(finished[split])))
        ]

    def _counts(self, row: Row) -> bool:
        return bool(row["busy_share"] <= BUSY and row["threads"] == self.n_threads)

    def _run_table(self, table: Table, data: Data, left: dict[str, list[int]]) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            data.X.assign(is_rare=data.y).to_parquet(folder / "table.parquet")
            for split in set().union(*left.values()):
                np.save(folder / f"test-{split}.npy", held_out_rows(data, split, table.order))
            for method, splits in left.items():
                tasks = self._tasks(table.name, method, splits)
                for answer in answers(method, folder, tasks, self.n_threads, self.most_seconds):
                    row = {"table": table.name, "method": method} | judged(answer, data, folder, table.order)
                    self.results.add(row, facts_of(table, data), versions_of(method))
                    announce(row)

    def _tasks(self, table: str, method: str, splits: list[int]) -> dict[int, float | None]:
        """The seconds that a method may take on each split: of one with a budget, as many as ours took."""
        least = METHODS[method].least_seconds
        if least is None:
            return dict.fromkeys(splits)
        ours = self.results.finished(table, OURS)
        missing = [split for split in splits if split not in ours]
        if missing:
            print(f"{table}: {method} waits for the time that {OURS} takes on splits {missing}", flush=True)
        return {split: max(least, ours[split]["fit_seconds"]) for split in splits if split in ours}


def facts_of(table: Table, data: Data) -> dict[str, Any]:
    return {
        "rows": int(data.y.size),
        "rare": data.n_rare,
        "features": data.X.shape[1],
        "categorical": len(data.categories),
        "missing_values": int(data.X.isna().to_numpy().sum()),
        "order": table.order,
        "source": table.source,
    }


def judged(row: Row, data: Data, folder: Path, order: Order) -> Row:
    """A row with the AUCPRC of the test rows, their mean score, and the rare rows by ranges of scores.

    With its AUCPRC of redrawn test rows, too, where a table is seldom split often enough to tell its noise.
    """
    if "error" in row:
        return row
    scores = np.load(folder / f"scores-{row['split']}.npy")
    is_test = np.load(folder / f"test-{row['split']}.npy")
    labels = data.y[is_test]
    if order == "time" or data.y.size >= SMALL_TABLE:
        groups = None if data.groups is None else data.groups[is_test]
        row |= {"redrawn": [round(value, 5) for value in redrawn_aucprcs(scores, labels, groups)]}
    seconds = {name: float(f"{value:.3g}") for name, value in row.items() if name.endswith(("seconds", "share"))}
    return (
        row
        | seconds
        | {
            "aucprc": round(float(average_precision_score(labels, scores)), 6),
            "mean_score": float(f"{scores.mean():.4g}"),
            "rare_share": float(f"{labels.mean():.4g}"),
            "by_score": by_score(scores, labels),
        }
    )


def by_score(scores: NDArray[np.float64], labels: Labels) -> list[list[float]]:
    """The rare rows that are expected and found in each range of scores, whose ends are in `RANGES`.

    >>> by_score(np.array([0.005, 0.2, 0.2, 0.9]), np.array([0, 0, 1, 1]))
    [[0.005, 0], [0.0, 0], [0.0, 0], [0.4, 1], [0.0, 0], [0.9, 1]]
    """
    place = np.searchsorted(RANGES, scores, side="right")
    expected, found = (np.bincount(place, values, len(RANGES) + 1) for values in (scores, labels))
    return [[float(f"{one:.4g}"), int(other)] for one, other in zip(expected, found, strict=True)]


def redrawn_aucprcs(scores: NDArray[np.float64], labels: Labels, groups: NDArray[np.int64] | None) -> list[float]:
    """The AUCPRC of test rows that are drawn again with replacement, or of groups that are.

    All methods get the same draws, so the differences between two of them show the noise of their difference. A draw
    without a rare row is left out.

    >>> scores, labels = np.array([0.1, 0.2, 0.3, 0.9]), np.array([0, 1, 0, 1])
    >>> len(redrawn_aucprcs(scores, labels, None)) in range(80, 101)
    True
    """
    units = np.arange(labels.size) if groups is None else np.unique(groups, return_inverse=True)[1]
    rng = np.random.default_rng(0)
    draws = (rng.poisson(1.0, units.max() + 1)[units] for _ in range(N_REDRAWN))
    # Sorted once: scikit-learn would sort the scores for each draw.
    order = np.argsort(-scores, kind="stable")
    last_of_score = np.append(np.flatnonzero(np.diff(scores[order])), labels.size - 1)
    return [_weighted_aucprc(labels[order], draw[order], last_of_score) for draw in draws if np.any(draw[labels == 1])]


def _weighted_aucprc(labels: Labels, weights: NDArray[np.int64], last_of_score: NDArray[np.intp]) -> float:
    """Average precision of rows in the order of falling scores; rows of one score are judged together."""
    rare = np.cumsum(weights * labels)[last_of_score]
    drawn = np.cumsum(weights)[last_of_score]
    return float(np.sum(np.diff(rare, prepend=0) / rare[-1] * rare / np.maximum(drawn, 1)))


def versions_of(method: str) -> dict[str, str]:
    environment = METHODS[method].environment
    if environment is None:
        return {name: version(name) for name in ("selfpaced", "numpy")}
    pinned = [requirement.split("==") for requirement in REQUIREMENTS[environment] if "==" in requirement]
    return {name.partition("[")[0]: number for name, number in pinned}


def announce(row: Row) -> None:
    outcome = row.get("error") or f"AUCPRC {row['aucprc']:.3f}, fit in {row['fit_seconds']:.1f} s"
    print(f"{row['table']}, split {row['split']}: {row['method']}: {outcome}", flush=True)
