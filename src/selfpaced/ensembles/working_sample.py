"""The working sample: the rows by which recipes are compared, few enough to train on again and again.

It costs the same for a hundred thousand common rows and for a billion. It has all rare rows, up to a limit. Common rows
are drawn by the methods of every pool: half of them at random, half in proportion to their hardness for a small
ensemble, so that the rows that matter for a ranking are in the sample. Each row stands for a number of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from selfpaced.algorithms.allocation import allocate, with_uniform_share
from selfpaced.algorithms.hardness import HARDNESS
from selfpaced.algorithms.pool import MajorityPool
from selfpaced.pools.keys import row_keys
from selfpaced.pools.reserved_rounds import WORKING_SAMPLE_ROUND
from selfpaced.pools.rows import Rows
from selfpaced.tables import ClassSplit, InMemoryTable, stack

MOST_RARE_ROWS = 1_500
# Wide tables have fewer, so that the rows that recipes train on have about as many numbers (rows times columns).
MOST_NUMBERS, FEWEST_RARE_ROWS_OF_WIDE_TABLES = 2**21, 300
FEWEST_COMMON_ROWS = 20_000
# More than any recipe draws for each rare row, so that it is judged as it will be trained.
COMMON_PER_RARE_ROW = 30
N_BINS = 20
UNIFORM_SHARE = 0.5


@dataclass(frozen=True)
class WorkingSample:
    """Rows in memory, the number of each row's class, and how many rows of the table each stands for.

    `weights` are these numbers, times the weights that the rows have in the table.
    """

    rows: InMemoryTable
    classes: NDArray[np.intp]
    weights: NDArray[np.float64]
    ids: NDArray[np.integer]
    stands_for: NDArray[np.float64]


def values_in_a_row(features: Any) -> int:
    """The number of columns, or of a sparse matrix the mean number of values that a row has."""
    n_rows, n_columns = features.shape
    return max(1, round(features.nnz / n_rows)) if issparse(features) else int(n_columns)


def most_rare_rows(n_columns: int) -> int:
    """The most rare rows in the sample, by the number of columns."""
    affordable = MOST_NUMBERS // ((1 + COMMON_PER_RARE_ROW) * n_columns)
    return min(MOST_RARE_ROWS, max(FEWEST_RARE_ROWS_OF_WIDE_TABLES, affordable))


def most_common_rows(n_rare: int, n_columns: int) -> int:
    """The most rows of a larger class in the sample, by the rare rows and the columns that the table has."""
    return max(FEWEST_COMMON_ROWS, COMMON_PER_RARE_ROW * min(n_rare, most_rare_rows(n_columns)))


def needs_scout(split: ClassSplit) -> bool:
    """Whether a class is too large to be taken whole, so that its hard rows must be found first."""
    most = most_common_rows(len(split.minority), values_in_a_row(split.minority.features))
    return any(pool.n_rows > most for pool in split.pools.values())


def working_sample(split: ClassSplit, last_model: Any, seed: int) -> WorkingSample:
    """The sample of a table whose pools have scored the models of a small ensemble, except the last.

    `last_model` is None if all classes are small enough to be taken whole.
    """
    rare = _some(split.minority, seed)
    most = most_common_rows(len(split.minority), values_in_a_row(split.minority.features))
    drawn = {number: _drawn(pool, last_model, most) for number, pool in split.pools.items()}
    blocks = {split.minority_class: rare, **drawn}
    rows = stack(list(blocks.values()))
    own = np.asarray(rows.metadata.get("sample_weight", np.ones(len(rows))), dtype=np.float64)
    stands_for = np.concatenate([_behind(block) for block in blocks.values()])
    classes = np.repeat(list(blocks), [len(block) for block in blocks.values()]).astype(np.intp)
    return WorkingSample(InMemoryTable(rows.features, rows.metadata), classes, own * stands_for, rows.ids, stands_for)


def _some(minority: Rows, seed: int) -> Rows:
    """Rare rows, all of them or as many as there may be."""
    most = most_rare_rows(values_in_a_row(minority.features))
    if len(minority) <= most:
        return minority.standing_for(np.ones(len(minority)))
    keys = row_keys(minority.ids.astype(np.uint64), seed, WORKING_SAMPLE_ROUND)
    chosen = np.sort(np.argsort(keys)[:most])
    some = InMemoryTable(minority.features, minority.metadata).rows(chosen).with_ids(minority.ids[chosen])
    return some.standing_for(np.full(most, len(minority) / most))


def _drawn(pool: MajorityPool[Rows], last_model: Any, most: int) -> Rows:
    if last_model is None:
        return pool.draw([pool.n_rows], WORKING_SAMPLE_ROUND)
    pool.score(last_model)
    bins = pool.cut(HARDNESS["absolute"], N_BINS)
    hardness = bins.counts * np.nan_to_num(bins.mean_hardness)
    quota = allocate(with_uniform_share(hardness, bins.counts, UNIFORM_SHARE), bins.counts, most)
    return pool.draw(quota.tolist(), WORKING_SAMPLE_ROUND)


def _behind(rows: Rows) -> NDArray[np.float64]:
    assert rows.stands_for is not None  # every pool sets it
    return rows.stands_for
