"""`selfpaced report`: a page about a model and the rows that it is judged by."""

from argparse import Namespace
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from selfpaced.cli.columns import Floats, Mask
from selfpaced.cli.commands.evaluate import UNKNOWN, Known, known_from
from selfpaced.cli.commands.train import ROWS_SAMPLED, Trained
from selfpaced.cli.history import rows_to_score, trials_in_words
from selfpaced.cli.opening import check_output, fits_in_memory, labelled_rows, what_is_done
from selfpaced.cli.output import Talk
from selfpaced.cli.request import (
    Deciding,
    amounts_in,
    check_times_of,
    data_of,
    numbers_in,
    request_from,
    rule_of,
    target_of,
    times_in,
    zone_for,
)
from selfpaced.cli.splitting import check_guarantee
from selfpaced.exceptions import TableError
from selfpaced.metrics import aucprc
from selfpaced.monitoring import Reference
from selfpaced.persistence import load_ensemble, read_card
from selfpaced.predicting import RowsDone, open_to_score, rare_rows, scores_of
from selfpaced.report import Report, has_stages, highest_rows, report_of_scores, suspect_rows
from selfpaced.scoring import over_stream
from selfpaced.tables import NewCategories, Roles, with_open_categories
from selfpaced.tables.files import StreamedTable
from selfpaced.thresholds import Rule, parse_decision

MOST_VALUES_LOADED = 2**24  # larger tables are described by a sample; a loaded value takes about 30 bytes


@dataclass(frozen=True)
class ReportRequest:
    """The options of a report. `selfpaced report --help` explains those of the command line."""

    target: str | None = None
    id: str | None = None
    drop_unlabelled: bool = False
    rule: str | None = None
    amount: str | None = None
    time_column: str | None = None
    time_unit: str | None = None
    decide: str | None = None
    by: str | None = None
    reference: Reference | None = None  # the distribution of the rows that the model was judged by, to measure drift
    known: Known = UNKNOWN  # the model's threshold and zones, which are shown if there is no other rule


def describes_all_rows(table: StreamedTable) -> bool:
    """Whether a report looks at all rows of a table; otherwise at a sample."""
    assert table.n_rows is not None
    n_columns = len(table.schema.columns)
    return table.n_rows * n_columns <= MOST_VALUES_LOADED and fits_in_memory(table.n_rows, n_columns)


def scored_in_stages(
    model: Any, table: StreamedTable, progress: RowsDone | None = None
) -> tuple[Mask, Floats, list[float] | None]:
    """Which rows are rare, their scores, and the AUCPRC after each member, in one pass.

    A blend, and a model that was fitted with an eval_set, have no such stages: None.
    """
    is_rare, column = rare_rows(model.trained_on_, table), model.trained_on_.score_column
    if not has_stages(model):
        return is_rare, scores_of(model.model_, table, model.n_jobs, progress), None
    parts, new, scorers = [], NewCategories(), model.model_.scorers[0]

    def stages_of(batch: Any) -> tuple[int, list[Floats]]:
        batch.check()
        rows = replace(batch, new_categories=new).features().to_pandas()
        return batch.stop, [stage[:, column].copy() for stage in model.model_.staged(rows, 1)]

    # Batches are scored side by side, and one at a time by members with their own threads.
    n_threads = min([effective_n_jobs(model.n_jobs), *(each.threads for each in scorers if each.threads is not None)])
    for n_scored, found in over_stream(stages_of, table.batches(), n_threads):
        parts.append(found)
        if progress is not None:
            progress(n_scored, table.n_rows)
    new.warn()
    stages = [np.concatenate(stage) for stage in zip(*parts, strict=True)]
    return is_rare, stages[-1], [aucprc(is_rare, stage) for stage in stages]


def report_of_training(trained: Trained) -> Report:
    """A report on a model that has just been trained, and on its held-out rows."""
    asked = trained.request
    more = {
        "train_sample": trained.train_sample,
        "dropped": trained.facts.dropped,
        "cautions": [*trials_in_words(trained.facts.history_trials, trained.facts.history), *trained.cautions],
        "stage_scores": trained.stage_scores,
        "choice": trained.choice,
        "sweep": trained.sweep,
    }
    amount = None if trained.unmet else asked.amount
    known = {name: getattr(asked, name) for name in ("target", "id", "time_column", "time_unit")}
    request = ReportRequest(**known, amount=amount)
    whole = trained.facts.in_memory and describes_all_rows(trained.data.test)
    if trained.choice is not None:
        more["timezone"] = zone_for(trained.data.test, trained.choice.rule, asked.time_column)
    return _report(trained.model, trained.data.test, request, (trained.is_rare, trained.scores), whole, more)


