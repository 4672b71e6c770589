"""The page of a backtest: figures of each fold over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from selfpaced.backtesting import FoldResult
from selfpaced.report.html import Html, columns, figure, paragraph, section, table
from selfpaced.report.page import assembled
from selfpaced.report.topics.course import course_lines
from selfpaced.report.words import decimals, moment_text, plural, whole
from selfpaced.thresholds import cost_text


def backtest_page(folds: Sequence[FoldResult], target: str) -> str:
    """One HTML file from the results of all folds of all models."""
    sections = {"Course": ("course", _course(folds)), "Folds": ("folds", _folds(folds))}
    return assembled(f"Backtest of {target}", sections)


def _course(folds: Sequence[FoldResult]) -> Html:
    models = list(dict.fromkeys(one.model for one in folds))
    numbers = sorted({one.fold for one in folds})
    begins = [moment_text(next(one.begin for one in folds if one.fold == number)) for number in numbers]

    def series(value: Callable[[FoldResult], float | None], names: Sequence[str] = models) -> dict[str, Any]:
        by_place = {(one.model, one.fold): value(one) for one in folds}
        return {name: [by_place.get((name, number)) for number in numbers] for name in names}

    n_rare = {"found": [next(one.n_rare for one in folds if one.fold == number) for number in numbers]}
    drawn = [
        figure(
            "AUCPRC",
            course_lines("AUCPRC by fold", begins, series(lambda one: one.reached.aucprc), 1.0),
            "Measured on rows after all training rows and after the delay. A fold without rare rows has no AUCPRC.",
        ),
        _shown(
            "Rare rows expected and found",
            {**n_rare, **_renamed(series(lambda one: one.reached.expected), "expected by")},
            begins,
            "The sum of the calibrated probabilities in each fold, and the number of rare rows.",
        ),
        _shown("Precision within the budget", series(lambda one: one.reached.precision), begins, _BUDGET, 1.0),
        _shown("Card precision", series(lambda one: one.reached.group_precision), begins, _CARDS, 1.0),
        _shown(
            "Cost",
            {
                **_renamed(series(lambda one: one.reached.cost), "by"),
                "no alert": series(lambda one: one.reached.cost_without, models[:1])[models[0]],
            },
            begins,
            "The cost of alerts and missed rare rows, decided row by row, and the cost without any alerts.",
        ),
    ]
    lead = paragraph(f"{plural(len(numbers), 'fold')}, {plural(len(models), 'kind')} of models.", class_="lead")
    pairs = [one for one in drawn if one is not None]
    rows = [columns(*pairs[place : place + 2]) for place in range(0, len(pairs), 2)]
    return section("course", "The course over time", lead, *rows)


_BUDGET = "The share of rare rows among the alerts: the rows with the highest scores of each period, up to the budget."
_CARDS = "The share of groups with a rare row among the best groups of each period. A group is ranked by its best row."


def _shown(
    title: str, series: dict[str, Any], begins: Sequence[str], caption: str, highest: float | None = None
) -> Html | None:
    known = {name: values for name, values in series.items() if any(value is not None for value in values)}
    if not known or set(known) == {"found"}:
        return None
    return figure(title, course_lines(title, begins, known, highest), caption)


def _renamed(series: dict[str, Any], before: str) -> dict[str, Any]:
    return {f"{before} {name}": values for name, values in series.items()}


def _folds(folds: Sequence[FoldResult]) -> Html:
    measures: dict[str, Callable[[FoldResult], str]] = {
        "Test begins": lambda one: moment_text(one.begin),
        "Base": lambda one: one.model,
        "Trained on": lambda one: whole(one.n_train),
        "Rare": lambda one: whole(one.n_train_rare),
        "Tested": lambda one: whole(one.n_test),
        "Rare ": lambda one: whole(one.n_rare),
        "Expected": lambda one: _text(one.reached.expected, 1),
        "AUCPRC": lambda one: _text(one.reached.aucprc),
        "Precision": lambda one: _text(one.reached.precision),
        "Card precision": lambda one: _text(one.reached.group_precision),
        "Cost": lambda one: "" if one.reached.cost is None else cost_text(one.reached.cost),
        "Note": lambda one: one.note or "",
    }
    cells = {name: [make(one) for one in folds] for name, make in measures.items()}
    shown = {name: values for name, values in cells.items() if any(values)}
    numbers = [place for place, name in enumerate(shown) if name not in ("Test begins", "Base", "Note")]
    return section("folds", "All folds", table(list(shown), zip(*shown.values(), strict=True), numbers=numbers))


def _text(value: float | None, digits: int = 3) -> str:
    return "" if value is None else decimals(value, digits)
