"""Cautions about a table: leakage, entities on both sides, dates that move on."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from selfpaced.cli.data.opening import OpenedSource
from selfpaced.exceptions import NewCategoryWarning
from selfpaced.tables import Column, column_groups
from selfpaced.tables.files import StreamedTable

# A warning names a column whose values were in the training rows for at least this share of the held-out rows.
MOSTLY_SEEN = 0.5


@dataclass(frozen=True)
class Repeating:
    """A column that looks like groups of rows, and the share of held-out rows whose value was in the training rows."""

    name: str
    share: float


def repeating_entities(source: OpenedSource, train: NDArray[np.bool_], held_out: NDArray[np.bool_]) -> list[Repeating]:
    """Columns such as a card or a customer whose values are on both sides of a split."""
    found = []
    for name in source.entities:
        column = source.table.column(name)
        known = np.asarray(column.is_valid())
        hashes = np.zeros(len(column), dtype=np.uint64)
        hashes[known] = column_groups(column.drop_null(), f"Column {name!r}")
        share = float((np.isin(hashes[held_out], np.unique(hashes[train & known])) & known[held_out]).mean())
        if share >= MOSTLY_SEEN:
            found.append(Repeating(name, share))
    return found


# A warning names a date if more held-out rows than `MOST_LATER` are later than this share of the training rows. Not
# later than all of them: a few late dates hide nothing then.
NEARLY_ALL = 0.99
MOST_LATER = 0.2


@dataclass(frozen=True)
class LaterDate:
    """A feature made of dates, and the share of held-out rows whose date is later than nearly all in training."""

    name: str
    share: float


def later_dates(train: StreamedTable, test: StreamedTable) -> list[LaterDate]:
    """The dates among the features that many held-out rows have later than nearly all training rows."""
    found = []
    for column in train.schema.columns:
        if column.type == "seconds":
            known = _seconds(column, train)
            known = known[~np.isnan(known)]
            late = np.quantile(known, NEARLY_ALL) if known.size else np.inf
            share = float((_seconds(column, test) > late).mean())
            if share > MOST_LATER:
                found.append(LaterDate(column.source, share))
    return found


def _seconds(column: Column, table: StreamedTable) -> NDArray[np.float64]:
    values: Any = table.column(column.source)
    chunks = getattr(values, "chunks", [values])
    parts = [column.converted(chunk, "the table").to_numpy(zero_copy_only=False) for chunk in chunks]
    return np.concatenate(parts) if parts else np.empty(0)


def moving_on(one: LaterDate) -> str:
    """A warning about a date among the features that moves on with time.

    >>> moving_on(LaterDate("reported", 0.974))[:77]
    "column 'reported' is a date that moves on: 97% of the held-out rows are later"
    """
    return (
        f"column {one.name!r} is a date that moves on: {one.share:.0%} of the held-out rows are later than "
        f"{NEARLY_ALL:.0%} of the training rows, and new rows will be too. Scores of such rows are not reliable. "
        f"Exclude it: --exclude {one.name!r}. If the time between two dates matters, add it as a column."
    )


# A warning names a column whose tree reaches at least this AUCPRC on held-out rows.
NEARLY_DECIDES = 0.85
# If more rows than this share are rare, a high AUCPRC is easy to reach and means little.
MOST_POSITIVES = 0.5
LEAVES = 8
FEWEST_POSITIVES = 10


@dataclass(frozen=True)
class Leak:
    """A column that nearly decides the target, and the AUCPRC that it reaches alone."""

    name: str
    aucprc: float


def find_leaks(frame: Any, is_rare: NDArray[np.bool_], seed: int) -> list[Leak]:
    """Try each column alone: train a small tree on half of the rows and judge it on the other half."""
    from sklearn.metrics import average_precision_score
    from sklearn.tree import DecisionTreeClassifier

    order = np.random.default_rng(seed).permutation(len(frame))
    order = order[np.argsort(is_rare[order], kind="stable")]
    one, other = order[::2], order[1::2]
    if min(is_rare[one].sum(), is_rare[other].sum()) < FEWEST_POSITIVES or is_rare.mean() > MOST_POSITIVES:
        return []
    leaks = []
    for name in frame.columns:
        column = _numbers(frame[name]).reshape(-1, 1)
        tree = DecisionTreeClassifier(max_leaf_nodes=LEAVES, class_weight="balanced", random_state=seed)
        scores = tree.fit(column[one], is_rare[one]).predict_proba(column[other])[:, 1]
        found = float(average_precision_score(is_rare[other], scores))
        if found >= NEARLY_DECIDES:
            leaks.append(Leak(str(name), found))
    return leaks


def by_column(leaks: list[Leak], sources: Mapping[str, str]) -> list[Leak]:
    """One leak for each column of the table, the clearest: several features are made of a date.

    >>> by_column([Leak("paid", 0.9), Leak("paid.hour", 0.95)], {"paid": "paid", "paid.hour": "paid"})
    [Leak(name='paid', aucprc=0.95)]
    """
    best: dict[str, float] = {}
    for leak in leaks:
        name = sources.get(leak.name, leak.name)
        best[name] = max(leak.aucprc, best.get(name, 0.0))
    return [Leak(name, aucprc) for name, aucprc in best.items()]


def _numbers(column: Any) -> NDArray[np.float64]:
    values = column.cat.codes if hasattr(column, "cat") else column
    return np.asarray(values, dtype=np.float64)


def leaking(leak: Leak) -> str:
    """A warning about a column that nearly decides the target.

    >>> leaking(Leak("closed", 0.98))[:70]
    "column 'closed' alone nearly determines the target (AUCPRC 0.98). If i"
    """
    return (
        f"column {leak.name!r} alone nearly determines the target (AUCPRC {leak.aucprc:.2f}). If its values are "
        f"not known when the model is used, exclude it: --exclude {leak.name!r}"
    )


@contextmanager
def counted_new_categories() -> Iterator[dict[str, int]]:
    """A dictionary that holds the number of rows with new categories at the end, by column.

    Other warnings are shown as usual.
    """
    counts: dict[str, int] = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", NewCategoryWarning)
        yield counts
    for one in caught:
        if isinstance(one.message, NewCategoryWarning):
            counts.update(one.message.counts)
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


@contextmanager
def kept_warnings() -> Iterator[list[str]]:
    """A list that holds all warnings at the end: each text once, whatever the user's warning filters are.

    >>> with kept_warnings() as kept:
    ...     warnings.warn("The time limit was reached.")
    >>> kept
    ['The time limit was reached.']
    """
    kept: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield kept
    # A member that did not converge fully is judged like the others.
    kept += dict.fromkeys(str(one.message) for one in caught if not issubclass(one.category, ConvergenceWarning))
