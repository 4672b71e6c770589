"""The data: missing values, ranges, drift, dropped columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from selfpaced.report.facts import ColumnFacts, DataFacts, Facts
from selfpaced.report.figures import drift_bars
from selfpaced.report.html import Html, element, table
from selfpaced.report.sections.parts import columns, figure, named, paragraph, section, unfolding
from selfpaced.report.words import decimals, percent, plural

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
