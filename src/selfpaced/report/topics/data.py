"""The columns of the data, and how they changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.monitoring import FeatureReference, Reference, counted
from selfpaced.report.facts import ColumnDrift, ColumnFacts, Contrast, DataFacts, Facts
from selfpaced.report.html import (
    Axis,
    Html,
    columns,
    drawing,
    drift_bars,
    element,
    figure,
    joined,
    line,
    named,
    paragraph,
    rectangle,
    section,
    table,
    text,
    unfolding,
)
from selfpaced.report.words import decimals, percent, plural, shortened
from selfpaced.tables import kind_of


@dataclass(frozen=True)
class Values:
    """A column: floats with NaN for missing values, or strings, as objects, with None for missing values."""

    name: str
    type: str
    values: NDArray[Any]

    @property
    def are_numbers(self) -> bool:
        return self.values.dtype.kind == "f"

    @property
    def is_missing(self) -> NDArray[np.bool_]:
        if self.are_numbers:
            missing: NDArray[np.bool_] = np.isnan(self.values)
            return missing
        return np.fromiter((value is None for value in self.values), bool, self.values.size)

    @property
    def present(self) -> NDArray[Any]:
        return self.values[~self.is_missing]

    def text(self, row: int) -> str:
        value = self.values[row]
        if value is None or value != value:
            return "missing"
        return number_text(float(value)) if self.are_numbers else shortened(value)


def number_text(value: float) -> str:
    """
    >>> [number_text(value) for value in (3.0, 1234567.0, 0.123456, 1e-9, -0.0)]
    ['3', '1,234,567', '0.1235', '1e-09', '0']
    """
    if abs(value) < 1e15 and value == round(value):
        return f"{int(value):,}"
    return f"{value:,.2f}" if 100 <= abs(value) < 1e15 else f"{value:.4g}"


def column_names(table: Any) -> list[str]:
    """The names of the columns; x0, x1, ... if they have none."""
    return [str(name) for name in kind_of(table).names(table)]


def columns_of(table: Any, which: Sequence[int] | None = None) -> Iterator[Values]:
    """The columns at some positions, or all of them."""
    names, kind = column_names(table), kind_of(table)
    for position in range(len(names)) if which is None else which:
        column = kind.column(table, position)
        values = column.floats() if column.is_number else _texts(column.objects())
        yield Values(names[position], column.type, values)


def take_rows(table: Any, rows: NDArray[np.integer]) -> Any:
    """Some rows as a table of the same kind, or a pandas frame for a pyarrow table."""
    return kind_of(table).take(table, rows)


def _texts(values: Iterable[Any]) -> NDArray[np.object_]:
    return np.array([None if _is_missing(value) else str(value) for value in values], dtype=object)


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


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
    return ColumnFacts(now.name, now.type, missing, int(distinct.size), _summary_of(now, distinct), drift)


def _since(feature: FeatureReference, now: Values) -> ColumnFacts:
    return replace(column_facts(now, None), drift=drift_since_reference(feature, now))


def drift_between(then: Values, now: Values) -> ColumnDrift | None:
    """None without values to compare, or if only one of the two columns holds numbers."""
    if not (now.present.size and then.present.size) or now.are_numbers != then.are_numbers:
        return None
    return number_drift(then, now) if now.are_numbers else category_drift(then, now)


def number_drift(then: Values, now: Values) -> ColumnDrift:
    """The Kolmogorov-Smirnov distance of two columns, and the distance that equal ones exceed 1 time in 20."""
    before, after = np.sort(then.present), np.sort(now.present)
    points = np.concatenate([before, after])
    below = [np.searchsorted(side, points, side="right") / side.size for side in (before, after)]
    distance = float(np.abs(below[0] - below[1]).max())
    return ColumnDrift(distance, min(1.0, 1.36 * _spread_of_difference(before.size, after.size)))


def category_drift(then: Values, now: Values) -> ColumnDrift:
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
    return ColumnDrift(float(np.abs(shares[0] - shares[1]).sum() / 2), min(1.0, chance))


def _spread_of_difference(n_before: int, n_after: int) -> float:
    return float(np.sqrt(1 / n_before + 1 / n_after))


def _summary_of(column: Values, distinct: NDArray[Any]) -> str:
    """The range and the median of numbers; the most frequent strings."""
    if not distinct.size:
        return "nothing"
    if column.are_numbers:
        low, middle, high = np.quantile(column.present, [0, 0.5, 1])
        return f"{number_text(low)} … {number_text(middle)} … {number_text(high)}"
    texts, counts = np.unique(column.present.astype(str), return_counts=True)
    most = np.argsort(-counts, kind="stable")[:3]
    return ", ".join(f"{shortened(str(texts[n]), 24)} ({counts[n] / column.values.size:.0%})" for n in most)


Counts = NDArray[np.int64]


def drift_since_reference(feature: FeatureReference, now: Values) -> ColumnDrift | None:
    """Like `drift_between` for two columns, but only the bins of the earlier column are known.

    None without values to compare, or if only one of the two holds numbers.
    """
    if now.are_numbers != (feature.kind == "number"):
        return None
    before, after = feature.all_counts, counted(feature, now.values if now.are_numbers else list(now.values))
    if now.are_numbers:
        before, after = before[:-1], after[:-1]
    if not before.sum() or not after.sum():
        return None
    scale = float(np.sqrt(1 / before.sum() + 1 / after.sum()))
    return _of_numbers(before, after, scale) if now.are_numbers else _of_categories(before, after, scale)


def _of_numbers(before: Counts, after: Counts, scale: float) -> ColumnDrift:
    """The largest difference at the ends of the bins, which equal columns exceed less than 1 time in 20."""
    shares = [np.cumsum(each) / each.sum() for each in (before, after)]
    return ColumnDrift(float(np.abs(shares[0] - shares[1]).max()), min(1.0, 1.36 * scale))


def _of_categories(before: Counts, after: Counts, scale: float) -> ColumnDrift:
    """The total variation distance. Missing values are one category. All unnamed categories together are one, too."""
    shares = [each / each.sum() for each in (before, after)]
    both = (before + after) / (before.sum() + after.sum())
    expected = 0.5 * float(np.sum(np.sqrt(2 / np.pi * both * (1 - both)))) * scale
    chance = expected + float(np.sqrt(np.log(20) / 2)) * scale  # McDiarmid's bound, as for two columns
    return ColumnDrift(float(np.abs(shares[0] - shares[1]).sum() / 2), min(1.0, chance))


WIDTH, NAMES = 460, 132
ROW, HEAD = 62, 14
LONGEST_NAME = 14


def contrast_strips(contrasts: Sequence[Contrast]) -> Html:
    """Two strips for each feature, from the 5% to the 95% quantile. The middle half is thick, the median is marked."""
    return drawing(
        "Features of rare and common rows",
        "; ".join(f"{one.name}: median {_median(one.cases)} against {_median(one.others)}" for one in contrasts) + ".",
        WIDTH,
        ROW * len(contrasts),
        [_pair(one, ROW * place) for place, one in enumerate(contrasts)],
    )


def _pair(one: Contrast, top: float) -> Html:
    low, high = (pick(one.cases + one.others) for pick in (min, max))
    axis = Axis(low, high, NAMES, WIDTH - 64)
    name = [shortened(one.name, LONGEST_NAME), element("title", one.name)]
    return joined(
        [
            text(NAMES - 12, top + HEAD + 12, name, "bar-name", "end"),
            _strip(axis, one.cases, top + HEAD, "case", "rare"),
            _strip(axis, one.others, top + HEAD + 17, "other", "common"),
            text(axis.start, top + HEAD + 38, number_text(low), "tick"),
            text(axis.stop, top + HEAD + 38, number_text(high), "tick", "end"),
        ]
    )


def _strip(axis: Axis, quantiles: Sequence[float], y: float, class_: str, words: str) -> Html:
    places = [axis(value) for value in quantiles]
    return joined(
        [
            line((places[0], y), (places[4], y), f"whisker {class_}"),
            rectangle(places[1], y - 5, max(places[3] - places[1], 1.0), 10, f"bar {class_}"),
            line((places[2], y - 8), (places[2], y + 8), "mark"),
            text(WIDTH, y + 4, words, class_, "end"),
        ]
    )


def _median(quantiles: Sequence[float]) -> str:
    return number_text(quantiles[2])


SHOWN = 10
MOST_DRIFT_BARS = 15


def data(facts: Facts) -> Html | None:
    found = facts.data
    if found is None:
        return None
    return section("data", "The data", _summary(found), _drift(found), _columns(found), _dropped(found.dropped))


def _summary(found: DataFacts) -> Html:
    incomplete = sum(one.missing > 0 for one in found.columns)
    constant = sum(one.n_distinct <= 1 for one in found.columns)
    sentences = [
        f"{plural(found.n_columns, 'column')}, examined in {plural(found.n_rows_looked_at, 'row')}.",
        f"{plural(incomplete, 'column')} with missing values." if incomplete else "No missing values.",
        f"{plural(constant, 'column')} with a single value." if constant else None,
    ]
    return paragraph(" ".join(filter(None, sentences)), class_="lead")


def _drift(found: DataFacts) -> Html | None:
    drifts = {one.name: one.drift for one in found.columns if one.drift is not None}
    if not drifts:
        return None
    farthest = dict(sorted(drifts.items(), key=lambda item: -item[1].distance)[:MOST_DRIFT_BARS])
    n_real = sum(drift.is_real for drift in drifts.values())
    return columns(
        figure(
            "Drift since training",
            drift_bars(farthest),
            "The largest difference between training rows and these in the share of rows below any value "
            "(Kolmogorov-Smirnov), or in any set of categories (total variation).",
        ),
        element(
            "div",
            paragraph(
                f"{n_real or 'None'} of {plural(len(drifts), 'column')} drifted more than chance explains. "
                "Without any drift, about 1 in 20 would."
            ),
            paragraph("Scores are reliable as long as new rows resemble the training rows."),
            class_="prose",
        ),
    )


def _columns(found: DataFacts) -> Html:
    with_drift = any(one.drift is not None for one in found.columns)
    shown, rest = found.columns[:SHOWN], found.columns[SHOWN:]
    left_out = found.n_columns - len(found.columns)
    more = f" and {plural(left_out, 'column')} that are not listed" if left_out else ""
    return element(
        "div",
        element("h3", "Columns"),
        _table(shown, with_drift),
        unfolding(f"{plural(len(rest), 'more column')}{more}", _table(rest, with_drift)) if rest else None,
    )


def _table(shown: Sequence[ColumnFacts], with_drift: bool) -> Html:
    header = ["Column", "Type", "Missing", "Distinct", "Low … median … high, or most frequent"]
    rows = [
        [
            named(one.name),
            one.type,
            percent(one.missing),
            f"{one.n_distinct:,}",
            one.values,
            *([""] if one.drift is None else [decimals(one.drift.distance)]) * with_drift,
        ]
        for one in shown
    ]
    return table([*header, *["Drift"] * with_drift], rows, numbers=(2, 3, 5), class_="rows")


def _dropped(dropped: Mapping[str, str]) -> Html | None:
    if not dropped:
        return None
    rows = [[named(name), reason] for name, reason in dropped.items()]
    return element("div", element("h3", "Dropped before training"), table(["Column", "Reason"], rows, class_="rows"))
