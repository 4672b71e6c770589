"""`selfpaced train`: train a model on a table, and judge it on held-out rows."""

import shlex
from argparse import Namespace
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from selfpaced import thresholds
from selfpaced.calibration import expects_the_rare_rows
from selfpaced.callbacks import seconds_by_phase
from selfpaced.cli import output
from selfpaced.cli.bases import base_named, check_can_be_saved, is_single
from selfpaced.cli.columns import Caution, Floats, Mask, find_leaks
from selfpaced.cli.history import trials_in_words, with_features_of
from selfpaced.cli.opening import (
    FEW_CASES,
    HistoryTrial,
    OpenedSource,
    TableFacts,
    check_output,
    open_source,
    what_is_done,
)
from selfpaced.cli.request import (
    AUTO,
    HistoryRequest,
    TrainRequest,
    amounts_in,
    check_engine_options,
    data_of,
    rule_of,
    times_in,
    zone_for,
)
from selfpaced.cli.splitting import TrainingData, check_guarantee, rows_to_train_on, sides_by_time, split_for
from selfpaced.ensembles import SelfPacedEnsembleClassifier, SingleModelClassifier, Stopwatch, check_classes
from selfpaced.ensembles.auto import AutoSelfPacedClassifier, Columns, base_model, columns_of
from selfpaced.exceptions import TableError
from selfpaced.history import History
from selfpaced.metrics import aucprc, resampled
from selfpaced.monitoring import Reference, make_reference
from selfpaced.persistence import Promotion, TrainingRecord, save_model
from selfpaced.predicting import TableEvaluation, evaluation, rare_rows, scores_of
from selfpaced.storage import shown
from selfpaced.tables import ClassCounts, Progress, Table

N_MEMBERS, N_BINS = 10, 20
FEWEST_ROWS = 3
N_TRIED = 5  # members of the ensembles that show whether a history helps
ROWS_SAMPLED = 20_000
ROWS_COUNTED = 50_000

OpenData = Callable[[TrainRequest, Progress | None], TrainingData]


@dataclass(frozen=True)
class Trained:
    request: TrainRequest
    model: Any
    # The held-out rows, and what is known about all rows. The training rows are not kept.
    data: TrainingData
    is_rare: Mask  # the labels and the scores of the held-out rows, in order
    scores: Floats
    evaluation: TableEvaluation
    leaks: list[Caution]  # columns that nearly determine the target alone
    sweep: thresholds.Sweep  # the alerts at all thresholds
    # The threshold that the rule chose, or else the best one by F1; None if all rows have the same score.
    choice: thresholds.ThresholdChoice | None
    unmet: str | None  # why the rule could not choose the threshold
    warnings: list[str]  # the warnings of the fit
    phases: dict[str, float]  # the seconds of each phase
    train_sample: Any = None  # the features of some training rows, for a report
    stage_scores: list[float] | None = None  # the AUCPRC after each member, for a report

    @property
    def facts(self) -> TableFacts:
        return self.data.facts

    @property
    def seconds(self) -> float:
        return sum(self.phases.values())

    @property
    def cautions(self) -> list[str]:
        """The warnings that concern whoever reads the figures."""
        return [str(one) for one in (*self.leaks, *self.facts.cautions)]

    def reference(self) -> Reference:
        """The distribution of the held-out rows, for monitoring."""
        rows = self.data.some_test_rows(ROWS_COUNTED, self.request.seed)
        threshold = None if self.choice is None else self.choice.threshold
        return make_reference(rows, self.scores, threshold=threshold, is_sample=True)


def open_data(request: TrainRequest, progress: Progress | None = None) -> TrainingData:
    source = open_source(request, progress, for_record=True)
    check_enough(source.facts.labels, request.target)
    if request.history is not None and request.history.entities is None:
        source = with_best_history(request, source)
    return split_for(request, source)


