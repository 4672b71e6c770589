"""Recipes trained on the whole table in parallel processes.

They run in parallel only if that does not change the result: members with small training sets are fitted in one thread
in any case, so an ensemble of them is the same wherever it is trained.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

from joblib import Parallel, delayed, parallel_config

from selfpaced.ensembles.checkpoint import Checkpoint
from selfpaced.ensembles.judging import ignoring_habits
from selfpaced.ensembles.members import SMALL_TRAINING_SET
from selfpaced.tables import ClassCounts, Table

# Every process gets a copy of the rows.
MOST_BYTES_OF_ROWS = 2**28


def can_be_trained_side_by_side(
    ensembles: Sequence[Any], table: Table, labels: ClassCounts, n_features: int, n_threads: int
) -> bool:
    """Whether processes help, the rows are few enough to copy, and no member uses its own threads."""
    if n_threads == 1 or len(ensembles) == 1 or table.bytes_in_memory is None:
        return False
    n_rare, counts = int(labels.counts[labels.rarest]), labels.counts.tolist()
    largest = max(sum(min(n, max(n_rare, round(each.ratio * n_rare))) for n in counts) for each in ensembles)
    return largest * n_features < SMALL_TRAINING_SET and table.bytes_in_memory <= MOST_BYTES_OF_ROWS


def trained_side_by_side(
    ensembles: Sequence[Any], table: Table, n_threads: int
) -> Iterator[tuple[Any | Exception, float]]:
    """Each ensemble, trained, or the error that it failed with, in order, and its share of the seconds."""
    work = Parallel(n_jobs=n_threads, return_as="generator")
    for found, seconds in work(delayed(_trained)(each, table) for each in ensembles):
        yield found, seconds / n_threads


def _trained(ensemble: Any, table: Table) -> tuple[Any | Exception, float]:
    begin = time.perf_counter()
    n_jobs = ensemble.n_jobs
    try:
        # The other processes have the other cores.
        with parallel_config("sequential"), ignoring_habits():
            ensemble.set_params(n_jobs=1)._train(ensemble._settings(), table, None, Checkpoint(None, {}), {})
    except Exception as error:  # base models raise errors of all kinds
        return error, time.perf_counter() - begin
    return ensemble.set_params(n_jobs=n_jobs), time.perf_counter() - begin
