"""The page of a monitoring: drift, estimates from probabilities, and figures from known labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from selfpaced.monitoring import ERROR_RATE, Alarm, Drift, Reference, Watched, alarm_texts
from selfpaced.report.html import Html, columns, element, figure, named, paragraph, psi_bars, section, table
from selfpaced.report.page import assembled
from selfpaced.report.topics.course import course_lines
from selfpaced.report.words import between, decimals, percent, plural, threshold_text, whole

MOST_BARS = 15
MOST_ROWS = 60


def monitor_page(
    watched: Watched, periods: Mapping[str, Watched], reference: Reference, alarms: Sequence[Alarm]
) -> str:
    """One HTML file."""
    sections = {
        "In short": ("answer", _answer(watched, reference, alarms)),
        "Over time": ("course", _course(periods)),
        "Columns": ("drift", _drift(watched, reference)),
        "Periods": ("periods", _periods(periods)),
    }
    return assembled("How is the model doing in service?", sections)


def _answer(watched: Watched, reference: Reference, alarms: Sequence[Alarm]) -> Html:
    drifted = [one for one in watched.drifts if one.is_large]
    said = f"{plural(len(drifted), 'column')} of {len(watched.drifts)}" if drifted else "No column"
    has = "has" if len(drifted) == 1 or not drifted else "have"
    return section(
        "answer",
        "In short",
        element(
            "div",
            paragraph(
                element("strong", said),
                f" {has} drifted since the model was judged. ",
                _outlook(watched),
                class_="headline",
            ),
            paragraph(
                f"{plural(watched.n_rows, 'row')}, compared with {whole(reference.n_rows)} that the model was judged "
                "by. Estimates are right only if the model's probabilities still are. They do not include a new kind "
                "of rare row that the model does not recognise.",
                class_="lead",
            ),
        ),
        _alarms(alarms),
        _numbers(watched, reference),
    )


def _outlook(watched: Watched) -> str:
    if watched.arrived is not None and watched.arrived.is_surprising:
        return (
            f"{whole(watched.arrived.found)} rare rows were found, and {decimals(watched.arrived.expected, 0)} were "
            "expected."
        )
    if watched.estimate is None:
        return "Its scores are not probabilities, so nothing can be estimated without labels."
    return f"It expects {plural(round(watched.estimate.expected), 'rare row')}."


def _alarms(alarms: Sequence[Alarm]) -> Html | None:
    if not alarms:
        return None
    lines = [element("li", text) for text in alarm_texts(alarms)]
    return element("div", element("h3", "Alarms"), element("ul", lines))


def _numbers(watched: Watched, reference: Reference) -> Html:
    score, estimate, arrived = watched.score_drift, watched.estimate, watched.arrived
    shown = []
    if watched.n_alerts is not None and reference.threshold is not None:
        before = "" if reference.alert_share is None else f"; {percent(reference.alert_share)} when it was judged"
        share, threshold = percent(watched.n_alerts / watched.n_rows), threshold_text(reference.threshold)
        note = f"{share} of the rows score {threshold} or more{before}"
        shown.append(("Alerts", whole(watched.n_alerts), note))
    if estimate is not None:
        low, high = estimate.expected_interval.low, estimate.expected_interval.high
        note = f"90% interval {low:,.0f} to {high:,.0f}; {percent(reference.mean_score)} of the rows when it was judged"
        shown.append(("Rare rows expected", f"{estimate.expected:,.0f}", note))
        if estimate.precision is not None and estimate.recall is not None:
            shown.append(
                ("Estimated precision", percent(estimate.precision), f"and a recall of {percent(estimate.recall)}")
            )
    if arrived is not None:
        low, high = arrived.expected_interval.low, arrived.expected_interval.high
        precision = "" if arrived.precision_interval is None else f"; precision {between(arrived.precision_interval)}"
        note = (
            f"among {plural(arrived.n_known, 'row')} with a label; {low:,.0f} to {high:,.0f} were expected{precision}"
        )
        shown.append(("Rare rows found", whole(arrived.found), note))
    if score is not None:
        note = "more than chance explains" if score.is_real else "not more than chance explains"
        shown.append(("Drift of the scores (PSI)", decimals(score.psi), note))
    return element(
        "dl",
        [
            element("div", element("dt", name), element("dd", value), element("dd", note, class_="note"))
            for name, value, note in shown
        ],
        class_="numbers",
    )


def _drift(watched: Watched, reference: Reference) -> Html:
    shown = watched.drifts[:MOST_BARS]
    n_real = sum(one.is_real for one in watched.drifts)
    not_kept = reference.n_features_not_kept
    return section(
        "drift",
        "Columns",
        columns(
            figure(
                "Population stability index",
                psi_bars({one.name: (one.psi, one.is_large) for one in shown}),
                "The difference between the shares of the bins then and now. 0.1 is some drift, 0.25 is much. In "
                "colour: 0.1 or more, and more than chance explains.",
            ),
            element(
                "div",
                paragraph(
                    f"{n_real or 'None'} of {plural(len(watched.drifts), 'column')} moved more than chance explains, "
                    "by chi-squared tests. They are corrected for the number of columns: without drift, "
                    f"{ERROR_RATE:.0%} of monitorings would name a column."
                ),
                paragraph(f"{plural(not_kept, 'column')} are not monitored, to keep the reference small.")
                if not_kept
                else None,
                class_="prose",
            ),
        ),
        _table(watched.drifts[:MOST_ROWS]),
    )


def _table(drifts: Sequence[Drift]) -> Html:
    header = ["Column", "PSI", "p-value", "Missing before", "Missing now", "New categories"]
    rows = [
        [
            named(one.name),
            decimals(one.psi),
            f"{one.p_value:.2g}",
            percent(one.missing_before),
            percent(one.missing),
            "" if one.unseen is None else percent(one.unseen),
        ]
        for one in drifts
    ]
    return element("div", element("h3", "All columns"), table(header, rows, numbers=range(1, 6), class_="rows"))


def _course(periods: Mapping[str, Watched]) -> Html | None:
    if not periods:
        return None
    labels = list(periods)
    drawn = [
        _shown(
            "Alerts", {"alerts": [one.n_alerts for one in periods.values()]}, labels, "Rows at or above the threshold."
        ),
        _shown(
            "Rare rows expected and found",
            {
                "expected": [None if one.estimate is None else one.estimate.expected for one in periods.values()],
                "expected of these": [
                    None if one.arrived is None else one.arrived.expected for one in periods.values()
                ],
                "found": [None if one.arrived is None else one.arrived.found for one in periods.values()],
            },
            labels,
            "The sum of the probabilities; and among the rows whose labels are known, the number of rare rows.",
        ),
        _shown(
            "Estimated precision and recall",
            {
                "precision": [None if one.estimate is None else one.estimate.precision for one in periods.values()],
                "recall": [None if one.estimate is None else one.estimate.recall for one in periods.values()],
            },
            labels,
            "Estimated from the probabilities alone, at the threshold.",
            1.0,
        ),
        _shown(
            "Drift of the scores",
            {"PSI": [None if one.score_drift is None else one.score_drift.psi for one in periods.values()]},
            labels,
            "The population stability index of each period's scores. Periods with few rows have a high one by chance.",
        ),
    ]
    shown = [one for one in drawn if one is not None]
    rows = [columns(*shown[place : place + 2]) for place in range(0, len(shown), 2)]
    return section("course", "Over time", *rows)


def _shown(
    title: str, series: Mapping[str, Sequence[Any]], labels: Sequence[str], caption: str, highest: float | None = None
) -> Html | None:
    known = {name: values for name, values in series.items() if any(value is not None for value in values)}
    return figure(title, course_lines(title, labels, known, highest), caption) if known else None


def _periods(periods: Mapping[str, Watched]) -> Html | None:
    if not periods:
        return None
    header = [
        "Period",
        "Rows",
        "Alerts",
        "Expected",
        "Precision",
        "Recall",
        "Score PSI",
        "Drifted",
        "With label",
        "Found",
    ]
    rows = [
        [
            name,
            whole(one.n_rows),
            "" if one.n_alerts is None else whole(one.n_alerts),
            "" if one.estimate is None else decimals(one.estimate.expected, 1),
            "" if one.estimate is None or one.estimate.precision is None else percent(one.estimate.precision),
            "" if one.estimate is None or one.estimate.recall is None else percent(one.estimate.recall),
            "" if one.score_drift is None else decimals(one.score_drift.psi),
            whole(sum(each.is_large for each in one.drifts)),
            "" if one.arrived is None else whole(one.arrived.n_known),
            "" if one.arrived is None else whole(one.arrived.found),
        ]
        for name, one in periods.items()
    ]
    return section("periods", "All periods", table(header, rows, numbers=range(1, 10)))