def with_best_history(request: TrainRequest, source: OpenedSource) -> OpenedSource:
    """The source without a history, with its windows, or with known labels too: the last that is better than before.

    They are compared on the last rows of those to train on, by ensembles that are trained on earlier ones. The next
    one is better if its AUCPRC is higher by more than the standard error of the difference.
    """
    history, table = source.facts.history, source.table
    assert history is not None
    assert request.time_column is not None
    windows = replace(history, delay=None, base_rate=None)
    entities = tuple(HistoryRequest(history.entities).columns)
    steps: dict[str, History | None] = {"no history": None, "windows": windows}
    if history.delay is not None:
        steps["windows and known labels"] = history
    known = table.part(rows_to_train_on(request, table))
    train, test, _ = sides_by_time(request, known, request.time_column)
    scores, is_rare = {}, np.empty(0, dtype=bool)
    for name, step in steps.items():
        some = with_features_of(step, history, known)
        base, judged = base_model("lightgbm", columns_of(None, some.schema)), some.part(test)
        model = SelfPacedEnsembleClassifier(base, N_TRIED, n_jobs=request.n_jobs, random_state=request.seed)
        model.fit_table(some.part(train))
        is_rare, scores[name] = rare_rows(model.trained_on_, judged), scores_of(model.model_, judged, request.n_jobs)
    draws, best, trials = resampled(is_rare, scores), "no history", []
    for name in steps:
        gained = draws[name] - draws[best]
        trials.append(HistoryTrial(name, aucprc(is_rare, scores[name]), float(gained.std()), entities))
        if gained.mean() > gained.std():
            best = name
    facts = replace(source.facts, history=steps[best], history_trials=trials)
    chosen = with_features_of(steps[best], history, table)
    return replace(source, table=chosen, facts=replace(facts, schema=chosen.schema))


def train(
    request: TrainRequest,
    progress: Progress | None = None,
    *,
    open_data: OpenData = open_data,
    model: Any = None,
    for_report: bool = False,
) -> Trained:
    """Open, split, fit, score.

    `open_data` opens and splits the rows of a request; on a cluster, there. `model` is the model to fit; by default
    the one that the request describes. `for_report` keeps the rows that only a report needs.
    """
    request.check()
    rule, stopwatch = rule_of(request.rule, request.cost_column), Stopwatch()
    with stopwatch.running("opening"):
        data = open_data(request, progress)
        amounts = amounts_in(data.test, request.cost_column)  # refuses amounts that are not numbers, before the fit
        periods = _periods(request, rule, data.test)
        cautions = check_guarantee(rule, data.test, data_of(request.valid), data.facts.data) if request.valid else []
    if model is None:
        model = model_for(request, columns_of(None, data.facts.schema), calibration_for(request, data.train))
    elif request.callbacks and not isinstance(model, SingleModelClassifier):
        model.set_params(callbacks=list(request.callbacks))
    with output.kept_warnings() as warned_of, stopwatch.running("training"):
        fit_on(model, data.train, data.facts, request.checkpoint)
    with stopwatch.running("looking for leakage"):
        sources = {column.name: column.source for column in data.facts.schema.columns}
        leaks = find_leaks(*data.rare_and_others(model, ROWS_SAMPLED, request.seed), request.seed, sources)
    train_sample = data.train.sample(ROWS_SAMPLED, request.seed) if for_report else None
    data = replace(data, train=None)  # training rows in memory are not needed any more
    with stopwatch.running("scoring held-out rows"):
        is_rare, scores, stage_scores = _scored(data, model, for_report)
    warned_of += cautions
    if data.facts.pos_label is not None:
        warned_of += _common_label(model.pos_label_, is_rare)
    with stopwatch.running("choosing a threshold"):
        sweep, choice, unmet = chosen(is_rare, scores, rule, amounts, periods)
        judged = evaluation(is_rare, scores, None if choice is None else choice.threshold)
    found = (is_rare, scores, judged, leaks, sweep, choice, unmet, warned_of, stopwatch.phases())
    return Trained(request, model, data, *found, train_sample, stage_scores)


def fit_on(model: Any, table: Table, facts: TableFacts, checkpoint: str | None = None) -> None:
    """Train a model on a table. One model of all rows needs them in memory."""
    if not isinstance(model, SingleModelClassifier):
        model.fit_table(table, checkpoint=checkpoint)
    elif facts.in_memory:
        model.fit_table(table)
    else:
        raise TableError(
            "The table is too large for the memory, but one model of all rows needs all of them there. Give fewer rows "
            "or columns, or train an ensemble, such as --base lightgbm."
        )


