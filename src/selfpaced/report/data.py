"""The values of the columns, and their drift since training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.monitoring import FeatureReference, Reference
from selfpaced.report.columns import Values, column_names, columns_of, number_text, shortened, take_rows
from selfpaced.report.facts import ColumnFacts, DataFacts, Drift
from selfpaced.report.reference_drift import drift_since_reference

MOST_COLUMNS = 500
MOST_ROWS = 50_000
MOST_CELLS = 10_000_000
FEWEST_ROWS = 1000


def data_facts(
    sample: Any,
    train_sample: Any,
    dropped: Mapping[str, str] | None,
    first: Sequence[str],
    reference: Reference | None = None,
) -> DataFacts:
    """Facts about at most 500 columns, those named in `first` before the others, in some of the rows.

    Drift is measured from the training rows, or else from the reference, if there is one.
    """
    names = column_names(sample)
    rank = {name: place for place, name in enumerate(first)}
    places = sorted(range(len(names)), key=lambda place: (rank.get(names[place], len(rank)), place))[:MOST_COLUMNS]
    looked_at = some_rows(sample, len(places))
    train = None if train_sample is None else some_rows(train_sample, len(places))
    before = [None] * len(places) if train is None else _same_columns(train, names, places)
    known = {} if reference is None else {feature.name: feature for feature in reference.features}
    columns = tuple(
        column_facts(now, then) if then is not None or now.name not in known else _since(known[now.name], now)
        for now, then in zip(columns_of(looked_at, places), before, strict=True)
    )
    reasons = {str(name): str(reason) for name, reason in (dropped or {}).items()}
    return DataFacts(columns, len(names), int(looked_at.shape[0]), reasons)


def some_rows(table: Any, n_columns: int) -> Any:
    """Evenly spaced rows, few enough to be read in about a second."""
    n_rows = table.shape[0]
    most = min(MOST_ROWS, max(FEWEST_ROWS, MOST_CELLS // max(1, n_columns)))
    return table if n_rows <= most else take_rows(table, np.linspace(0, n_rows - 1, most).astype(np.int64))


def _same_columns(train: Any, names: Sequence[str], places: Sequence[int]) -> list[Values | None]:
    """The training columns of the same names; None for a column that has no such name."""
    place_of = {name: place for place, name in enumerate(column_names(train))}
    found = [place_of.get(names[place]) for place in places]
    return [None if place is None else next(columns_of(train, [place])) for place in found]


def column_facts(now: Values, then: Values | None) -> ColumnFacts:
    distinct = np.unique(now.present) if now.are_numbers else np.array(sorted(set(now.present)))
    drift = None if then is None else drift_between(then, now)
    missing = float(now.is_missing.mean())
    return ColumnFacts(now.name, now.type, missing, int(distinct.size), _summary(now, distinct), drift)


def _since(feature: FeatureReference, now: Values) -> ColumnFacts:
    return replace(column_facts(now, None), drift=drift_since_reference(feature, now))


def drift_between(then: Values, now: Values) -> Drift | None:
    """None without values to compare, or if only one of the two columns holds numbers."""
    if not (now.present.size and then.present.size) or now.are_numbers != then.are_numbers:
        return None
    return number_drift(then, now) if now.are_numbers else category_drift(then, now)


def number_drift(then: Values, now: Values) -> Drift:
    """The Kolmogorov-Smirnov distance of two columns, and the distance that equal ones exceed 1 time in 20."""
    before, after = np.sort(then.present), np.sort(now.present)
    points = np.concatenate([before, after])
    below = [np.searchsorted(side, points, side="right") / side.size for side in (before, after)]
    distance = float(np.abs(below[0] - below[1]).max())
    return Drift(distance, min(1.0, 1.36 * _spread_of_difference(before.size, after.size)))


def category_drift(then: Values, now: Values) -> Drift:
    """The total variation distance of two columns, and the distance that equal ones exceed at most 1 time in 20.

    A missing value counts as a category.
    """
    texts, numbers = np.unique(
        np.array([str((text is None, text)) for side in (then, now) for text in side.values]), return_inverse=True
    )
    sides = np.split(numbers, [then.values.size])
    shares = [np.bincount(side, minlength=texts.size) / side.size for side in sides]
    both = np.bincount(numbers, minlength=texts.size) / numbers.size
    scale = _spread_of_difference(*(side.size for side in sides))
    expected = 0.5 * np.sum(np.sqrt(2 / np.pi * both * (1 - both))) * scale
    chance = float(expected + np.sqrt(np.log(20) / 2) * scale)  # McDiarmid's bound on the rest
    return Drift(float(np.abs(shares[0] - shares[1]).sum() / 2), min(1.0, chance))


def _spread_of_difference(n_before: int, n_after: int) -> float:
    return float(np.sqrt(1 / n_before + 1 / n_after))


def _summary(column: Values, distinct: NDArray[Any]) -> str:
    """The range and the median of numbers; the most frequent strings."""
    if not distinct.size:
        return "nothing"
    if column.are_numbers:
        low, middle, high = np.quantile(column.present, [0, 0.5, 1])
        return f"{number_text(low)} … {number_text(middle)} … {number_text(high)}"
    texts, counts = np.unique(column.present.astype(str), return_counts=True)
    most = np.argsort(-counts, kind="stable")[:3]
    return ", ".join(f"{shortened(str(texts[n]), 24)} ({counts[n] / column.values.size:.0%})" for n in most)
