"""The pages about a model in service: of monitoring, and of a backtest."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from selfpaced.backtesting import Budget, FoldResult, RollingTimeSplit
from selfpaced.monitoring import Alarm, PeriodFigures, Reference, alarm_texts, figure_at
from selfpaced.report import html
from selfpaced.report.course import Followed, course_figure, followed
from selfpaced.report.data import drift_figure
from selfpaced.report.html import between, decimals, moment_text, percent, plural, threshold_text, whole
from selfpaced.report.page import assembled
from selfpaced.thresholds import cost_text

MOST_ROWS = 60


def monitor_page(
    whole_table: PeriodFigures, periods: Mapping[str, PeriodFigures], reference: Reference, alarms: Sequence[Alarm]
) -> str:
    """One HTML file about all rows, and about the rows of each period."""
    sections = [_answer(whole_table, reference, alarms), _drift(whole_table, reference)]
    if periods:
        figures = html.columns(followed(FOLLOWED, periods))
        sections.insert(1, html.section("course", "Over time", "Over time", figures))
        table = html.records(PERIOD_COLUMNS, periods, "Period")
        sections.append(html.section("periods", "Periods", "All periods", table))
    return assembled("How is the model doing in service?", sections)


def _answer(figures: PeriodFigures, reference: Reference, alarms: Sequence[Alarm]) -> html.Section:
    n_drifted = sum(one.is_large for one in figures.drifts)
    said = f"{plural(n_drifted, 'column')} of {len(figures.drifts)}" if n_drifted else "No column"
    verb = " have drifted" if n_drifted > 1 else " has drifted" if n_drifted else " has drifted much"
    lines = [html.element("li", text) for text in alarm_texts(alarms)]
    return html.section(
        "answer",
        "In short",
        "In short",
        html.paragraph(html.strong(said), f"{verb} since the model was judged. {_outlook(figures)}", class_="headline"),
        html.lead(
            f"{plural(figures.n_rows, 'row')}, compared with {whole(reference.n_rows)} that the model was judged by. "
            f"{_sampled(reference)}Estimates are right only if the model's probabilities still are. They do not "
            "include a new kind of rare row that the model does not recognise."
        ),
        html.headed("Alarms", html.element("ul", lines)) if alarms else None,
        html.figures_list(_numbers(figures, reference)),
    )


def _sampled(reference: Reference) -> str:
    """Where the columns of the reference were counted, if that is a sample of its rows."""
    if reference.n_counted == reference.n_rows:
        return ""
    n_counted, n_rows = whole(reference.n_counted), whole(reference.n_rows)
    return f"Their columns were counted in a sample of {n_counted} of the {n_rows} rows. "


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


DRIFT_COLUMNS: html.Columns = {
    "Column": ("name", html.named),
    "PSI": ("psi", decimals),
    "p-value": ("p_value", "{:.2g}".format),
    "Missing before": ("missing_before", percent),
    "Missing now": ("missing", percent),
    "New categories": ("unseen", percent),
}


def _drift(figures: PeriodFigures, reference: Reference) -> html.Section:
    not_kept, shown = reference.n_features_not_kept, figures.drifts[:MOST_ROWS]
    remark = f"{plural(not_kept, 'column')} are not monitored, to keep the reference small." if not_kept else None
    title = "All columns" if len(shown) == len(figures.drifts) else f"The {len(shown)} columns with the largest index"
    return html.section(
        "drift",
        "Columns",
        "Columns",
        drift_figure("Population stability index", figures.drifts, remark),
        html.headed(title, html.records(DRIFT_COLUMNS, shown)),
    )


FOLLOWED: Followed = (
    ("Alerts", {"alerts": "n_alerts"}, None, "Rows at or above the threshold."),
    (
        "Rare rows expected and found",
        {"expected": "estimate.expected", "expected of these": "labelled.expected", "found": "labelled.found"},
        None,
        "The sum of the probabilities; and among the rows whose labels are known, the number of rare rows.",
    ),
    (
        "Estimated precision and recall",
        {"precision": "estimate.precision", "recall": "estimate.recall"},
        1.0,
        "Estimated from the probabilities alone, at the threshold.",
    ),
    (
        "Drift of the scores",
        {"PSI": "score_drift.psi"},
        None,
        "The population stability index of each period's scores. Periods with few rows have a high one by chance.",
    ),
)
PERIOD_COLUMNS: html.Columns = {
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


def backtest_page(
    folds: Sequence[FoldResult],
    courses: Sequence[Any],
    target: str,
    rolling: RollingTimeSplit,
    budget: Budget | None = None,
    decide: str | None = None,
) -> str:
    """One HTML file from the results of all folds, the figures of each model over them, and how it was tested."""
    sections = [
        _reached(folds, courses, _tested_by(folds, rolling, budget, decide)),
        _course_of_folds(folds),
        html.section("folds", "Folds", "All folds", html.records(FOLD_COLUMNS, folds)),
        None if budget is None else _by_period(folds, budget),
    ]
    return assembled(f"Backtest of {target}", sections)


BUDGET_COLUMNS: html.Columns = {
    "Begins": ("begin", moment_text),
    "Base": ("model", str),
    "Rows": ("n_rows", whole),
    "Rare": ("n_rare", whole),
    "Alerts": ("alerts", whole),
    "Right": ("found", whole),
    "Precision": ("precision", percent),
    "Recall": ("recall", percent),
}


def _by_period(folds: Sequence[FoldResult], budget: Budget) -> html.Section:
    """The alerts of each day, or of another period, within the budget."""
    rows = [SimpleNamespace(**row) for one in folds for row in one.period_rows()]
    return html.section(
        "periods",
        f"By {budget.per}",
        f"The budget by {budget.per}",
        html.lead(
            f"The best {plural(budget.top, 'row')} of each {budget.per}. Of rows with the same score, the first are "
            f"taken; a {budget.per} with fewer rows has fewer alerts."
        ),
        html.unfolding("All periods", html.records(BUDGET_COLUMNS, rows)),
    )


OF_ALERTS: html.Columns = {
    "Alerts": ("alerts", whole),
    "Precision": ("precision", decimals),
    "Recall": ("recall", decimals),
    "Group precision": ("group_precision", decimals),
    "Cost": ("cost", cost_text),
    "Without": ("cost_without", cost_text),
}
COURSE_COLUMNS: html.Columns = {
    "Model": ("model", str),
    "Folds": ("n_folds", whole),
    "Mean AUCPRC": ("aucprc", decimals),
    "Rare rows expected": ("expected", lambda value: decimals(value, 1)),
    "Found": ("n_rare", whole),
    **OF_ALERTS,
}


def _reached(folds: Sequence[FoldResult], courses: Sequence[Any], tested_by: str) -> html.Section:
    """The model with the best mean AUCPRC in the headline, and the figures of all of them."""
    judged = [one for one in courses if one.aucprc is not None]
    best = max(judged, key=lambda one: one.aucprc, default=None)
    if best is None:
        headline: list[Any] = ["No fold has an AUCPRC: see the notes below."]
    else:
        among = f", the best of {len(courses)} kinds of models" if len(courses) > 1 else ""
        headline = [
            f"In the order of time, {best.model} reaches an AUCPRC of ",
            html.strong(decimals(best.aucprc)),
            f" on average{among}.",
        ]
        if best.precision is not None:
            headline += [" Of its alerts, ", html.strong(percent(best.precision)), " are right."]
    return html.section(
        "answer",
        "In short",
        "In short",
        html.paragraph(headline, class_="headline"),
        html.lead(tested_by),
        html.headed("All folds together", html.records(COURSE_COLUMNS, courses)),
    )


def _tested_by(
    folds: Sequence[FoldResult], rolling: RollingTimeSplit, budget: Budget | None, decide: str | None
) -> str:
    """The folds, the delay, the window, the budget and the rule, in sentences."""
    n_folds = len({one.fold for one in folds})
    expanding = rolling.window in (None, "expanding")
    sentences = [
        f"{plural(n_folds, 'fold')} of {rolling.every}, from {moment_text(min(one.begin for one in folds))} to "
        f"{moment_text(max(one.end for one in folds))}.",
        f"Labels are known after a delay of {rolling.delay}." if rolling.delay else "Labels are known without a delay.",
        f"Each model is trained on {'all earlier rows' if expanding else f'the {rolling.window} before'} whose labels "
        "are known.",
    ]
    if budget is not None:
        zone = f", in {budget.timezone}" if budget.timezone else ""
        sentences.append(f"The budget is {plural(budget.top, 'alert')} per {budget.per}{zone}.")
    if decide is not None:
        sentences.append(f"Costs are those of the rule {decide}, row by row.")
    return " ".join(sentences)


def _course_of_folds(folds: Sequence[FoldResult]) -> html.Section:
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
    shown: list[tuple[str, dict[str, Any], float | None, str]] = [
        ("AUCPRC", series("aucprc"), 1.0, _AUCPRC),
        ("Rare rows expected and found", expected, None, _EXPECTED),
        ("Precision within the budget", series("precision"), 1.0, _BUDGET),
        ("Recall within the budget", series("recall"), 1.0, _FOUND),
        ("Group precision", series("group_precision"), 1.0, _GROUPS),
        ("Cost", costs, None, _COST),
    ]
    figures = [course_figure(title, begins, values, caption, highest) for title, values, highest, caption in shown]
    return html.section("course", "Course", "The course over time", html.columns(figures))


_AUCPRC = "Measured on rows after all training rows and after the delay. A fold without rare rows has no AUCPRC."
_EXPECTED = "The sum of the calibrated probabilities in each fold, and the number of rare rows."
_BUDGET = "The share of rare rows among the alerts: the rows with the highest scores of each period, up to the budget."
_FOUND = "The share of the rare rows that are among these alerts."
_GROUPS = "The share of groups with a rare row among the best groups of each period. A group is ranked by its best row."
_COST = "The cost of alerts and missed rare rows, decided row by row, and the cost without any alerts."
FOLD_COLUMNS: html.Columns = {
    "Test begins": ("begin", moment_text),
    "Base": ("model", str),
    "Training": ("n_train", whole),
    "Rare": ("n_train_rare", whole),
    "Tested": ("n_test", whole),
    "Expected": ("reached.expected", lambda value: decimals(value, 1)),
    "Found": ("n_rare", whole),
    "AUCPRC": ("reached.aucprc", decimals),
    **{name: (f"reached.{path}", write) for name, (path, write) in OF_ALERTS.items()},
    "Note": ("note", str),
}
