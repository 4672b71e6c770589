"""`selfpaced train`"""

from __future__ import annotations

from abc import ABC, abstractmethod
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.calibration import expects_the_rare_rows
from selfpaced.callbacks import Callback, seconds_by_phase
from selfpaced.cli.data.cautions import Leak, by_column, find_leaks, kept_warnings, leaking
from selfpaced.cli.data.deciding import amounts_in, rule_of
from selfpaced.cli.data.opening import OpenedSource, Wanted, check_output, data_in, open_source, what_is_done
from selfpaced.cli.data.request import AUTO, TrainRequest, check_options
from selfpaced.cli.data.splitting import TrainingSplit, split_for
from selfpaced.cli.output import (
    WHAT_THEY_ARE,
    Talk,
    chance,
    expected,
    headline,
    origin,
    promise,
    recipe_table,
    recipes_of,
    repetition,
)
from selfpaced.cli.parser import check_engine_options
from selfpaced.ensembles import SelfPacedEnsembleClassifier, check_classes
from selfpaced.ensembles.auto import AutoSelfPacedClassifier, Columns, base_model, columns_of
from selfpaced.ensembles.fitting import Stopwatch
from selfpaced.exceptions import TableError
from selfpaced.monitoring import Reference, make_reference
from selfpaced.persistence import save_model
from selfpaced.predicting import TableEvaluation, evaluation, rare_rows, scores_of
from selfpaced.tables import ClassCounts, Progress, Roles, Table
from selfpaced.tables.files import StreamedTable
from selfpaced.thresholds import Rule, ThresholdChoice, choose_threshold

if TYPE_CHECKING:
    from selfpaced.cli.data.engines import TrainedOnCluster


FEW_CASES = 20


class TrainOutcome(ABC):
    """A trained model and its scores of the held-out rows."""

    model: Trainable
    scores: NDArray[np.float64]
    phases: dict[str, float]

    @property
    @abstractmethod
    def labels(self) -> ClassCounts:
        """The labels of all rows."""

    @property
    def seconds(self) -> float:
        """The time of all phases."""
        return sum(self.phases.values())

    @property
    def rounds_seconds(self) -> dict[str, float]:
        """The seconds of training by task. For a blend, the seconds of all its recipes are added up."""
        model = self.model
        ensembles = list(model.ensembles_.values()) if isinstance(model, AutoSelfPacedClassifier) else [model]
        return seconds_by_phase([note for ensemble in ensembles for note in ensemble.rounds_])

    @property
    def counts(self) -> dict[Any, int]:
        """How many rows each label has."""
        return dict(zip(self.labels.names, self.labels.counts.tolist(), strict=True))

    @property
    def learned_nothing(self) -> bool:
        """Whether all rows got the same score."""
        return bool(self.scores.min() == self.scores.max())

    @property
    def few_cases(self) -> bool:
        """Whether there are too few rare rows for reliable figures."""
        return min(self.counts.values()) < FEW_CASES


N_MEMBERS, N_BINS = 10, 20

Trainable = AutoSelfPacedClassifier | SelfPacedEnsembleClassifier


def model_for(request: TrainRequest, columns: Columns, calibration: str | None) -> Trainable:
    """A blend of recipes, or one ensemble of the kind of members that was asked for."""
    if request.base == AUTO:
        return auto_model(request, calibration)
    return SelfPacedEnsembleClassifier(
        base_model(request.base, columns),
        N_MEMBERS if request.members is None else request.members,
        n_bins=N_BINS if request.bins is None else request.bins,
        n_jobs=request.n_jobs,
        random_state=request.seed,
        callbacks=list(request.callbacks),
        calibration=calibration,
    )


def auto_model(request: TrainRequest, calibration: str | None) -> AutoSelfPacedClassifier:
    return AutoSelfPacedClassifier(
        time_limit=request.time_limit,
        calibration=calibration,
        n_jobs=request.n_jobs,
        random_state=request.seed,
        callbacks=list(request.callbacks),
    )


FEWEST_ROWS = 3
ROWS_SAMPLED = 20_000
ROWS_COUNTED = 50_000


