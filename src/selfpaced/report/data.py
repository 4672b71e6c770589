"""The data: columns with their drift since training, and the rows whose labels are doubtful."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced import monitoring
from selfpaced.monitoring import Drift, FeatureReference, Reference
from selfpaced.report import html
from selfpaced.report.html import Bar, Html, decimals, number_text, percent, plural, score_text, shortened, whole
from selfpaced.tables import kind_of

MOST_COLUMNS = 500
MOST_ROWS = 50_000
MOST_CELLS = 10_000_000
FEWEST_ROWS = 1000
SHOWN = 10
MOST_BARS = 15
SMALLEST_DRIFT = 0.01  # that has a bar
MUCH_DRIFT = 0.25  # as the field calls it


@dataclass(frozen=True)
class ColumnFacts:
    """A column in the sample. Its drift is None if there is nothing to compare it with."""

    name: str
    type: str
    missing: float
    n_distinct: int
    values: str
    drift: Drift | None


@dataclass(frozen=True)
class DataFacts:
    columns: tuple[ColumnFacts, ...]
    n_columns: int
    n_rows_looked_at: int
    dropped: dict[str, str]


@dataclass(frozen=True)
class Values:
    """A column: floats with NaN for missing values, or strings, as objects, with None for missing values.

    `measured` is what drift is measured by: the same, but numbers for dates, which are shown as strings.
    """

    name: str
    type: str
    values: NDArray[Any]
    measured: NDArray[Any]

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


def column_names(table: Any) -> list[str]:
    """The names of the columns; x0, x1, ... if they have none."""
    return [str(name) for name in kind_of(table).names(table)]


def columns_of(table: Any, which: Sequence[int] | None = None) -> Iterator[Values]:
    names, kind = column_names(table), kind_of(table)
    for position in range(len(names)) if which is None else which:
        column = kind.column(table, position)
        found = monitoring.values_of(column)
        measured = np.array(found, dtype=object) if isinstance(found, list) else found
        is_date = measured.dtype.kind == "f" and not column.is_number
        shown = measured
        if is_date:
            dates = zip(measured, column.objects(), strict=True)
            shown = np.array([None if np.isnan(second) else str(date) for second, date in dates], dtype=object)
        yield Values(names[position], column.type, shown, measured)


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
    before = _features(train_sample, reference, {names[place] for place in places if names.count(names[place]) == 1})
    columns, counts = [], {}
    for column in columns_of(looked_at, places):
        columns.append(column_facts(column))
        feature = before.get(column.name)
        if feature is not None and feature.fits(column.measured):
            counts[column.name] = monitoring.count_values(feature, column.measured)
    drifts = {one.name: one for one in monitoring.drift_of_counts(list(before.values()), counts)}
    reasons = {str(name): str(reason) for name, reason in (dropped or {}).items()}
    found = tuple(replace(one, drift=drifts.get(one.name)) for one in columns)
    return DataFacts(found, len(names), int(looked_at.shape[0]), reasons)


def _features(train: Any, reference: Reference | None, names: set[str]) -> dict[str, FeatureReference]:
    """The distributions of the columns with these names, in training rows or in a reference."""
    if train is None:
        return {} if reference is None else {one.name: one for one in reference.features if one.name in names}
    places = [place for place, name in enumerate(column_names(train)) if name in names]
    rows = some_rows(train, len(places))
    return {one.name: monitoring.feature_reference(one.name, one.measured) for one in columns_of(rows, places)}


def some_rows(table: Any, n_columns: int) -> Any:
    """Evenly spaced rows, few enough to be read in about a second."""
    n_rows = table.shape[0]
    most = min(MOST_ROWS, max(FEWEST_ROWS, MOST_CELLS // max(1, n_columns)))
    return table if n_rows <= most else kind_of(table).take(table, np.linspace(0, n_rows - 1, most).astype(np.int64))


def column_facts(column: Values) -> ColumnFacts:
    distinct = np.unique(column.present) if column.are_numbers else np.array(sorted(set(column.present)))
    missing = float(column.is_missing.mean())
    return ColumnFacts(column.name, column.type, missing, int(distinct.size), _summary_of(column, distinct), None)


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


COLUMNS: html.Columns = {
    "Column": ("name", html.named),
    "Type": ("type", str),
    "Missing": ("missing", percent),
    "Distinct": ("n_distinct", whole),
    "Low … median … high, or most frequent": ("values", str),
    "Drift (PSI)": ("drift.psi", decimals),
}


def data(found: DataFacts, n_rows: int) -> html.Section:
    """The section about the columns, in a report on so many rows."""
    drifts = sorted((one.drift for one in found.columns if one.drift is not None), key=lambda one: (-one.psi, one.name))
    remark = "Scores are reliable as long as new rows resemble the training rows."
    rest, left_out = found.columns[SHOWN:], found.n_columns - len(found.columns)
    more = f" and {plural(left_out, 'column')} that are not listed" if left_out else ""
    reasons = [[html.named(name), reason] for name, reason in found.dropped.items()]
    incomplete, constant = (
        sum(one.missing > 0 for one in found.columns),
        sum(one.n_distinct <= 1 for one in found.columns),
    )
    sample = "a sample of " if found.n_rows_looked_at < n_rows else ""
    said = [
        f"{plural(found.n_columns, 'column')}, examined in {sample}{plural(found.n_rows_looked_at, 'row')}.",
        f"{plural(incomplete, 'column')} with missing values." if incomplete else "No missing values.",
        f"{plural(constant, 'column')} with a single value." if constant else "",
    ]
    return html.section(
        "data",
        "Data",
        "The data",
        html.lead(" ".join(filter(None, said))),
        drift_figure("Drift since training", drifts, remark) if drifts else None,
        html.headed("Columns", html.records(COLUMNS, found.columns[:SHOWN])),
        html.unfolding(f"{plural(len(rest), 'more column')}{more}", html.records(COLUMNS, rest)) if rest else None,
        html.headed("Dropped before training", html.table(["Column", "Reason"], reasons)) if reasons else None,
    )


def drift_figure(title: str, drifts: Sequence[Drift], remark: str | None = None) -> Html:
    """The columns with the largest drift, and how many drifted more than chance explains."""
    n_real = sum(one.is_real for one in drifts)
    shown = [one for one in drifts if one.psi >= SMALLEST_DRIFT][:MOST_BARS]
    below = "" if shown else f" No column has an index (PSI) of {SMALLEST_DRIFT} or more."
    prose = html.prose(
        html.paragraph(
            f"{n_real or 'None'} of {plural(len(drifts), 'column')} moved more than chance explains, by "
            "chi-squared tests. They are corrected for the number of columns: without drift, "
            f"{monitoring.ERROR_RATE:.0%} of such tests would name a column.{below}"
        ),
        html.paragraph(remark) if remark else None,
    )
    if not shown:
        return prose
    caption = (
        "The population stability index (PSI): the difference between the shares of the bins then and now. 0.1 is "
        "some drift, 0.25 is much. In colour: 0.1 or more, and more than chance explains. The largest have a bar, if "
        f"they are {SMALLEST_DRIFT} or more."
    )
    return html.columns(html.figure(title, drift_bars(title, shown), caption), prose)


def drift_bars(title: str, drifts: Sequence[Drift]) -> Html:
    """The axis reaches at least to much drift, so that small drifts have short bars."""
    bars = [Bar(one.name, one.psi, "bar case" if one.is_large else "bar quiet") for one in drifts]
    return html.bar_chart(title, f"{bars[0].name} drifted most.", bars, MUCH_DRIFT)


N_SUSPECTS, SUSPECTS_SHOWN = 20, 8
N_COLUMNS, LONGEST_COLUMN_NAME = 4, 18
Positions = NDArray[np.intp]


@dataclass(frozen=True)
class Suspect:
    id: str
    score: float
    values: tuple[str, ...]


@dataclass(frozen=True)
class SuspectFacts:
    """The rows whose labels the scores contradict most, of both classes, with the values of some columns."""

    columns: tuple[str, ...]
    missed_cases: tuple[Suspect, ...]
    alarming_others: tuple[Suspect, ...]


def suspect_rows(is_case: NDArray[np.bool_], scores: NDArray[Any], n: int = N_SUSPECTS) -> tuple[Positions, Positions]:
    """The positions of the rare rows with the lowest scores and of the common rows with the highest, extremes first.

    Parameters
    ----------
    is_case : ndarray of bool of shape (n_rows,)
        Which rows are rare.
    scores : ndarray of shape (n_rows,)
        Their scores.
    n : int, default=20
        The number of rows of each kind.

    Returns
    -------
    tuple of (ndarray, ndarray)
        Positions of rare rows, and positions of common rows.

    See Also
    --------
    report_of_scores : A report from scores, with a sample of the rows.

    Examples
    --------
    >>> missed, alarming = suspect_rows(np.array([True, True, False, False]), np.array([0.9, 0.2, 0.1, 0.7]), 1)
    >>> missed.tolist(), alarming.tolist()
    ([1], [3])
    """
    return _lowest(is_case, scores, n, 1), _lowest(~is_case, scores, n, -1)


def _lowest(chosen: NDArray[np.bool_], scores: NDArray[Any], n: int, sign: int) -> Positions:
    """The positions of the chosen rows with the lowest scores times `sign`, the lowest first."""
    values = scores[chosen]
    values *= sign
    if values.size > n:
        chosen = chosen.copy()
        chosen[chosen] = values <= np.partition(values, n - 1)[n - 1]
    rows = np.flatnonzero(chosen)
    return rows[np.argsort(sign * scores[rows], kind="stable")][:n]


def rows_in_sample(sample: Any, sample_rows: NDArray[np.integer] | None, wanted: list[int]) -> tuple[list[int], Any]:
    """The positions of those rows that are in the sample, and their features."""
    if sample is None:
        return [], None
    places = range(sample.shape[0]) if sample_rows is None else np.flatnonzero(np.isin(sample_rows, wanted)).tolist()
    place_of = places if sample_rows is None else {int(sample_rows[place]): place for place in places}
    known = [row for row in wanted if row in place_of]
    return known, kind_of(sample).take(sample, np.array([place_of[row] for row in known], dtype=np.int64))


def suspect_facts(
    is_case: NDArray[np.bool_],
    scores: NDArray[Any],
    ids: Any,
    sample: Any,
    sample_rows: NDArray[np.integer] | None,
    important: Sequence[str],
) -> SuspectFacts:
    """Suspects with ids, or positions if there are no ids, and the values of the most important columns.

    `sample_rows` are the positions of the sample's rows among the scores; None if it holds all of them. The values of
    a suspect that is not in the sample are empty.
    """
    own = [] if sample is None else column_names(sample)
    shown = ([own.index(name) for name in important if name in own] or list(range(len(own))))[:N_COLUMNS]
    missed, alarming = suspect_rows(is_case, scores)
    known, rows = rows_in_sample(sample, sample_rows, [*missed.tolist(), *alarming.tolist()])
    columns = list(columns_of(rows, shown)) if shown and known else []
    values = {row: tuple(column.text(number) for column in columns) for number, row in enumerate(known)}

    def described(row: int) -> Suspect:
        name = str(row if ids is None else ids[row])
        return Suspect(shortened(name), float(scores[row]), values.get(row, ("",) * len(columns)))

    names = tuple(column.name for column in columns)
    return SuspectFacts(names, tuple(map(described, missed.tolist())), tuple(map(described, alarming.tolist())))


def suspects(found: SuspectFacts, rare_rows: str) -> html.Section:
    lowest = ["The lowest scores among ", html.label(rare_rows)]
    return html.section(
        "suspects",
        "Suspects",
        "Rows to look at",
        html.lead(
            "Where scores and labels contradict each other most, either the model or the label is wrong. "
            "A person should look at these rows."
        ),
        html.columns(
            _list(
                "The highest scores among common rows",
                "Rare rows that were never labelled?",
                found.alarming_others,
                found.columns,
            ),
            _list(lowest, "Wrong labels, or rare rows unlike all others?", found.missed_cases, found.columns),
        ),
    )


def _list(title: object, question: str, rows: Sequence[Suspect], columns: Sequence[str]) -> Html:
    header = ["Row", "Score", *(html.named(name, LONGEST_COLUMN_NAME) for name in columns)]
    cells = [[row.id, score_text(row.score), *row.values] for row in rows]
    shown, rest = (
        html.table(header, some, numbers=range(1, len(header)))
        for some in (cells[:SUSPECTS_SHOWN], cells[SUSPECTS_SHOWN:])
    )
    more = html.unfolding(f"{len(cells) - SUSPECTS_SHOWN} more", rest) if len(cells) > SUSPECTS_SHOWN else None
    return html.headed(title, html.paragraph(question, class_="note"), shown, more)
