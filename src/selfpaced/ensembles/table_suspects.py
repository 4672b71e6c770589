"""The rows of a table in files whose labels are doubtful, by an ensemble."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.ensembles.averaged import scoring_of
from selfpaced.ensembles.suspects import Suspects, most_doubted, places_of_training_rows
from selfpaced.exceptions import TableError
from selfpaced.pools.rows import GROUP
from selfpaced.tables import InMemoryTable, Labels, StreamedTable
from selfpaced.tables.groups import column_groups

Floats = NDArray[np.float64]


def suspects_in_table(
    model: Any, table: StreamedTable, trained_on: NDArray[np.bool_] | None, n: int, label: Any = None
) -> Suspects:
    """The most doubtful rows. One probability of each row is kept, and the training rows of the members are loaded.

    Parameters
    ----------
    table : StreamedTable
        Rows with labels, opened to be scored by the model.
    trained_on : NDArray[np.bool_] | None
        Which rows the model was trained on; None for none of them. If the training rows had another order, all rows are
        treated as other rows.
    """
    labels = _as_known(table.labels(), model)
    calibrator = model.calibrator_ or model._prior_correction()
    parts = []
    for _, probabilities in scoring_of(model).streamed(table, None):
        parts.append(probabilities if model.calibrator_ is not None else calibrator(probabilities))
    probabilities = np.concatenate(parts)
    seen = None if trained_on is None else _seen(model, labels, trained_on)
    if seen is not None:
        some = _judged_by_copies(model, table, seen)
        probabilities[some] = calibrator(_honest(model, table, labels, seen, some))
    return most_doubted(probabilities, labels, n, label, seen is not None)


def _as_known(labels: Labels, model: Any) -> Labels:
    """The labels numbered like those of the training rows."""
    known, names = model.classes_.tolist(), labels.names
    unknown = [name for name in names if name not in known]
    if unknown:
        raise TableError(
            f"The labels are {names}, but the model was trained with {known} and does not know {unknown[0]!r}."
        )
    numbers = np.array([known.index(name) for name in names], dtype=np.uint8)
    codes = numbers[labels.codes]
    return Labels(model.classes_, np.bincount(codes, minlength=len(known)).astype(np.int64), codes)


def _seen(model: Any, labels: Labels, trained_on: NDArray[np.bool_]) -> list[NDArray[np.intp]] | None:
    """The positions of the training rows of each member in the table; None if these are not the training rows."""
    codes = labels.codes[trained_on]
    own = Labels(labels.classes, np.bincount(codes, minlength=labels.classes.size).astype(np.int64), codes)
    places = places_of_training_rows(model._rounds_of_members(), own, model.class_counts_)
    positions = np.flatnonzero(trained_on)
    return None if places is None else [positions[each] for each in places]


def _judged_by_copies(model: Any, table: StreamedTable, seen: list[NDArray[np.intp]]) -> NDArray[np.intp]:
    """The rows that members have seen. With groups, also the other rows of their groups."""
    rows = np.unique(np.concatenate(seen))
    if model.trained_on_.group is None:
        return rows
    groups = _groups(model, table)
    return np.flatnonzero(np.isin(groups, groups[rows]))


def _groups(model: Any, table: StreamedTable) -> NDArray[np.uint64]:
    name = model.trained_on_.group
    return column_groups(table.column(name), f"The group column {name!r}")


def _honest(
    model: Any, table: StreamedTable, labels: Labels, seen: list[NDArray[np.intp]], some: NDArray[np.intp]
) -> Floats:
    """The probabilities of some rows, by models that have not seen them."""
    chosen = np.zeros(labels.codes.size, dtype=bool)
    chosen[some] = True
    metadata = {} if model.trained_on_.group is None else {GROUP: _groups(model, table)[some]}
    rows = InMemoryTable(table.part(chosen).features(), metadata)
    codes = labels.codes[some]
    own = Labels(labels.classes, np.bincount(codes, minlength=labels.classes.size).astype(np.int64), codes)
    means: Floats = model._honest_means(rows, own, [np.searchsorted(some, each) for each in seen], {})
    return means
