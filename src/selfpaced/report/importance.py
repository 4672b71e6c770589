"""Which features the scores depend on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.metrics import aucprc
from selfpaced.report.about import importances_of, recipes_of
from selfpaced.report.columns import Values, column_names, columns_of, take_rows
from selfpaced.report.data import drift_between
from selfpaced.report.facts import Contrast, Importances
from selfpaced.tables.kinds import kind_of

N_SHOWN = 20
N_CONTRASTS = 6
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
MOST_CELLS = 500_000
FEWEST_ROWS, MOST_ROWS = 500, 5000
N_REPEATS = 3
# A blend has several times the members of an ensemble, and every shuffle costs a prediction by all of them.
MOST_ROWS_OF_BLEND, N_REPEATS_OF_BLEND = 2500, 1
MOST_SHUFFLED = 30


def importance_facts(model: Any, sample: Any, is_case: NDArray[np.bool_], case_column: int) -> Importances | None:
    """The most important features, and how they differ between rare and common rows; None if that is unknown."""
    found = _values(model, sample, is_case, case_column)
    if found is None:
        return None
    method, values = found
    names, order = column_names(sample), np.argsort(-values, kind="stable")[:N_SHOWN].tolist()
    return Importances(
        method,
        tuple(names[place] for place in order),
        tuple(float(values[place]) for place in order),
        len(names),
        tuple(_contrasts(sample, is_case, order)),
    )


def _values(
    model: Any, sample: Any, is_case: NDArray[np.bool_], case_column: int
) -> tuple[str, NDArray[np.float64]] | None:
    """The members' own importances where they have some, otherwise what shuffling a column costs in AUCPRC."""
    own = importances_of(model)
    if own is not None and own.size == sample.shape[1]:
        return "mean importance in the members", own
    return _lost_by_shuffling(model, sample, is_case, case_column) if is_case.any() and not is_case.all() else None


def _lost_by_shuffling(
    model: Any, sample: Any, is_case: NDArray[np.bool_], case_column: int
) -> tuple[str, NDArray[np.float64]] | None:
    """None for sparse rows, whose columns are not shuffled."""
    is_blend = len(recipes_of(model)) > 0
    most = MOST_ROWS_OF_BLEND if is_blend else MOST_ROWS
    rows = _some_of_both(is_case, int(np.clip(MOST_CELLS // sample.shape[1], FEWEST_ROWS, most)))
    frame, is_case = take_rows(sample, rows), is_case[rows]
    permuted = kind_of(frame).permuted
    if permuted is None:
        return None

    def aucprc_of(rows: Any) -> float:
        return aucprc(is_case, model.predict_proba(rows)[:, case_column])

    rng = np.random.default_rng(0)
    orders = [rng.permutation(is_case.size) for _ in range(N_REPEATS_OF_BLEND if is_blend else N_REPEATS)]
    places, values, whole = _worth_shuffling(frame, is_case), np.zeros(sample.shape[1]), aucprc_of(frame)
    for place in places:
        values[place] = whole - np.mean([aucprc_of(permuted(frame, place, order)) for order in orders])
    among = "" if len(places) == values.size else f", for the {len(places)} columns in which rare rows differ most"
    return f"AUCPRC lost when the column is shuffled{among}", values


def _worth_shuffling(frame: Any, is_case: NDArray[np.bool_]) -> list[int]:
    """All columns. Of many, those in which rare rows differ most, because every shuffle costs a prediction."""
    if frame.shape[1] <= MOST_SHUFFLED:
        return list(range(frame.shape[1]))
    distances = [_difference(column, is_case) for column in columns_of(frame)]
    farthest: list[int] = np.argsort(-np.array(distances), kind="stable")[:MOST_SHUFFLED].tolist()
    return farthest


def _difference(column: Values, is_case: NDArray[np.bool_]) -> float:
    cases, others = (replace(column, values=column.values[side]) for side in (is_case, ~is_case))
    drift = drift_between(cases, others)
    return 0.0 if drift is None else drift.distance


def _some_of_both(is_case: NDArray[np.bool_], most: int) -> NDArray[np.int64]:
    """Evenly spaced rows: at most so many common rows, and a fifth as many rare rows."""
    wanted = {most // 5: np.flatnonzero(is_case), most: np.flatnonzero(~is_case)}
    chosen = [rows[np.linspace(0, rows.size - 1, min(n, rows.size)).astype(np.intp)] for n, rows in wanted.items()]
    return np.sort(np.concatenate(chosen))


def _contrasts(sample: Any, is_case: NDArray[np.bool_], places: list[int]) -> Iterator[Contrast]:
    """The quantiles of the first few numeric features in rare and in common rows."""
    rows = _some_of_both(is_case, MOST_ROWS)
    numbers = (column for column in columns_of(take_rows(sample, rows), places) if column.are_numbers)
    for column in islice(numbers, N_CONTRASTS):
        sides = [column.values[~column.is_missing & side] for side in (is_case[rows], ~is_case[rows])]
        if all(side.size for side in sides):
            cases, others = (tuple(np.quantile(side, QUANTILES).tolist()) for side in sides)
            yield Contrast(column.name, cases, others)
