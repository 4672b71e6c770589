"""Which features the scores depend on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.inspection import permutation_importance
from sklearn.metrics import average_precision_score

from selfpaced.report.columns import column_names, take_rows
from selfpaced.report.facts import Importances
from selfpaced.tables.kinds import POLARS, SPARSE, kind_of

N_SHOWN = 20
MOST_CELLS = 500_000
FEWEST_ROWS, MOST_ROWS = 500, 5000
N_REPEATS = 3


def importance_facts(model: Any, sample: Any, is_case: NDArray[np.bool_], case_column: int) -> Importances | None:
    """The members' own importances where they have some, otherwise what shuffling a column costs in AUCPRC.

    None if neither can be had: sparse features are not shuffled.
    """
    names = column_names(sample)
    own = own_importances(model)
    if own is not None and own.size == len(names):
        return _highest("mean importance in the members", names, own)
    if kind_of(sample) is SPARSE or not is_case.any() or is_case.all():
        return None
    return _highest(
        "AUCPRC lost when the column is shuffled", names, _by_shuffling(model, sample, is_case, case_column)
    )


def own_importances(model: Any) -> NDArray[np.float64] | None:
    try:
        return np.asarray(model.feature_importances_, dtype=np.float64)
    except AttributeError:  # the members have none
        return None


def _by_shuffling(model: Any, sample: Any, is_case: NDArray[np.bool_], case_column: int) -> NDArray[np.float64]:
    rows = _balanced_rows(is_case, int(np.clip(MOST_CELLS // sample.shape[1], FEWEST_ROWS, MOST_ROWS)))
    frame = take_rows(sample, rows)
    if kind_of(frame) is POLARS:
        frame = frame.to_pandas()
    result = permutation_importance(
        model,
        frame,
        is_case[rows],
        scoring=lambda model, X, y: average_precision_score(y, model.predict_proba(X)[:, case_column]),
        n_repeats=N_REPEATS,
        random_state=0,
    )
    importances: NDArray[np.float64] = result.importances_mean
    return importances


def _balanced_rows(is_case: NDArray[np.bool_], most: int) -> NDArray[np.int64]:
    """Evenly spaced rows of both kinds: at most a fifth of them cases."""
    cases, others = np.flatnonzero(is_case), np.flatnonzero(~is_case)
    wanted = ((cases, max(1, most // 5)), (others, most))
    chosen = [rows[np.linspace(0, rows.size - 1, min(n, rows.size)).astype(np.intp)] for rows, n in wanted]
    return np.sort(np.concatenate(chosen))


def _highest(method: str, names: list[str], values: NDArray[np.float64]) -> Importances:
    order = np.argsort(-values, kind="stable")[:N_SHOWN].tolist()
    return Importances(
        method, tuple(names[place] for place in order), tuple(float(values[place]) for place in order), len(names)
    )
