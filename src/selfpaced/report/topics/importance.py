"""Which features the model uses."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from selfpaced.ensembles import AveragingEnsemble
from selfpaced.exceptions import NewCategoryWarning
from selfpaced.metrics import aucprc
from selfpaced.report.about import importances_of, recipes_of
from selfpaced.report.facts import Contrast, Facts, Importances
from selfpaced.report.html import Html, columns, figure, importance_bars, label, paragraph, section
from selfpaced.report.topics.data import Values, column_names, columns_of, contrast_strips, drift_between, take_rows
from selfpaced.report.words import percent, plural
from selfpaced.tables import kind_of

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
    return lambda rows: model.model_.probabilities(rows, model.n_jobs)


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
    own = importances_of(model)
    found: _Found | None
    if own is not None and own.size == sample.shape[1]:
        found = _Found("mean importance in the members", own)
    else:
        has_both = is_case.any() and not is_case.all()
        found = _by_shuffling(model, sample, is_case, case_column) if has_both else None
    if found is None:
        return None
    names, order = column_names(sample), np.argsort(-found.values, kind="stable")[:N_SHOWN].tolist()
    return Importances(
        found.method,
        tuple(names[place] for place in order),
        tuple(found.values[order].tolist()),
        len(names),
        tuple(_contrasts_of(sample, is_case, order)),
        None if found.errors is None else tuple(found.errors[order].tolist()),
        found.n_rows,
    )


class _Found(NamedTuple):
    """Importances by the position of the column; by shuffling, with their standard errors and the rows looked at."""

    method: str
    values: NDArray[np.float64]
    errors: NDArray[np.float64] | None = None
    n_rows: int | None = None


def _by_shuffling(model: Any, sample: Any, is_case: NDArray[np.bool_], case_column: int) -> _Found | None:
    """What shuffling a column costs in AUCPRC. None for sparse rows, whose columns are not shuffled."""
    is_blend = len(recipes_of(model)) > 0
    most = MOST_ROWS_OF_BLEND if is_blend else MOST_ROWS
    rows = _some_of_both(is_case, int(np.clip(MOST_CELLS // sample.shape[1], FEWEST_ROWS, most)))
    frame, is_case = take_rows(sample, rows), is_case[rows]
    permuted = kind_of(frame).permuted
    if permuted is None:
        return None
    rng = np.random.default_rng(0)
    orders = [rng.permutation(is_case.size) for _ in range(N_REPEATS_OF_BLEND if is_blend else N_REPEATS)]
    places, n_columns = _worth_shuffling(frame, is_case), sample.shape[1]
    probabilities = scoring_many(model, is_case.size * (1 + len(places) * len(orders)))
    lost = lost_by_shuffling(
        lambda some: probabilities(some)[:, case_column],
        [[partial(permuted, frame, place, order) for order in orders] for place in places],
        frame,
        is_case,
    )
    values, errors = np.zeros((2, n_columns))
    values[places], errors[places] = lost
    among = "" if len(places) == n_columns else f", for the {len(places)} columns in which rare rows differ most"
    return _Found(f"AUCPRC lost when the column is shuffled{among}", values, errors, is_case.size)


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


def _contrasts_of(sample: Any, is_case: NDArray[np.bool_], places: list[int]) -> Iterator[Contrast]:
    """The quantiles of the first few numeric features in rare and in common rows."""
    rows = _some_of_both(is_case, MOST_ROWS)
    numbers = (column for column in columns_of(take_rows(sample, rows), places) if column.are_numbers)
    for column in islice(numbers, N_CONTRASTS):
        sides = [column.values[~column.is_missing & side] for side in (is_case[rows], ~is_case[rows])]
        if all(side.size for side in sides):
            cases, others = (tuple(np.quantile(side, QUANTILES).tolist()) for side in sides)
            yield Contrast(column.name, cases, others)


def importance(facts: Facts) -> Html | None:
    found = facts.importances
    if found is None or not found.names:
        return None
    hidden = found.n_features - len(found.names)
    rest = f" {plural(hidden, 'less important feature')} not shown." if hidden else ""
    error = "" if found.n_rows is None else f" Measured on {found.n_rows:,} rows; ± is the standard error."
    total = sum(max(value, 0.0) for value in found.values)
    first = f"{percent(max(found.values[0], 0.0) / total)} of what is shown here" if total else "nothing"
    return section(
        "importance",
        "Important features",
        paragraph(
            label(found.names[0]),
            f" comes first, with {first}. "
            "Importance shows what the model uses, not causes. Check a single feature that decides nearly "
            "everything: was it known at the time of scoring?",
            class_="lead",
        ),
        columns(
            figure("Most important features", importance_bars(found), f"Shown is the {found.method}.{error}{rest}"),
            _contrasts(found.contrasts),
        ),
    )


def _contrasts(contrasts: Sequence[Contrast]) -> Html | None:
    if not contrasts:
        return None
    return figure(
        "The first of them in rare and common rows",
        contrast_strips(contrasts),
        "Lines cover 90% of the rows, bars the middle half; marks are medians.",
    )
