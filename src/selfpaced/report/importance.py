"""Which features the model uses."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import NewCategoryWarning
from selfpaced.metrics import aucprc
from selfpaced.monitoring import count_values, feature_reference, p_value, psi
from selfpaced.report import html
from selfpaced.report.about import is_blended
from selfpaced.report.data import Values, column_names, columns_of
from selfpaced.report.html import WIDTH, Axis, Bar, Html, number_text, percent, plural
from selfpaced.tables import kind_of

Floats = NDArray[np.float64]
# The error is that of leaving out a tenth of the rows, ten times.
N_GROUPS = 10


@dataclass(frozen=True)
class Contrast:
    """The 5%, 25%, 50%, 75% and 95% quantiles of a feature in rare rows and in common rows."""

    name: str
    cases: tuple[float, ...]
    others: tuple[float, ...]


@dataclass(frozen=True)
class Importances:
    """Features by importance, the highest first."""

    method: str
    names: tuple[str, ...]
    values: tuple[float, ...]
    n_features: int  # of all features
    contrasts: tuple[Contrast, ...]
    # The standard error of each value, which comes from the sample of rows; None for the members' own importances. It
    # is NaN where there are too few rare rows, and 0 for columns that were not shuffled.
    errors: tuple[float, ...] | None = None
    n_rows: int | None = None  # of that sample


def _groups_left_out(is_case: NDArray[np.bool_]) -> list[NDArray[np.bool_]]:
    """All rows, then all but each group of them. Groups have equally many rows of each class."""
    n_groups = min(N_GROUPS, int(is_case.sum()), int((~is_case).sum()))
    groups = np.empty(is_case.size, dtype=np.intp)
    for side in (is_case, ~is_case):
        groups[side] = np.arange(int(side.sum())) % max(n_groups, 1)
    return [groups >= 0] + [groups != group for group in range(n_groups) if n_groups > 1]


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
    found = _of_the_members(model, sample.shape[1])
    if found is None and is_case.any() and not is_case.all():
        found = _by_shuffling(model, sample, is_case, case_column)
    if found is None:
        return None
    method, values, errors, n_rows = found
    names, order = column_names(sample), np.argsort(-values, kind="stable")[:N_SHOWN].tolist()
    return Importances(
        method,
        tuple(names[place] for place in order),
        tuple(values[order].tolist()),
        len(names),
        tuple(_contrasts_of(sample, is_case, order)),
        None if errors is None else tuple(errors[order].tolist()),
        n_rows,
    )


# The method, importances by the position of the column, their standard errors, and the number of rows looked at.
_Found = tuple[str, Floats, Floats | None, int | None]


def _of_the_members(model: Any, n_columns: int) -> _Found | None:
    """The mean over the members; None if they have no importances, or others than those of the columns."""
    try:
        own = np.asarray(model.feature_importances_, dtype=np.float64)
    except AttributeError:
        return None
    return ("mean importance in the members", own, None, None) if own.size == n_columns else None


def _by_shuffling(model: Any, sample: Any, is_case: NDArray[np.bool_], case_column: int) -> _Found | None:
    """What shuffling a column costs in AUCPRC. None for sparse rows, whose columns are not shuffled."""
    blended = is_blended(model)
    most = MOST_ROWS_OF_BLEND if blended else MOST_ROWS
    rows = _some_of_both(is_case, int(np.clip(MOST_CELLS // sample.shape[1], FEWEST_ROWS, most)))
    frame, is_case = kind_of(sample).take(sample, rows), is_case[rows]
    permuted = kind_of(frame).permuted
    if permuted is None:
        return None
    rng = np.random.default_rng(0)
    orders = [rng.permutation(is_case.size) for _ in range(N_REPEATS_OF_BLEND if blended else N_REPEATS)]
    places, n_columns = _worth_shuffling(frame, is_case), sample.shape[1]
    kept = _groups_left_out(is_case)

    def areas_of(rows: Any) -> Floats:
        scores = model.predict_proba(rows)[:, case_column]
        return np.array([aucprc(is_case[some], scores[some]) for some in kept])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NewCategoryWarning)  # the scores of the report have given it already
        whole = areas_of(frame)
        lost = np.zeros((len(places), whole.size))
        for number, place in enumerate(places):
            lost[number] = whole - np.mean([areas_of(permuted(frame, place, order)) for order in orders], axis=0)
    values, errors = np.zeros((2, n_columns))
    values[places], errors[places] = lost[:, 0], _jackknife_errors(lost[:, 1:])
    among = "" if len(places) == n_columns else f", for the {len(places)} columns in which rare rows differ most"
    return f"AUCPRC lost when the column is shuffled{among}", values, errors, is_case.size


def _worth_shuffling(frame: Any, is_case: NDArray[np.bool_]) -> list[int]:
    """All columns. Of many, those in which rare rows differ most, because every shuffle costs a prediction."""
    if frame.shape[1] <= MOST_SHUFFLED:
        return list(range(frame.shape[1]))
    differences = [_difference(column, is_case) for column in columns_of(frame)]
    return sorted(range(len(differences)), key=lambda place: differences[place])[:MOST_SHUFFLED]


def _difference(column: Values, is_case: NDArray[np.bool_]) -> tuple[float, float]:
    """How much rare rows differ from common ones, as drift is measured: the lowest come first."""
    others = feature_reference(column.name, column.measured[~is_case])
    both = others.all_counts, count_values(others, column.measured[is_case])
    return p_value(*both), -psi(*both)


def _some_of_both(is_case: NDArray[np.bool_], most: int) -> NDArray[np.int64]:
    """Evenly spaced rows: at most so many common rows, and a fifth as many rare rows."""
    wanted = {most // 5: np.flatnonzero(is_case), most: np.flatnonzero(~is_case)}
    chosen = [rows[np.linspace(0, rows.size - 1, min(n, rows.size)).astype(np.intp)] for n, rows in wanted.items()]
    return np.sort(np.concatenate(chosen))


def _contrasts_of(sample: Any, is_case: NDArray[np.bool_], places: list[int]) -> Iterator[Contrast]:
    """The quantiles of the first few numeric features in rare and in common rows."""
    rows = _some_of_both(is_case, MOST_ROWS)
    numbers = (column for column in columns_of(kind_of(sample).take(sample, rows), places) if column.are_numbers)
    for column in islice(numbers, N_CONTRASTS):
        sides = [column.values[~column.is_missing & side] for side in (is_case[rows], ~is_case[rows])]
        if all(side.size for side in sides):
            cases, others = (tuple(np.quantile(side, QUANTILES).tolist()) for side in sides)
            yield Contrast(column.name, cases, others)


NAMES = 132
ROW, HEAD = 62, 14
LONGEST_NAME = 14


def contrast_strips(contrasts: Sequence[Contrast]) -> Html:
    """Two strips for each feature, from the 5% to the 95% quantile. The middle half is thick, the median is marked."""
    medians = [(one.name, number_text(one.cases[2]), number_text(one.others[2])) for one in contrasts]
    return html.drawing(
        "Features of rare and common rows",
        "; ".join(f"{name}: median {case} against {other}" for name, case, other in medians) + ".",
        WIDTH,
        ROW * len(contrasts),
        [_pair(one, ROW * place) for place, one in enumerate(contrasts)],
    )


def _pair(one: Contrast, top: float) -> Html:
    low, high = (pick(one.cases + one.others) for pick in (min, max))
    axis = Axis(low, high, NAMES, WIDTH - 64)
    return html.joined(
        html.name_text(NAMES - 12, top + HEAD + 12, one.name, LONGEST_NAME),
        _strip(axis, one.cases, top + HEAD, "case", "rare"),
        _strip(axis, one.others, top + HEAD + 17, "other", "common"),
        html.text(axis.start, top + HEAD + 38, number_text(low), "tick"),
        html.text(axis.stop, top + HEAD + 38, number_text(high), "tick", "end"),
    )


def _strip(axis: Axis, quantiles: Sequence[float], y: float, class_: str, words: str) -> Html:
    places = [axis(value) for value in quantiles]
    return html.joined(
        html.line((places[0], y), (places[4], y), f"whisker {class_}"),
        html.rectangle(places[1], y - 5, max(places[3] - places[1], 1.0), 10, f"bar {class_}"),
        html.line((places[2], y - 8), (places[2], y + 8), "mark"),
        html.text(WIDTH, y + 4, words, class_, "end"),
    )


def importance_bars(importances: Importances) -> Html:
    errors = importances.errors or (None,) * len(importances.names)
    found = zip(importances.names, importances.values, errors, strict=True)
    bars = [Bar(name, value, "bar other", error) for name, value, error in found]
    return html.bar_chart("Most important features", f"By {importances.method}; {bars[0].name} comes first.", bars)


def importance(found: Importances) -> html.Section | None:
    if not found.names:
        return None
    hidden = found.n_features - len(found.names)
    rest = f" {plural(hidden, 'less important feature')} not shown." if hidden else ""
    error = "" if found.n_rows is None else f" Measured on {found.n_rows:,} rows; ± is the standard error."
    total = sum(max(value, 0.0) for value in found.values)
    first = f"{percent(max(found.values[0], 0.0) / total)} of what is shown here" if total else "nothing"
    bars = html.figure("Most important features", importance_bars(found), f"Shown is the {found.method}.{error}{rest}")
    about_strips = "Lines cover 90% of the rows, bars the middle half; marks are medians."
    strips = None
    if found.contrasts:
        strips = html.figure(
            "The first of them in rare and common rows", contrast_strips(found.contrasts), about_strips
        )
    return html.section(
        "importance",
        "Features",
        "Important features",
        html.lead(
            html.label(found.names[0]),
            f" comes first, with {first}. "
            "Importance shows what the model uses, not causes. Check a single feature that decides nearly "
            "everything: was it known at the time of scoring?",
        ),
        html.columns(bars, strips),
    )