def report_of_file(model: Any, source: Any, request: ReportRequest, progress: RowsDone | None = None) -> Report:
    """A report on a model that was loaded, and on the rows of a file."""
    trained_on = model.trained_on_
    target = target_of(request.target, model)
    if request.time_unit is not None and request.time_column is None:
        raise TableError(f"--time-unit {request.time_unit} needs the times of the rows. Name them: --time-column COL.")
    rule: Rule = rule_of(request.rule or "f1", request.amount)  # refuses a wrong rule before the rows are scored
    known, own = request.known, request.known.threshold if request.rule is None else None
    check_times_of(rule, request.time_column)
    deciding = Deciding(request.decide)
    deciding.check(model)
    data = data_of(source)
    also = tuple(name for name in (request.time_column, request.by, *deciding.columns()) if name is not None)
    roles = Roles(target, trained_on.pos_label, amount_column=request.amount, keep=also)
    try:
        table = open_to_score(model.model_, data.source, roles, data.reading)
    except TableError as error:
        if f"has no column {target!r}" in str(error):
            error.add_note("For rows without labels, run: selfpaced monitor MODEL DATA")
        raise
    if request.drop_unlabelled:
        table = table.part(labelled_rows(table.reader, target))
    is_rare = rare_rows(trained_on, table)  # refuses unknown labels
    more: dict[str, Any] = {"cautions": check_guarantee(rule, table, data, known.data), "threshold": request.rule}
    if own is not None:
        more |= {"threshold": own, "zones": known.zones, "chosen_by": known.rule}
        rule = known.rule or rule
    more["timezone"] = zone_for(table, rule, request.time_column)
    whole = describes_all_rows(table)
    if whole:
        _, scores, more["stage_scores"] = scored_in_stages(model, table, progress)
    else:
        scores = scores_of(model.model_, table, model.n_jobs, progress)
    return _report(model, table, request, (is_rare, scores), whole, more)


def _report(
    model: Any,
    table: StreamedTable,
    request: ReportRequest,
    scored: tuple[Mask, Floats],
    whole: bool,
    more: dict[str, Any],
) -> Report:
    """The columns of all rows are described if `whole`, and otherwise those of a sample."""
    is_rare, scores = scored
    rows = None if whole else _rows_worth_having(is_rare, scores)
    chosen = np.ones(is_rare.size, dtype=bool) if rows is None else np.isin(np.arange(is_rare.size), rows)
    rare, has_times = model.pos_label_, request.time_column in table.reader.column_names
    times = times_in(table, request.time_column, request.time_unit) if request.time_column and has_times else None
    return report_of_scores(
        is_rare == rare if isinstance(rare, bool) else is_rare,
        scores,
        pos_label=rare,
        model=model,
        # New categories are values of their own, as in monitoring. The model reads them as missing values.
        sample=replace(table, schema=with_open_categories(table.schema)).part(chosen).features(),
        sample_rows=rows,
        ids=None if request.id is None else table.column(request.id),
        target=table.roles.target,
        amounts=amounts_in(table, request.amount),
        times=times,
        decide=request.decide,
        decide_columns=numbers_in(table, None if request.decide is None else parse_decision(request.decide)),
        reference=request.reference,
        groups=None if request.by is None else table.column(request.by),
        groups_name=request.by or "",
        **more,
    )


def _rows_worth_having(is_rare: Mask, scores: Floats) -> NDArray[np.intp]:
    """The rows that are shown one by one, and others at random."""
    shown = np.concatenate([*suspect_rows(is_rare, scores), highest_rows(scores)])
    some = np.random.default_rng(0).permutation(is_rare.size)[:ROWS_SAMPLED]
    return np.unique(np.concatenate([shown, some])).astype(np.intp)


def run(options: Namespace) -> None:
    talk = Talk(options)
    output = check_output(options.output, [".html", ".json"])
    model = load_ensemble(options.model)
    with talk.progress(what_is_done(options, "scoring")) as progress:
        card = read_card(options.model)
        known = known_from(card.metrics, card.record)
        request = request_from(ReportRequest, options, reference=card.reference, known=known)
        report = report_of_file(model, rows_to_score(options, model, card.metrics), request, progress)
    report.save(output)
    talk.say(f"The report is in {output}.")
    thresholds = report.facts.thresholds
    talk.result(
        {
            "output": str(output),
            "threshold": thresholds.values[thresholds.suggested],
            "rule": thresholds.chosen_by if thresholds.chosen is None else thresholds.chosen.rule,
        }
    )