@dataclass(frozen=True)
class Trained(TrainOutcome):
    """A trained model, its training rows, and its quality on the held-out rows.

    Attributes
    ----------
    split : Split
        The training rows and the held-out rows.
    is_rare, scores
        The labels and the scores of the held-out rows, in order.
    leaks : list[Leak]
        Columns that nearly determine the target alone.
    choice : ThresholdChoice | None
        The threshold that the rule chose, or else the best one by F1; None if all rows have the same score.
    unmet : str | None
        Why the rule could not choose the threshold.
    warnings : list[str]
        The warnings of the fit.
    phases : dict[str, float]
        The seconds of each phase, and within training those of the rounds.
    """

    request: TrainRequest
    model: Trainable
    source: OpenedSource
    split: TrainingSplit
    is_rare: NDArray[np.bool_]
    scores: NDArray[np.float64]
    evaluation: TableEvaluation
    leaks: list[Leak]
    choice: ThresholdChoice | None
    unmet: str | None
    warnings: list[str]
    phases: dict[str, float]

    @property
    def labels(self) -> ClassCounts:
        """The labels of all rows."""
        return self.source.labels

    @property
    def train(self) -> StreamedTable:
        """The rows trained on."""
        return self.split.train

    @property
    def test(self) -> StreamedTable:
        """The rows held out."""
        return self.split.test

    @property
    def rare_label(self) -> Any:
        """The label whose probability is the score, as it is written in the data."""
        return self.model.pos_label_


def train(request: TrainRequest, progress: Progress | None = None) -> Trained:
    """Open, split, fit, score."""
    stopwatch = Stopwatch()
    check_options(request)
    rule_of(request.rule, request.amount)  # refuses a wrong rule before an hour of work
    with stopwatch.running("opening"):
        source = open_for(request, progress)
        check_enough(source.labels, request.target)
        split = split_for(request, source)
        if request.amount is not None:
            amounts_in(split.test, request.amount)  # refuses amounts that are not numbers
    model = model_for(request, columns_of(None, source.table.schema), calibration_for(request, split.train))
    return fitted_and_judged(request, source, split, model, stopwatch)


def fitted_and_judged(
    request: TrainRequest, source: OpenedSource, split: TrainingSplit, model: Trainable, stopwatch: Stopwatch
) -> Trained:
    """Train a model on one side of a split, and judge it on the other. The stopwatch is already running."""
    rule = rule_of(request.rule, request.amount)
    amounts = None if request.amount is None else amounts_in(split.test, request.amount)
    with kept_warnings() as warned_of, stopwatch.running("training"):
        model.fit_table(split.train, checkpoint=request.checkpoint)
    with stopwatch.running("scoring held-out rows"):
        is_rare = rare_rows(model.trained_on_, split.test)
        scores = scores_of(model.model_, split.test, model.n_jobs)
    if source.table.roles.pos_label is not None:
        warned_of += _common_label(model.pos_label_, is_rare)
    with stopwatch.running("looking for leakage"):
        leaks = _leaks(model, split.train, request.seed)
    with stopwatch.running("choosing a threshold"):
        choice, unmet = chosen(is_rare, scores, rule, amounts)
        judged = evaluation(is_rare, scores, None if choice is None else choice.threshold)
    found = (is_rare, scores, judged, leaks, choice, unmet, warned_of, stopwatch.phases())
    return Trained(request, model, source, split, *found)


def _common_label(label: Any, has_it: NDArray[np.bool_]) -> list[str]:
    """A warning if most rows have the label to find that the user has named."""
    n_rows = int(has_it.sum())
    if 2 * n_rows <= has_it.size:
        return []
    return [
        f"{label!r}, the label to find, is not rare: {n_rows:,} of {has_it.size:,} held-out rows have it. The scores "
        "are about this label. Train with a rare label for --pos-label, or without the option."
    ]


def reference_of_training(trained: Trained) -> Reference:
    """The distribution of the held-out rows, for monitoring."""
    test = trained.test
    assert test.n_rows is not None
    some = np.zeros(test.n_rows, dtype=bool)
    some[np.linspace(0, test.n_rows - 1, min(test.n_rows, ROWS_COUNTED)).astype(np.intp)] = True
    threshold = None if trained.choice is None else trained.choice.threshold
    return make_reference(test.part(some).features(), trained.scores, threshold=threshold)


def calibration_for(request: TrainRequest, train_part: Table) -> str | None:
    """The calibration of a request; None if there are too few rare rows to train copies of members on 80% of them."""
    too_few = train_part.labels().counts.min() < FEW_CASES
    return None if request.calibration == "none" or too_few else request.calibration


def chosen(
    is_rare: NDArray[np.bool_], scores: NDArray[np.float64], rule: Rule, amounts: NDArray[np.float64] | None
) -> tuple[ThresholdChoice | None, str | None]:
    """The threshold by the rule. If the rule cannot be met, the best one by F1 and the reason: the model is kept."""
    try:
        return choose_threshold(is_rare, scores, rule, amounts=amounts), None
    except ValueError as error:
        alike = scores.min() == scores.max()
        return None if alike else choose_threshold(is_rare, scores, "f1"), str(error)


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


