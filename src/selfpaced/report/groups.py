"""Figures by group: whether a model does as well for one group of rows as for another."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.exceptions import TableError, pa, pc
from selfpaced.report import html
from selfpaced.report.html import between, moment_text, number_text, percent, plural, whole
from selfpaced.tables import are_numbers, are_strings, plain
from selfpaced.thresholds import CONFIDENCE, Interval, share_interval

FEWEST_ROWS = 50  # smaller groups are put together
MOST_GROUPS = 20  # and so are the smallest ones, if there are more
MOST_NUMBERS = 10  # a column of more different numbers or dates is cut into ranges
N_RANGES = 5
MISSING = "(missing)"


@dataclass(frozen=True)
class Share:
    """A share with its 90% interval (Wilson)."""

    value: float
    low: float
    high: float


def _share(part: int, whole: int) -> Share | None:
    return Share(part / whole, *share_interval(part, whole)) if whole else None


@dataclass(frozen=True)
class GroupFacts:
    """The figures of one group at a threshold. A share whose whole is 0 is None."""

    name: str
    n_rows: int
    n_cases: int
    n_alerts: int
    found: int  # alerts that are rare rows
    precision: Share | None
    recall: Share | None
    false_alarm_rate: Share | None  # the share of common rows that are alerts
    mean_score: float  # for probabilities, about the share of rare rows
    rare_share: Share

    @property
    def parts(self) -> dict[str, tuple[int, int]]:
        """Each share that is compared between groups, as a part and its whole."""
        return {
            "precision": (self.found, self.n_alerts),
            "recall": (self.found, self.n_cases),
            "false_alarm_rate": (self.n_alerts - self.found, self.n_rows - self.n_cases),
        }


@dataclass(frozen=True)
class Difference:
    """The largest difference of a figure between two groups.

    The interval allows for all the pairs of groups among which it is the largest.
    """

    figure: str
    highest: str
    lowest: str
    difference: float
    interval: Interval


@dataclass(frozen=True)
class GroupedFacts:
    """The figures of all groups of a column. `n_small` small groups are put together."""

    column: str
    threshold: float
    groups: tuple[GroupFacts, ...]
    differences: tuple[Difference, ...]
    n_small: int = 0
    fewest_rows: int = FEWEST_ROWS
    confidence: float = CONFIDENCE


def group_facts(
    column: Any, name: str, is_case: NDArray[np.bool_], scores: NDArray[np.floating], threshold: float
) -> GroupedFacts:
    """The figures of each group of a column of values, which may be an Arrow array or any array."""
    values = _arrow(column, name)
    if len(values) != is_case.size:
        raise ValueError(f"groups must have a value for each row: there are {is_case.size} rows; got {len(values)}.")
    names, numbers, n_small = _grouped(values, name)
    alerts = scores >= threshold
    sums = [
        np.bincount(numbers, weights=own, minlength=len(names)).tolist()
        for own in (np.ones(is_case.size), is_case, alerts, alerts & is_case, scores)
    ]
    groups = tuple(
        _figures(one, int(n_rows), int(n_cases), int(n_alerts), int(found), total)
        for one, n_rows, n_cases, n_alerts, found, total in zip(names, *sums, strict=True)
        if n_rows
    )
    return GroupedFacts(name, threshold, groups, tuple(_differences(groups)), n_small)


def _figures(name: str, n_rows: int, n_cases: int, n_alerts: int, found: int, total: float) -> GroupFacts:
    rare_share = _share(n_cases, n_rows)
    assert rare_share is not None
    return GroupFacts(
        name,
        n_rows,
        n_cases,
        n_alerts,
        found,
        _share(found, n_alerts),
        _share(found, n_cases),
        _share(n_alerts - found, n_rows - n_cases),
        total / n_rows,
        rare_share,
    )


def _differences(groups: Sequence[GroupFacts]) -> Iterator[Difference]:
    for figure in ("precision", "recall", "false_alarm_rate"):
        known = {one.name: one.parts[figure] for one in groups if one.n_rows >= FEWEST_ROWS and one.parts[figure][1]}
        pairs = len(list(combinations(known, 2)))
        if not pairs:
            continue
        shares = {name: part / whole for name, (part, whole) in known.items()}
        highest, lowest = max(shares, key=shares.__getitem__), min(shares, key=shares.__getitem__)
        if highest != lowest:
            level = 1 - (1 - CONFIDENCE) / pairs
            yield Difference(
                figure,
                highest,
                lowest,
                shares[highest] - shares[lowest],
                difference_interval(known[highest], known[lowest], level),
            )


def difference_interval(one: tuple[int, int], other: tuple[int, int], confidence: float = CONFIDENCE) -> Interval:
    """Newcombe's interval of the difference of two shares, each a part and its whole, by their Wilson intervals.

    >>> interval = difference_interval((56, 70), (48, 80), 0.95)  # the example of Newcombe, 1998
    >>> round(interval.low, 4), round(interval.high, 4)
    (0.0524, 0.3339)
    """
    first, second = one[0] / one[1], other[0] / other[1]
    of_first, of_second = share_interval(*one, confidence), share_interval(*other, confidence)
    difference = first - second
    below = sqrt((first - of_first.low) ** 2 + (of_second.high - second) ** 2)
    above = sqrt((of_first.high - first) ** 2 + (second - of_second.low) ** 2)
    return Interval(difference - below, difference + above)


def _arrow(column: Any, name: str) -> Any:
    """A column as one Arrow array without a dictionary. NaN is missing."""
    if not isinstance(column, pa.Array | pa.ChunkedArray):
        values = np.asarray(column)
        try:
            column = pa.array(values, from_pandas=True) if values.dtype.kind != "U" else pa.array(values.tolist())
        except (pa.ArrowException, TypeError) as error:
            raise TableError(f"The groups {name!r} have values of several types. Convert them to strings.") from error
    array = plain(column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column)
    if pa.types.is_nested(array.type) or pa.types.is_binary(array.type):
        raise TableError(f"Column {name!r} is {array.type}. Groups are strings, numbers, booleans or dates.")
    return pc.if_else(pc.is_nan(array), None, array) if pa.types.is_floating(array.type) else array


def _grouped(values: Any, name: str) -> tuple[list[str], NDArray[np.intp], int]:
    """The names of the groups, the number of the group of each row, and how many small groups are put together."""
    if not are_strings(values.type) and not pa.types.is_boolean(values.type):
        ranges = _ranges(values)
        if ranges is not None:
            return *ranges, 0
    encoded = values.dictionary_encode()
    names = [_text(one) for one in encoded.dictionary.to_pylist()]
    numbers = pc.fill_null(encoded.indices, len(names)).to_numpy(zero_copy_only=False).astype(np.intp)
    counts = np.bincount(numbers, minlength=len(names) + 1)
    # Missing values are a group of their own, whatever their number.
    order = sorted(range(len(names)), key=lambda one: (-counts[one], names[one]))
    kept = [one for one in order if counts[one] >= FEWEST_ROWS][:MOST_GROUPS]
    small = [one for one in order if one not in set(kept)]
    if not kept and len(small) > MOST_GROUPS:
        raise TableError(
            f"Column {name!r} has {len(names):,} different values, and none of them has {FEWEST_ROWS} rows, so there "
            "are no groups to compare. Name a column with fewer values."
        )
    if not kept or len(small) == 1:  # few small groups are shown as they are, and one alone cannot be put together
        kept, small = [*kept, *small], []
    renumbered = np.full(len(names) + 1, len(kept), dtype=np.intp)
    renumbered[kept] = np.arange(len(kept))
    shown = [names[one] for one in kept]
    if small:
        shown.append(f"(others: {len(small):,} groups)")
    if counts[-1]:
        renumbered[-1] = len(shown)
        shown.append(MISSING)
    return shown, renumbered[numbers], len(small)


def _text(value: Any) -> str:
    """
    >>> _text("web"), _text(""), _text(True), _text(3.0)
    ('web', '(empty)', 'True', '3')
    """
    if isinstance(value, str):
        return value or "(empty)"
    return number_text(value) if isinstance(value, float) else str(value)


def _ranges(values: Any) -> tuple[list[str], NDArray[np.intp]] | None:
    """Numbers and dates in ranges with about as many rows each; None if there are few different values.

    Equal values are in one range, so ranges can differ in their numbers of rows.
    """
    if pc.count_distinct(values, mode="only_valid").as_py() <= MOST_NUMBERS:
        return None
    write: Callable[[Any], str] = number_text
    if are_numbers(values.type):
        plain_numbers = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    else:
        moments = values.cast(pa.timestamp("us"), safe=False).to_numpy(zero_copy_only=False)
        plain_numbers = np.where(np.isnat(moments), np.nan, moments.astype(np.int64).astype(np.float64))
        write = _moment
    known = plain_numbers[~np.isnan(plain_numbers)]
    ends = np.unique(np.quantile(known, np.linspace(0, 1, N_RANGES + 1)[1:-1], method="inverted_cdf"))
    ends = ends[ends < known.max()]
    numbers = np.searchsorted(ends, plain_numbers, side="left")
    first, last = write(known.min()), write(known.max())
    above = [first, *(f"above {write(end)}" for end in ends)]
    names = [f"{low} to {write(end)}" for low, end in zip(above, [*ends, known.max()], strict=True)]
    names[-1] = f"{above[-1]} to {last}"
    if known.size < plain_numbers.size:
        numbers = np.where(np.isnan(plain_numbers), len(names), numbers)
        names.append(MISSING)
    return names, numbers.astype(np.intp)


def _moment(microseconds: float) -> str:
    return moment_text(np.datetime64(int(microseconds), "us"))


FIGURE_NAMES = {"precision": "precision", "recall": "recall", "false_alarm_rate": "false alarm rate"}


def difference_text(one: Difference) -> str:
    """A difference in a sentence."""
    low, high = (f"{'-' if end < 0 else '+'}{percent(abs(end))[:-1]}" for end in one.interval)
    sure = "it contains 0, so it may be chance" if one.interval.low <= 0 else "it does not contain 0"
    return (
        f"The {FIGURE_NAMES[one.figure]} is highest for {one.highest} and lowest for {one.lowest}: "
        f"{percent(one.difference)[:-1]} points apart ({CONFIDENCE:.0%} interval {low} to {high}: {sure})."
    )


def share_text(share: Share) -> str:
    return f"{percent(share.value)} ({between(Interval(share.low, share.high))})"


GROUP_COLUMNS: html.Columns = {
    "Group": ("name", html.named),
    "Rows": ("n_rows", whole),
    "Rare": ("n_cases", whole),
    "Alerts": ("n_alerts", whole),
    "Precision": ("precision", share_text),
    "Recall": ("recall", share_text),
    "False alarm rate": ("false_alarm_rate", share_text),
    "Mean score": ("mean_score", percent),
    "Share of rare rows": ("rare_share", share_text),
}


def by_group(found: GroupedFacts) -> html.Section:
    """The section about groups."""
    bars = [
        html.figure(
            f"{FIGURE_NAMES[name].capitalize()} of each group",
            html.bar_chart(
                FIGURE_NAMES[name].capitalize(),
                "; ".join(f"{one.name}: {percent(getattr(one, name).value)}" for one in known) + ".",
                [html.Bar(one.name, getattr(one, name).value, "bar case") for one in known],
                1.0,
            ),
            "At the suggested threshold. The table has the intervals.",
        )
        for name in ("precision", "recall")
        if (known := [one for one in found.groups if getattr(one, name) is not None])
    ]
    said = [html.element("li", difference_text(one)) for one in found.differences]
    n_large = sum(one.n_rows >= found.fewest_rows for one in found.groups)
    about = (
        f"Groups with at least {found.fewest_rows} rows are compared; there are {n_large}. The intervals of the "
        "differences allow for all pairs of groups. A difference is not a verdict: groups can differ in how hard their "
        "rare rows are to find, and in how they were labelled."
    )
    small = (
        f" {plural(found.n_small, 'smaller group')} are put together: those with fewer than {found.fewest_rows} rows, "
        f"and those beyond the {MOST_GROUPS} largest."
        if found.n_small
        else ""
    )
    return html.section(
        "groups",
        "By group",
        "By group",
        html.lead("The rows of this report by ", html.label(found.column), f": {plural(len(found.groups), 'group')}."),
        html.element("ul", said) if said else None,
        html.columns(bars),
        html.prose(html.paragraph(about + small)),
        html.records(GROUP_COLUMNS, found.groups),
    )
