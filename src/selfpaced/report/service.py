"""The pages about a model in service: of monitoring, and of a backtest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from selfpaced.backtesting import FoldResult
from selfpaced.monitoring import Alarm, Drift, PeriodFigures, Reference, alarm_texts, figure_at
from selfpaced.report import html
from selfpaced.report.course import course_figure
from selfpaced.report.data import drift_figure
from selfpaced.report.html import Html, between, decimals, moment_text, percent, plural, threshold_text, whole
from selfpaced.report.page import assembled
from selfpaced.thresholds import cost_text

MOST_ROWS = 60
Write = Callable[[Any], str]


def _cell(one: Any, path: str, write: Write) -> str:
    value = figure_at(one, path)
    return "" if value is None else write(value)


def monitor_page(
    whole_table: PeriodFigures, periods: Mapping[str, PeriodFigures], reference: Reference, alarms: Sequence[Alarm]
) -> str:
    """One HTML file about all rows, and about the rows of each period."""
    sections = {
        "In short": ("answer", _answer(whole_table, reference, alarms)),
        "Over time": ("course", _course(periods)),
        "Columns": ("drift", _drift(whole_table, reference)),
        "Periods": ("periods", _periods(periods)),
    }
    return assembled("How is the model doing in service?", sections)


def _answer(figures: PeriodFigures, reference: Reference, alarms: Sequence[Alarm]) -> Html:
    drifted = [one for one in figures.drifts if one.is_large]
    said = f"{plural(len(drifted), 'column')} of {len(figures.drifts)}" if drifted else "No column"
    verb = " have" if len(drifted) > 1 else " has"
    lines = [html.element("li", text) for text in alarm_texts(alarms)]
    return html.section(
        "answer",
        "In short",
        html.element(
            "div",
            html.paragraph(
                html.element("strong", said),
                f"{verb} drifted since the model was judged. {_outlook(figures)}",
                class_="headline",
            ),
            html.paragraph(
                f"{plural(figures.n_rows, 'row')}, compared with {whole(reference.n_rows)} that the model was judged "
                "by. Estimates are right only if the model's probabilities still are. They do not include a new kind "
                "of rare row that the model does not recognise.",
                class_="lead",
            ),
        ),
        html.element("div", html.element("h3", "Alarms"), html.element("ul", lines)) if alarms else None,
        html.figures_list(_numbers(figures, reference)),
    )


def _outlook(figures: PeriodFigures) -> str:
    labelled = figures.labelled
    if labelled is not None and labelled.is_surprising:
        return f"{whole(labelled.found)} rare rows were found, and {decimals(labelled.expected, 0)} were expected."
    if figures.estimate is None:
        return "Its scores are not probabilities, so nothing can be estimated without labels."
    return f"It expects {plural(round(figures.estimate.expected), 'rare row')}."


def _numbers(figures: PeriodFigures, reference: Reference) -> list[tuple[str, str, str]]:
    score, estimate, labelled = figures.score_drift, figures.estimate, figures.labelled
    shown = []
    if figures.n_alerts is not None and reference.threshold is not None:
        before = "" if reference.alert_share is None else f"; {percent(reference.alert_share)} when it was judged"
        share, threshold = percent(figures.n_alerts / figures.n_rows), threshold_text(reference.threshold)
        shown.append(("Alerts", whole(figures.n_alerts), f"{share} of the rows score {threshold} or more{before}"))
    if estimate is not None:
        low, high = estimate.expected_interval
        note = f"90% interval {low:,.0f} to {high:,.0f}; {percent(reference.mean_score)} of the rows when it was judged"
        shown.append(("Rare rows expected", f"{estimate.expected:,.0f}", note))
        if estimate.precision is not None and estimate.recall is not None:
            recall = f"and a recall of {percent(estimate.recall)}"
            shown.append(("Estimated precision", percent(estimate.precision), recall))
    if labelled is not None:
        low, high = labelled.expected_interval
        precision = "" if labelled.precision_interval is None else f"; precision {between(labelled.precision_interval)}"
        known = f"among {plural(labelled.n_known, 'row')} with a label"
        note = f"{known}; {low:,.0f} to {high:,.0f} were expected{precision}"
        shown.append(("Rare rows found", whole(labelled.found), note))
    if score is not None:
        note = "more than chance explains" if score.is_real else "not more than chance explains"
        shown.append(("Drift of the scores (PSI)", decimals(score.psi), note))
    return shown


def _drift(figures: PeriodFigures, reference: Reference) -> Html:
    not_kept = reference.n_features_not_kept
    remark = f"{plural(not_kept, 'column')} are not monitored, to keep the reference small." if not_kept else None
    return html.section(
        "drift",
        "Columns",
        drift_figure("Population stability index", figures.drifts, remark),
        _drift_table(figures.drifts[:MOST_ROWS]),
    )


DRIFT_COLUMNS: dict[str, tuple[str, Write]] = {
    "PSI": ("psi", decimals),
    "p-value": ("p_value", "{:.2g}".format),
    "Missing before": ("missing_before", percent),
    "Missing now": ("missing", percent),
    "New categories": ("unseen", percent),
}


def _drift_table(drifts: Sequence[Drift]) -> Html:
    rows = [[html.named(one.name), *(_cell(one, *how) for how in DRIFT_COLUMNS.values())] for one in drifts]
    shown = html.table(["Column", *DRIFT_COLUMNS], rows, numbers=range(1, 6), class_="rows")
    return html.element("div", html.element("h3", "All columns"), shown)


def _course(periods: Mapping[str, PeriodFigures]) -> Html | None:
    if not periods:
        return None

    def drawn(title: str, caption: str, highest: float | None = None, **paths: str) -> Html | None:
        series = {
            name.replace("_", " "): [figure_at(one, path) for one in periods.values()] for name, path in paths.items()
        }
        return course_figure(title, list(periods), series, caption, highest)

    figures = [
        drawn("Alerts", "Rows at or above the threshold.", alerts="n_alerts"),
        drawn(
            "Rare rows expected and found",
            "The sum of the probabilities; and among the rows whose labels are known, the number of rare rows.",
            expected="estimate.expected",
            expected_of_these="labelled.expected",
            found="labelled.found",
        ),
        drawn(
            "Estimated precision and recall",
            "Estimated from the probabilities alone, at the threshold.",
            1.0,
            precision="estimate.precision",
            recall="estimate.recall",
        ),
        drawn(
            "Drift of the scores",
            "The population stability index of each period's scores. Periods with few rows have a high one by chance.",
            PSI="score_drift.psi",
        ),
    ]
    return html.section("course", "Over time", *html.pairs_of(figures))


PERIOD_COLUMNS: dict[str, tuple[str, Write]] = {
    "Rows": ("n_rows", whole),
    "Alerts": ("n_alerts", whole),
    "Expected": ("estimate.expected", lambda value: decimals(value, 1)),
    "Precision": ("estimate.precision", percent),
    "Recall": ("estimate.recall", percent),
    "Score PSI": ("score_drift.psi", decimals),
    "Drifted": ("drifts", lambda drifts: whole(sum(one.is_large for one in drifts))),
    "With label": ("labelled.n_known", whole),
    "Found": ("labelled.found", whole),
}


def _periods(periods: Mapping[str, PeriodFigures]) -> Html | None:
    if not periods:
        return None
    rows = [[name, *(_cell(one, *how) for how in PERIOD_COLUMNS.values())] for name, one in periods.items()]
    return html.section("periods", "All periods", html.table(["Period", *PERIOD_COLUMNS], rows, numbers=range(1, 10)))


def backtest_page(folds: Sequence[FoldResult], target: str) -> str:
    """One HTML file from the results of all folds of all models."""
    sections = {"Course": ("course", _course_of_folds(folds)), "Folds": ("folds", _folds(folds))}
    return assembled(f"Backtest of {target}", sections)


def _course_of_folds(folds: Sequence[FoldResult]) -> Html:
    models = list(dict.fromkeys(one.model for one in folds))
    first_of = {one.fold: one for one in reversed(folds)}
    numbers = sorted(first_of)
    begins = [moment_text(first_of[number].begin) for number in numbers]

    def series(figure: str, name: str = "{}", names: Sequence[str] = models) -> dict[str, Any]:
        values = {(one.model, one.fold): figure_at(one.reached, figure) for one in folds}
        return {name.format(model): [values.get((model, number)) for number in numbers] for model in names}

    expected = series("expected", "expected by {}")
    if any(value is not None for values in expected.values() for value in values):
        expected = {"found": [first_of[number].n_rare for number in numbers], **expected}
    costs = {**series("cost", "by {}"), **series("cost_without", "no alert", models[:1])}
    figures = [
        course_figure(
            "AUCPRC",
            begins,
            series("aucprc"),
            "Measured on rows after all training rows and after the delay. A fold without rare rows has no AUCPRC.",
            1.0,
        ),
        course_figure(
            "Rare rows expected and found",
            begins,
            expected,
            "The sum of the calibrated probabilities in each fold, and the number of rare rows.",
        ),
        course_figure("Precision within the budget", begins, series("precision"), _BUDGET, 1.0),
        course_figure("Group precision", begins, series("group_precision"), _GROUPS, 1.0),
        course_figure(
            "Cost",
            begins,
            costs,
            "The cost of alerts and missed rare rows, decided row by row, and the cost without any alerts.",
        ),
    ]
    lead = html.paragraph(f"{plural(len(numbers), 'fold')}, {plural(len(models), 'kind')} of models.", class_="lead")
    return html.section("course", "The course over time", lead, *html.pairs_of(figures))


_BUDGET = "The share of rare rows among the alerts: the rows with the highest scores of each period, up to the budget."
_GROUPS = "The share of groups with a rare row among the best groups of each period. A group is ranked by its best row."
FOLD_COLUMNS: dict[str, tuple[str, Write]] = {
    "Test begins": ("begin", moment_text),
    "Base": ("model", str),
    "Trained on": ("n_train", whole),
    "Rare": ("n_train_rare", whole),
    "Tested": ("n_test", whole),
    "Rare ": ("n_rare", whole),
    "Expected": ("reached.expected", lambda value: decimals(value, 1)),
    "AUCPRC": ("reached.aucprc", decimals),
    "Precision": ("reached.precision", decimals),
    "Group precision": ("reached.group_precision", decimals),
    "Cost": ("reached.cost", cost_text),
    "Note": ("note", str),
}


def _folds(folds: Sequence[FoldResult]) -> Html:
    cells = {name: [_cell(one, *how) for one in folds] for name, how in FOLD_COLUMNS.items()}
    shown = {name: values for name, values in cells.items() if any(values)}
    numbers = [place for place, name in enumerate(shown) if name not in ("Test begins", "Base", "Note")]
    return html.section(
        "folds", "All folds", html.table(list(shown), zip(*shown.values(), strict=True), numbers=numbers)
    )