def _scored(data: TrainingData, model: Any, for_report: bool) -> tuple[Mask, Floats, list[float] | None]:
    """Which held-out rows are rare, and their scores; for a report, also the AUCPRC after each member."""
    if for_report and data.facts.in_memory:
        from selfpaced.cli.commands.report import describes_all_rows, scored_in_stages

        if describes_all_rows(data.test):
            return scored_in_stages(model, data.test)
    return *data.scores(model), None


def model_for(request: TrainRequest, columns: Columns, calibration: str | None) -> Any:
    """A blend of recipes, one ensemble of the kind of members that was asked for, or one model of all rows."""
    if request.base == AUTO:
        return auto_model(request, calibration)
    base = base_named(request.base, columns, request.seed)
    if is_single(request.base):
        how: dict[str, Any] = {"n_jobs": request.n_jobs, "random_state": request.seed}
        return SingleModelClassifier(base, calibration=calibration, **how)
    return SelfPacedEnsembleClassifier(
        base,
        N_MEMBERS if request.members is None else request.members,
        n_bins=N_BINS if request.bins is None else request.bins,
        n_jobs=request.n_jobs,
        random_state=request.seed,
        callbacks=list(request.callbacks),
        calibration=calibration,
    )


def auto_model(request: TrainRequest, calibration: str | None) -> Any:
    return AutoSelfPacedClassifier(
        time_limit=request.time_limit,
        calibration=calibration,
        n_jobs=request.n_jobs,
        random_state=request.seed,
        callbacks=list(request.callbacks),
    )


def calibration_for(request: TrainRequest, train_part: Table) -> str | None:
    """The calibration of a request; None if there are too few rare rows to train copies of members on 80% of them."""
    too_few = train_part.labels().counts.min() < FEW_CASES
    return None if request.calibration == "none" or too_few else request.calibration


def chosen(
    is_rare: Mask, scores: Floats, rule: thresholds.Rule, amounts: Floats | None, periods: Any = None
) -> tuple[thresholds.Sweep, thresholds.ThresholdChoice | None, str | None]:
    """The alerts at all thresholds, and the threshold by the rule.

    If the rule cannot be met, the best threshold by F1 and the reason: the model is kept.
    """
    try:
        sweep = thresholds.sweep_of(
            is_rare, scores, None if amounts is None else thresholds.amounts_of(amounts, is_rare), periods
        )
        if sweep.thresholds.size > 1:
            return sweep, thresholds.choice_from(sweep, rule), None
    except ValueError as error:
        sweep = thresholds.sweep_of(is_rare, scores)
        if sweep.thresholds.size > 1:
            return sweep, thresholds.choice_from(sweep, rule_of("f1", None)), str(error)
    return sweep, None, f"All {scores.size:,} scores are {scores[0]:g}, so no threshold can separate rows."


def _periods(request: TrainRequest, rule: thresholds.Rule, test: Any) -> Any:
    """The period of each held-out row, for a rule such as alerts<=200/day."""
    if thresholds.period_of(rule) is None or request.time_column is None:
        return None
    zone = zone_for(test, rule, request.time_column)
    return thresholds.periods_for(rule, times_in(test, request.time_column, request.time_unit), test.n_rows, zone)


def check_enough(labels: ClassCounts, target: str) -> None:
    """Refuse labels of fewer than two classes, and classes with too few rows to train on and to judge by."""
    smallest = int(labels.counts.argmin())
    if len(labels.names) > 1 and labels.counts[smallest] < FEWEST_ROWS:
        several = " Or name the label to find among all others: --pos-label LABEL." if len(labels.names) > 2 else ""
        raise TableError(
            f"The class {labels.names[smallest]!r} of column {target!r} has {labels.counts[smallest]} row(s); at least "
            f"{FEWEST_ROWS} are needed, two to train on and one to be judged by.{several}"
        )
    check_classes(labels, f"Column {target!r}")


