"""What shuffling a column costs in AUCPRC, with its standard error."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from selfpaced.ensembles.averaged import rows_in_memory, scoring_of
from selfpaced.ensembles.averaging import AveragingEnsemble
from selfpaced.exceptions import NewCategoryWarning
from selfpaced.metrics import aucprc

Floats = NDArray[np.float64]
# The error is that of leaving out a tenth of the rows, ten times.
N_GROUPS = 10


class Lost(NamedTuple):
    """The AUCPRC that is lost by each of some columns, and its standard errors; NaN where rows are too few."""

    values: Floats
    errors: Floats


def lost_by_shuffling(
    score: Callable[[Any], Floats],
    shuffled: Sequence[Sequence[Callable[[], Any]]],
    rows: Any,
    is_case: NDArray[np.bool_],
) -> Lost:
    """The mean over the shuffles of each column. `shuffled` makes the rows of each shuffle when they are needed."""
    areas = _Areas(is_case)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NewCategoryWarning)  # the scores of the report have given it already
        whole = areas(score(rows))
        lost = [whole - np.mean([areas(score(make())) for make in shuffles], axis=0) for shuffles in shuffled]
    by_column = np.array(lost).reshape(len(shuffled), whole.size)
    return Lost(by_column[:, 0], _jackknife_errors(by_column[:, 1:]))


class _Areas:
    """The AUCPRC of all rows, and of all but each group of them. Groups have equally many rows of each class."""

    def __init__(self, is_case: NDArray[np.bool_]) -> None:
        self._is_case = is_case
        n_groups = min(N_GROUPS, int(is_case.sum()), int((~is_case).sum()))
        groups = np.empty(is_case.size, dtype=np.intp)
        for side in (is_case, ~is_case):
            groups[side] = np.arange(int(side.sum())) % max(n_groups, 1)
        self._kept = [groups != group for group in range(n_groups)] if n_groups > 1 else []

    def __call__(self, scores: Floats) -> Floats:
        parts = [aucprc(self._is_case[kept], scores[kept]) for kept in self._kept]
        return np.array([aucprc(self._is_case, scores), *parts])


def _jackknife_errors(left_out: Floats) -> Floats:
    """The standard error of each row's statistic, from its values without each of some groups.

    >>> _jackknife_errors(np.array([[1.0, 2.0, 3.0]])).round(3).tolist()
    [1.155]
    """
    n_groups = left_out.shape[1]
    if n_groups < 2:
        return np.full(len(left_out), np.nan)
    errors: Floats = np.sqrt((n_groups - 1) * left_out.var(axis=1))
    return errors


def scoring_many(model: Any, n_rows: int) -> Callable[[Any], Floats]:
    """How a model gives probabilities to many tables of so many rows together: its trees are prepared once."""
    if not isinstance(model, AveragingEnsemble):
        probabilities: Callable[[Any], Floats] = model.predict_proba
        return probabilities
    prepared = scoring_of(model).prepared(n_rows)
    return lambda rows: prepared(rows_in_memory(model, rows))
