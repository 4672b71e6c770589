"""The calibration of an ensemble by the rows it has been trained on, at the end of its fit.

The calibration uses all rows of the minority class and a sample of every larger class: all rows of the hardness bins
with few rows, and some of the others, each with the number of rows that it stands for. So all common rows that look
like rare rows are used. The sample is drawn by the methods of every pool, so the map does not depend on where the rows
are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from selfpaced.algorithms.hardness import HARDNESS
from selfpaced.algorithms.pool import MajorityPool
from selfpaced.calibration import FITTED_MAPS, Calibrator, PriorCorrection, fit_calibrator
from selfpaced.ensembles.cross_fitting import CrossFitted, honest_means
from selfpaced.ensembles.weighting import Weighting
from selfpaced.pools.reserved_rounds import CALIBRATION_SAMPLE_ROUND
from selfpaced.pools.rows import Rows
from selfpaced.tables import ClassSplit, InMemoryTable, stack

Floats = NDArray[np.float64]

N_BINS = 20
MOST_ROWS_OF_A_BIN = 2**12


def needs_copies(method: str | None) -> bool:
    """Whether a method needs cross-fitted scores of rows."""
    return method in FITTED_MAPS


def prior_correction(
    counts: Sequence[int], minority_class: int, n_draw: int, weighting: Weighting | None = None
) -> PriorCorrection:
    """The factor by which each class was under-sampled, as far as weights do not compensate for it.

    >>> prior_correction([1000, 10], minority_class=1, n_draw=10).factors.tolist()
    [100.0, 1.0]
    >>> prior_correction([1000, 10], minority_class=1, n_draw=10, weighting=Weighting(0.5)).factors.tolist()
    [10.0, 1.0]
    """
    rows = np.array(counts, dtype=np.float64)
    drawn = np.minimum(rows, n_draw)
    drawn[minority_class] = rows[minority_class]
    return PriorCorrection((rows / drawn) ** (1.0 if weighting is None else 1 - weighting.power))


def fitted_calibrator(
    method: str,
    split: ClassSplit,
    pools: Mapping[int, MajorityPool[Rows]],
    members: Sequence[CrossFitted],
    n_threads: int,
) -> Calibrator:
    """The map of a method that needs rows. The pools have scored all models of the fit."""
    blocks = {split.minority_class: split.minority} | {number: _sample(pool) for number, pool in pools.items()}
    rows, n_classes = stack(list(blocks.values())), len(split.counts)
    return fit_calibrator(
        method,
        honest_means(members, InMemoryTable(rows.features, rows.metadata), rows.ids, n_classes, n_threads),
        np.repeat(list(blocks), [len(block) for block in blocks.values()]),
        np.concatenate([_weights(block) for block in blocks.values()]),
        split.minority_class,
    )


def _sample(pool: MajorityPool[Rows]) -> Rows:
    bins = pool.cut(HARDNESS["absolute"], N_BINS)
    return pool.draw(np.minimum(bins.counts, MOST_ROWS_OF_A_BIN).tolist(), CALIBRATION_SAMPLE_ROUND)


def _weights(rows: Rows) -> Floats:
    """How much each row counts: its own weight, times the number of rows that it stands for."""
    own = np.asarray(rows.metadata.get("sample_weight", np.ones(len(rows))), dtype=np.float64)
    return own if rows.stands_for is None else rows.stands_for * own