def _common_label(label: Any, has_it: Mask) -> list[str]:
    """A warning if most rows have the label to find that the user has named."""
    n_rows = int(has_it.sum())
    if 2 * n_rows <= has_it.size:
        return []
    return [
        f"{label!r}, the label to find, is not rare: {n_rows:,} of {has_it.size:,} held-out rows have it. The scores "
        "are about this label. Train with a rare label for --pos-label, or without the option."
    ]


def run(options: Namespace) -> None:
    check_engine_options(options, supported=["group"])
    talk, engine = output.Talk(options), options.engine
    place = check_output(options.output, [".skops"])
    page = None if options.report is None else check_output(options.report, [".html"])
    callbacks = talk.callbacks() if engine is None else [] if talk.is_quiet else [output.LogLines()]
    request = TrainRequest.of(options, callbacks)
    request.check()
    check_can_be_saved(request.base)
    if engine is None:
        opening: AbstractContextManager[OpenData] = nullcontext(open_data)
    else:
        from selfpaced.cli.engines import data_on_cluster

        opening = data_on_cluster(options)
    with opening as opened:
        with talk.progress(what_is_done(options, "reading")) as progress:
            trained = train(request, progress, open_data=opened, for_report=page is not None)
        _tell(talk, trained)
        metrics = metrics_of(trained)
        reference = None if options.no_reference else trained.reference()
        record = record_of(trained, options)
        save_model(trained.model, place, metrics=metrics, reference=reference, record=record)
    scores = "scores.parquet" if engine is None else "scores --engine ..."
    scores += "" if trained.facts.history is None else " --past FILE"
    talk.say(f"\nThe model is in {place}. Score rows: selfpaced predict {place} DATA -o {scores}")
    if page is not None:
        from selfpaced.cli.commands.report import report_of_training

        report_of_training(trained).save(page)
        talk.say(f"The report is in {page}.")
    recipes = [asdict(one) for one in getattr(trained.model, "recipes_", ())]
    written = {"model": str(place), "report": None if page is None else str(page)}
    talk.result({**written, **metrics, "recipes": recipes})


def record_of(trained: Trained, options: Namespace, promotions: Sequence[Promotion] = ()) -> TrainingRecord:
    """The record of a training by a command."""
    return TrainingRecord(trained.facts.data, command_of(options), options.author, tuple(promotions))


def command_of(options: Namespace) -> str | None:
    """The command as it was typed, without the passwords of URLs."""
    given = getattr(options, "given", None)
    return None if given is None else shlex.join(["selfpaced", *(shown(str(one)) for one in given)])


def metrics_of(trained: Trained) -> dict[str, Any]:
    """The quality of the model, for its card and for scripts."""
    found, facts, choice = trained.evaluation, trained.facts, trained.choice
    # For a blend, the seconds of all its recipes are added up.
    parts = getattr(trained.model, "ensembles_", {"": trained.model}).values()
    rounds = [note for ensemble in parts for note in getattr(ensemble, "rounds_", [])]
    return {
        **vars(found),
        **({} if choice is None else choice.as_facts()),
        "unmet": trained.unmet,
        "calibration": trained.model.calibration_,
        "chance": found.n_positives / found.n_rows,
        "judged_on": judged_on(trained.request),
        "suspicious": {leak.name: leak.figure for leak in trained.leaks},
        "training": training_of(trained.request),
        "seconds": trained.seconds,
        "phases": trained.phases | {"rounds": seconds_by_phase(rounds)},
        "amount": None if trained.unmet else trained.request.cost_column,
        "history": None if facts.history is None else facts.history.as_dict(),
        "history_trials": [asdict(one) for one in facts.history_trials],
        "dropped": facts.dropped,
        "n_unlabelled": facts.n_unlabelled,
        "not_used": facts.not_used,
        "repeating": {one.name: one.figure for one in facts.cautions if one.kind == "repeats"},
        "warnings": [*(str(one) for one in facts.cautions if one.kind != "repeats"), *trained.warnings],
    }


# The options that a card keeps: `refit` trains with them again, and `suspects` finds the training rows by them.
TRAINING = ("seed", "holdout", "time_column", "time_unit", "delay", "group", "id", "drop_unlabelled")