def open_for(request: TrainRequest, progress: Progress | None = None, also: Sequence[str] = ()) -> OpenedSource:
    """The table of a request. `also` are further columns that will be read; they may be features too."""
    keep = () if request.id is None else (request.id,)
    roles = Roles(
        request.target,
        request.pos_label,
        amount=request.amount,
        time=request.time_column,
        group=request.group,
        keep=keep,
    )
    wanted = Wanted(
        request.source,
        roles,
        request.exclude,
        request.out_of_core,
        also,
        request.columns,
        request.drop_unlabelled,
    )
    return open_source(wanted, progress)


def _leaks(model: Trainable, table: StreamedTable, seed: int) -> list[Leak]:
    """A sample of all rows, with the rare ones among them, to search for leakage. It is fast and large enough."""
    is_rare = rare_rows(model.trained_on_, table)
    n_common = ROWS_SAMPLED / max(is_rare.size - is_rare.sum(), 1)
    chosen = is_rare | (np.random.default_rng(seed).random(is_rare.size) < n_common)
    sources = {column.name: column.source for column in table.schema.columns}
    return by_column(find_leaks(table.part(chosen).features(), is_rare[chosen], seed), sources)


# Options that need the rows, or an order of them, on this machine.
NOT_ON_A_CLUSTER = (
    "valid",
    "time_column",
    "delay",
    "pos_label",
    "amount",
    "drop_unlabelled",
    "out_of_core",
    "report",
    "query",
    "cache",
    "snapshot",
)


def run(options: Namespace) -> None:
    check_engine_options(options, NOT_ON_A_CLUSTER)
    if options.engine is not None:
        from selfpaced.cli.data.engines import run_on_a_cluster

        run_on_a_cluster(options)
        return
    talk = Talk(options)
    output = check_output(options.output, [".skops"])
    page = None if options.report is None else check_output(options.report, [".html"])
    with talk.progress(what_is_done(options, "reading")) as progress:
        trained = train(request_of(options, talk.callbacks()), progress)
    _tell(talk, trained)
    reference = None if options.no_reference else reference_of_training(trained)
    save_model(trained.model, output, metrics=metrics_of(trained), reference=reference)
    talk.say(f"\nThe model is in {output}. Score rows: selfpaced predict {output} DATA -o scores.parquet")
    if page is not None:
        from selfpaced.cli.commands.report import report_of_training

        report_of_training(trained).save(page)
        talk.say(f"The report is in {page}.")
    recipes = [asdict(one) for one in recipes_of(trained.model)]
    written = {"model": str(output), "report": None if page is None else str(page)}
    talk.result({**written, **metrics_of(trained), "recipes": recipes})


def request_of(options: Namespace, callbacks: Sequence[Callback]) -> TrainRequest:
    """The options of a command as those of a training. Options that the command lacks have their defaults."""
    names = {field.name for field in fields(TrainRequest)}
    given = {name: value for name, value in vars(options).items() if name in names}
    return TrainRequest(data_in(options), callbacks=callbacks, **given)


def metrics_of(trained: Trained) -> dict[str, Any]:
    """The quality of the model, for its card and for scripts."""
    return {
        **_judgement_of(trained),
        "amount": None if trained.unmet else trained.request.amount,
        "dropped": {column.name: column.reason for column in trained.source.dropped},
        "n_unlabelled": trained.source.n_unlabelled,
        "not_used": trained.split.not_used,
        "repeating": {one.name: one.share for one in trained.split.repeating},
        "warnings": [*trained.split.warnings, *trained.warnings],
    }


def metrics_of_cluster(trained: TrainedOnCluster, engine: str) -> dict[str, Any]:
    """The same of a model that was trained on a cluster, where no column is dropped and no row left out."""
    nothing: dict[str, Any] = {"amount": None, "dropped": {}, "n_unlabelled": 0, "not_used": {}, "repeating": {}}
    training = {**training_of(trained.request), "engine": engine}
    return {**_judgement_of(trained), **nothing, "training": training, "warnings": trained.warnings}


def _judgement_of(trained: Trained | TrainedOnCluster) -> dict[str, Any]:
    return {
        **vars(trained.evaluation),
        **({} if trained.choice is None else trained.choice.as_facts()),
        "unmet": trained.unmet,
        "calibration": trained.model.calibration_,
        "chance": trained.evaluation.n_positives / trained.evaluation.n_rows,
        "judged_on": judged_on(trained.request),
        "suspicious": {leak.name: leak.aucprc for leak in trained.leaks},
        "training": training_of(trained.request),
        "seconds": trained.seconds,
        "phases": trained.phases | {"rounds": trained.rounds_seconds},
    }


