"""The task of a run: a data set, divided or drawn by the run's number."""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from paper.datasets import DATASETS, Split, random_split
from paper.datasets.checkerboard import bayes_scores, checkerboard
from paper.experiment import Surroundings
from selfpaced.metrics import aucprc

# A quick pass keeps so many common rows, and enough of the positives to train on.
QUICK_ROWS = 1_000
QUICK_POSITIVES = 120


def task(dataset: str, run: int, surroundings: Surroundings) -> Split:
    """A data set of the paper divided at random, with the columns standardised that the paper calls normalised."""
    X, y = rows(dataset, surroundings)
    return random_split(X, y, seed=run).standardised(DATASETS[dataset].to_standardise)


def rows(dataset: str, surroundings: Surroundings) -> tuple[Any, Any]:
    """All rows of a data set, or a small part of them in the same order."""
    read = _read_few if surroundings.quick else _read
    return read(dataset, surroundings.data)


def board(covariance: float, run: int, surroundings: Surroundings) -> Split:
    """The checkerboards of a run, of which a quick pass takes a tenth: their rows are in random order."""
    split = checkerboard(covariance, seed=run)
    if not surroundings.quick:
        return split
    return Split(*(part[: len(part) // 10] for part in vars(split).values()))


def bayes_aucprc(split: Split, covariance: float) -> float:
    """The AUCPRC of the true probabilities on the test part, which no model can be expected to exceed."""
    return round(aucprc(split.y_test, bayes_scores(split.X_test, covariance)), 6)


@cache  # reading millions of rows takes longer than a quick cell
def _read_few(dataset: str, folder: Path) -> tuple[Any, Any]:
    return _thinned(*_read(dataset, folder))


@lru_cache(maxsize=1)  # the cells of an experiment come by runs of the same data set
def _read(dataset: str, folder: Path) -> tuple[Any, Any]:
    return DATASETS[dataset].read(folder)


def _thinned(X: Any, y: Any) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    keep = [
        rng.choice(rows, size=min(rows.size, most), replace=False)
        for rows, most in [(np.flatnonzero(y == 0), QUICK_ROWS), (np.flatnonzero(y == 1), QUICK_POSITIVES)]
    ]
    rows = np.sort(np.concatenate(keep))
    return X[rows], y[rows]