def training_of(request: TrainRequest) -> dict[str, Any]:
    kept = {name: getattr(request, name) for name in TRAINING}
    others = {"valid": request.valid, "engine": request.engine}
    return kept | {name: str(value) for name, value in others.items() if value is not None}


def judged_on(request: TrainRequest) -> str:
    if request.valid is not None:
        return str(request.valid)
    share = f"{request.holdout:.0%} of the rows"
    by = f"the last {share} by {request.time_column}" if request.time_column else f"{share}"
    if request.group is not None and request.time_column:
        return f"the rows of some groups of {request.group} among {by}; the other groups are trained on"
    if request.group is not None:
        return f"{by}, whole groups of {request.group}"
    return by if request.time_column else f"{by}, drawn at random"


def _tell(talk: output.Talk, trained: Trained) -> None:
    facts, found = trained.facts, trained.evaluation
    talk.say(f"{facts.n_rows:,} rows: {_counts(trained)}. {len(facts.schema.columns)} features.")
    if not facts.in_memory:
        why = "" if trained.request.out_of_core else "The table is too large for the memory. "
        talk.say(f"{why}The files were not loaded, but read once for each member.")
    if facts.n_unlabelled:
        talk.say(f"  dropped {facts.n_unlabelled:,} rows without a label")
    for name, reason in facts.dropped.items():
        talk.say(f"  dropped column {name!r}: {reason}")
    for reason, n_not_used in facts.not_used.items():
        talk.say(f"  not used: {n_not_used:,} rows, {reason}")
    for found_out in trials_in_words(facts.history_trials, facts.history):
        talk.say(f"  {found_out}")
    for warning in (*trained.cautions, *trained.warnings):
        talk.warn(warning)
    if facts.few_cases:
        talk.warn(
            f"the rarest class has only {min(facts.counts.values())} rows, so the figures below are not reliable."
        )
    if trained.choice is None:
        talk.warn("all rows have the same score: the model learned nothing. Try another --base, such as tree.")
    elif trained.unmet is not None:
        talk.warn(f"{trained.unmet} The threshold is the best by F1 instead.", also_quiet=True)
    talk.say()
    talk.headline(output.headline(found, trained.request.target, trained.model.pos_label_, trained.choice))
    talk.say(
        f"Judged on {found.n_rows:,} held-out rows ({judged_on(trained.request)}), {found.n_positives:,} of them rare. "
        f"AUCPRC {found.aucprc:.3f} (chance {found.n_positives / found.n_rows:.2g}). The threshold is "
        f"{found.threshold}, {output.origin(trained.choice)}. Training and judging took {trained.seconds:.1f} s."
    )
    if trained.choice is not None:
        talk.say(output.promise(trained.choice))
        for line in thresholds.zone_lines(trained.choice.zones, trained.choice.zone_figures):
            talk.say(f"  {line}")
    talk.say(meaning(trained))
    if recipes := getattr(trained.model, "recipes_", ()):  # an ensemble of one kind of members has none
        talk.say(f"\n{output.recipe_table(recipes)}")


def meaning(trained: Trained) -> str:
    calibration, judged = trained.model.calibration_, trained.evaluation
    if calibration is None:
        few = "" if trained.request.calibration == "none" else "There are too few rare rows for a calibration. "
        return f"{few}Scores only rank rows. They are not probabilities."
    found = f"Scores are calibrated ({calibration}). On the held-out rows they {output.expected(judged)}."
    if expects_the_rare_rows(judged.mean_score, judged.n_rows, judged.n_positives):
        return found
    return (
        f"{found} So they are not probabilities there: the held-out rows differ from the training rows. Use the scores "
        "to rank rows. The report shows which columns differ."
    )


def _counts(trained: Trained) -> str:
    """The number of rows of each label, or of the label to find and of all others."""
    counts = trained.facts.counts
    if trained.facts.pos_label is not None and True in counts:
        return f"{counts[True]:,} of {trained.model.pos_label_!r}, {counts[False]:,} others"
    return ", ".join(f"{count:,} of {name!r}" for name, count in counts.items())
