"""`selfpaced report`"""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.cli.commands.train import Trained
from selfpaced.cli.data.cautions import leaking
from selfpaced.cli.data.deciding import Deciding, amounts_in, numbers_in, rule_of
from selfpaced.cli.data.opening import check_output, data_in, data_of, fits_in_memory, what_is_done
from selfpaced.cli.output import Talk, repetition
from selfpaced.ensembles import AveragingEnsemble
from selfpaced.exceptions import TableError
from selfpaced.monitoring import Reference
from selfpaced.persistence import load_ensemble, read_card
from selfpaced.predicting import RowsDone, open_to_score, rare_rows, scores_of
from selfpaced.report import Report, make_report, report_of_scores
from selfpaced.report.topics import suspect_rows
from selfpaced.tables import NewCategories, Roles, moments_in
from selfpaced.tables.files import StreamedTable
from selfpaced.thresholds import parse_decision

ROWS_SAMPLED = 20_000
MOST_VALUES_LOADED = 2**24  # larger tables are described by a sample; a loaded value takes about 30 bytes


@dataclass(frozen=True)
class ReportRequest:
    """The options of a report.

    Attributes
    ----------
    target : str | None, default=None
        The column of labels; by default the one in training.
    id : str | None, default=None
        A column with the names of the rows.
    time_column : str | None, default=None
        The column of times, for figures over time.
    reference : Reference | None, default=None
        The distribution of the rows that the model was judged by, to measure drift.
    decide : str | None, default=None
        A rule that decides row by row, to compare with the threshold.
    rule, amount : str | None, default=None
        The rule that chooses the threshold, and the column of what missing a row costs.
    """

    target: str | None = None
    id: str | None = None
    rule: str | None = None
    amount: str | None = None
    time_column: str | None = None
    decide: str | None = None
    reference: Reference | None = None


def report_of_training(trained: Trained) -> Report:
    """A report on a model that has just been trained, and on its held-out rows."""
    asked = trained.request
    rule, amount = (None, None) if trained.unmet else (asked.rule, asked.amount)
    more = {
        "X_train": trained.train.sample(ROWS_SAMPLED, asked.seed),
        "dropped": {column.name: column.reason for column in trained.source.dropped},
        "cautions": cautions_of(trained),
    }
    request = ReportRequest(asked.target, asked.id, rule, amount, asked.time_column)
    in_memory = trained.source.in_memory and _fits(trained.test)
    return _report(trained.model, trained.test, request, None if in_memory else trained.scores, more)


def cautions_of(trained: Trained) -> list[str]:
    """The warnings of a training that concern whoever reads its figures."""
    split = trained.split
    return [*map(leaking, trained.leaks), *split.warnings, *map(repetition, split.repeating)]


def report_of_file(
    model: AveragingEnsemble, source: Any, request: ReportRequest, progress: RowsDone | None = None
) -> Report:
    """A report on a model that was loaded, and on the rows of a file."""
    trained_on = model.trained_on_
    target = request.target or trained_on.target
    if target is None or trained_on.schema is None:
        raise TableError("The model was not trained on a file. Call model.report(X, y) with rows in memory.")
    rule_of(request.rule or "f1", request.amount)  # refuses a wrong rule before the rows are scored
    data = data_of(source)
    deciding = Deciding(request.decide)
    deciding.check(model)
    also = tuple(name for name in (request.time_column, *deciding.columns()) if name is not None)
    roles = Roles(target, trained_on.pos_label, amount=request.amount, keep=also)
    try:
        table = open_to_score(model.model_, data.source, roles, data.reading)
    except TableError as error:
        if f"has no column {target!r}" in str(error):
            error.add_note("For rows without labels, run: selfpaced monitor MODEL DATA")
        raise
    rare_rows(trained_on, table)  # refuses unknown labels
    new = NewCategories()
    scores = (
        None if _fits(table) else scores_of(model.model_, table, model.n_jobs, progress)
    )  # which warns of new categories itself
    report = _report(model, table, request, scores, {}, new if scores is None else None)
    new.warn()
    return report


def _report(
    model: AveragingEnsemble,
    table: StreamedTable,
    request: ReportRequest,
    scores: NDArray[np.float64] | None,
    more: dict[str, Any],
    new: NewCategories | None = None,
) -> Report:
    """Without scores the rows are loaded and scored. With scores, columns are described by a sample of the rows.

    `new` counts the categories in loaded rows that the model was not trained with.
    """
    is_rare, rare = rare_rows(model.trained_on_, table), model.pos_label_
    said: dict[str, Any] = {
        "ids": None if request.id is None else table.column(request.id),
        "target": table.roles.target,
        "threshold": request.rule,
        "amounts": None if request.amount is None else amounts_in(table, request.amount),
        "times": _times(table, request.time_column),
        "decide": request.decide,
        "reference": request.reference,
        "decide_columns": None if request.decide is None else numbers_in(table, parse_decision(request.decide)),
        **more,
    }
    if scores is None:
        # With several labels, the report is about the label to find and all others.
        return make_report(model, table.features(new), np.where(is_rare, rare, None), **said)
    said["train_sample"] = said.pop("X_train", None)
    rows = _rows_worth_having(is_rare, scores)
    chosen = np.zeros(is_rare.size, dtype=bool)
    chosen[rows] = True
    sample = table.part(chosen).features()
    options = {"pos_label": rare, "model": model, "sample": sample, "sample_rows": rows, **said}
    return report_of_scores(is_rare == rare if isinstance(rare, bool) else is_rare, scores, **options)


def _times(table: StreamedTable, column: str | None) -> Any:
    """The times of the rows; None if there is no column of times."""
    if column is None or column not in table.reader.column_names:
        return None
    return moments_in(table.column(column), column)


def _fits(table: StreamedTable) -> bool:
    assert table.n_rows is not None
    n_columns = len(table.schema.columns)
    return table.n_rows * n_columns <= MOST_VALUES_LOADED and fits_in_memory(table.n_rows, n_columns)


def _rows_worth_having(is_rare: NDArray[np.bool_], scores: NDArray[np.float64]) -> NDArray[np.intp]:
    """The rows that are shown one by one, and others at random."""
    shown = np.concatenate(suspect_rows(is_rare, scores))
    some = np.random.default_rng(0).permutation(is_rare.size)[:ROWS_SAMPLED]
    return np.unique(np.concatenate([shown, some])).astype(np.intp)


def run(options: Namespace) -> None:
    talk = Talk(options)
    output = check_output(options.output, [".html"])
    facts = None if options.facts is None else check_output(options.facts, [".json"])
    model = load_ensemble(options.model)
    with talk.progress(what_is_done(options, "scoring")) as progress:
        known = (options.target, options.id, options.rule, options.amount, options.time_column, options.decide)
        request = ReportRequest(*known, read_card(options.model).reference)
        report = report_of_file(model, data_in(options), request, progress)
    report.save(output)
    if facts is not None:
        report.save(facts)
    talk.say(f"The report is in {output}.")
    thresholds = report.facts.thresholds
    talk.result(
        {
            "output": str(output),
            "facts": None if facts is None else str(facts),
            "threshold": thresholds.values[thresholds.suggested],
            "rule": None if thresholds.chosen is None else thresholds.chosen.rule,
        }
    )