# The options that a card keeps: `refit` trains with them again, and `suspects` finds the training rows by them.
TRAINING = ("seed", "holdout", "time_column", "delay", "group", "id", "drop_unlabelled")


def training_of(request: TrainRequest) -> dict[str, Any]:
    """How the model was trained, as its card keeps it."""
    kept = {name: getattr(request, name) for name in TRAINING}
    return kept if request.valid is None else {**kept, "valid": str(request.valid)}


def judged_on(request: TrainRequest) -> str:
    """Which rows a model is judged by, in words."""
    if request.valid is not None:
        return str(request.valid)
    share = f"{request.holdout:.0%} of the rows"
    by = f"the last {share} by {request.time_column}" if request.time_column else f"{share}"
    if request.group is not None and request.time_column:
        return f"the rows of some groups of {request.group} among {by}; the other groups are trained on"
    if request.group is not None:
        return f"{by}, whole groups of {request.group}"
    return by if request.time_column else f"{by}, drawn at random"


def _tell(talk: Talk, trained: Trained) -> None:
    source = trained.source
    talk.say(f"{source.n_rows:,} rows: {_counts(trained)}. {len(source.table.schema.columns)} features.")
    if not source.in_memory:
        why = "" if trained.request.out_of_core else "The table is too large for the memory. "
        talk.say(f"{why}The files were not loaded, but read once for each member.")
    if source.n_unlabelled:
        talk.say(f"  dropped {source.n_unlabelled:,} rows without a label")
    for column in source.dropped:
        talk.say(f"  dropped column {column.name!r}: {column.reason}")
    tell_leaks(talk, trained.leaks)
    for reason, n_rows in trained.split.not_used.items():
        talk.say(f"  not used: {n_rows:,} rows, {reason}")
    for warning in trained.split.warnings:
        talk.warn(warning)
    for one in trained.split.repeating:
        talk.warn(repetition(one))
    tell_judgement(talk, trained)


def tell_leaks(talk: Talk, leaks: Sequence[Leak]) -> None:
    """Warn of columns that nearly decide the target."""
    for leak in leaks:
        talk.warn(leaking(leak))


def tell_judgement(talk: Talk, trained: Trained | TrainedOnCluster) -> None:
    """What is unusual about the training, and what the model is worth."""
    found = trained.evaluation
    for warning in trained.warnings:
        talk.warn(warning)
    if trained.few_cases:
        talk.warn(
            f"the rarest class has only {min(trained.counts.values())} rows, so the figures below are not reliable."
        )
    if trained.learned_nothing:
        talk.warn("all rows have the same score: the model learned nothing. Try another --base, such as tree.")
    elif trained.unmet is not None:
        talk.warn(f"{trained.unmet} The threshold is the best by F1 instead.")
    talk.say()
    talk.headline(headline(found, trained.request.target, trained.model.pos_label_, trained.choice))
    talk.say(
        f"Judged on {found.n_rows:,} held-out rows ({judged_on(trained.request)}), {found.n_positives:,} of them rare. "
        f"AUCPRC {found.aucprc:.3f} (chance {chance(found)}). The threshold is {found.threshold}, "
        f"{origin(trained.choice)}. Training and judging took {trained.seconds:.1f} s."
    )
    if trained.choice is not None:
        talk.say(promise(trained.choice))
    talk.say(_meaning(trained))
    if recipes := recipes_of(trained.model):
        talk.say(f"\n{WHAT_THEY_ARE}\n\n{recipe_table(recipes)}")


def _meaning(trained: Trained | TrainedOnCluster) -> str:
    """What the scores mean."""
    calibration = trained.model.calibration_
    if calibration is not None:
        judged = trained.evaluation
        found = expected(judged)
        if expects_the_rare_rows(judged.mean_score, judged.n_rows, judged.n_positives):
            return f"Scores are probabilities ({calibration} calibration): they expect {found}."
        return (
            f"Scores are calibrated ({calibration}), but not for the held-out rows: they expect {found}. The held-out "
            "rows differ from the training rows. Use the scores to rank rows. The report shows which columns differ."
        )
    few = "" if trained.request.calibration == "none" else "There are too few rare rows for a calibration. "
    return f"{few}Scores only rank rows. They are not probabilities."


def _counts(trained: Trained) -> str:
    """The number of rows of each label, or of the label to find and of all others."""
    counts = trained.counts
    if trained.source.table.roles.pos_label is not None and True in counts:
        return f"{counts[True]:,} of {trained.rare_label!r}, {counts[False]:,} others"
    return ", ".join(f"{count:,} of {name!r}" for name, count in counts.items())
