"""`selfpaced train`: train a model on a table, and judge it on held-out rows."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfpaced.calibration import expects_the_rare_rows
from selfpaced.callbacks import seconds_by_phase
from selfpaced.cli.opening import check_output, open_source, what_is_done
from selfpaced.cli.output import (
    WHAT_THEY_ARE,
    RoundLines,
    Talk,
    chance,
    ensembles_of,
    expected,
    headline,
    kept_warnings,
    origin,
    promise,
    recipe_table,
    recipes_of,
)
from selfpaced.cli.request import AUTO, Floats, TrainRequest, amounts_in, check_engine_options, rule_of
from selfpaced.cli.splitting import FEW_CASES, TableFacts, TrainingData, split_for
from selfpaced.ensembles import SelfPacedEnsembleClassifier, Stopwatch, check_classes
from selfpaced.ensembles.auto import AutoSelfPacedClassifier, Columns, base_model, columns_of
from selfpaced.exceptions import TableError
from selfpaced.monitoring import Reference, make_reference
from selfpaced.persistence import save_model
from selfpaced.predicting import TableEvaluation, evaluation
from selfpaced.tables import ClassCounts, Progress, Table
from selfpaced.thresholds import Rule, ThresholdChoice, choose_threshold

N_MEMBERS, N_BINS = 10, 20
FEWEST_ROWS = 3
ROWS_SAMPLED = 20_000
ROWS_COUNTED = 50_000

OpenData = Callable[[TrainRequest, Progress | None], TrainingData]


@dataclass(frozen=True)
class Trained:
    """A trained model, and its quality on the held-out rows."""

    request: TrainRequest
    model: Any
    # The held-out rows, and what is known about all rows. The training rows are not kept.
    data: TrainingData
    is_rare: NDArray[np.bool_]  # the labels and the scores of the held-out rows, in order
    scores: Floats
    evaluation: TableEvaluation
    leaks: list[Leak]  # columns that nearly determine the target alone
    # The threshold that the rule chose, or else the best one by F1; None if all rows have the same score.
    choice: ThresholdChoice | None
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
        """The time of all phases."""
        return sum(self.phases.values())

    @property
    def learned_nothing(self) -> bool:
        """Whether all rows got the same score."""
        return bool(self.scores.min() == self.scores.max())

    @property
    def cautions(self) -> list[str]:
        """The warnings that concern whoever reads the figures."""
        facts = self.facts
        return [one.warning() for one in self.leaks] + [*facts.warnings] + [one.warning() for one in facts.repeating]

    def reference(self) -> Reference:
        """The distribution of the held-out rows, for monitoring."""
        threshold = None if self.choice is None else self.choice.threshold
        some_rows = self.data.some_test_rows(ROWS_COUNTED, self.request.seed)
        return make_reference(some_rows, self.scores, threshold=threshold, is_sample=True)


def open_data(request: TrainRequest, progress: Progress | None = None) -> TrainingData:
    """Open the rows of a request, and hold some of them out."""
    source = open_source(request, progress)
    check_enough(source.labels, request.target)
    return split_for(request, source)


def train(
    request: TrainRequest,
    progress: Progress | None = None,
    *,
    open_data: OpenData = open_data,
    model: Any = None,
    for_report: bool = False,
) -> Trained:
    """Open, split, fit, score.

    Parameters
    ----------
    open_data : OpenData
        Opens and splits the rows of a request; on a cluster, there.
    model : Any, default=None
        The model to fit; by default the one that the request describes.
    for_report : bool, default=False
        Whether the rows that only a report needs are kept.
    """
    request.check()
    rule, stopwatch = rule_of(request.rule, request.amount), Stopwatch()
    with stopwatch.running("opening"):
        data = open_data(request, progress)
        amounts = amounts_in(data.test, request.amount)  # refuses amounts that are not numbers, before the fit
    if model is None:
        model = model_for(request, columns_of(None, data.facts.schema), calibration_for(request, data.train))
    with kept_warnings() as warned_of, stopwatch.running("training"):
        model.fit_table(data.train, checkpoint=request.checkpoint)
    with stopwatch.running("looking for leakage"):
        leaks = leaks_in(data, model, request.seed)
    train_sample = data.train.sample(ROWS_SAMPLED, request.seed) if for_report else None
    data = replace(data, train=None)  # training rows in memory are not needed any more
    with stopwatch.running("scoring held-out rows"):
        is_rare, scores, stage_scores = _scored(data, model, for_report)
    if data.facts.pos_label is not None:
        warned_of += _common_label(model.pos_label_, is_rare)
    with stopwatch.running("choosing a threshold"):
        choice, unmet = chosen(is_rare, scores, rule, amounts)
        judged = evaluation(is_rare, scores, None if choice is None else choice.threshold)
    found = (is_rare, scores, judged, leaks, choice, unmet, warned_of, stopwatch.phases())
    return Trained(request, model, data, *found, train_sample, stage_scores)


def _scored(data: TrainingData, model: Any, for_report: bool) -> tuple[NDArray[np.bool_], Floats, list[float] | None]:
    """Which held-out rows are rare, and their scores; for a report, also the AUCPRC after each member."""
    if for_report and data.facts.in_memory:
        from selfpaced.cli.commands.report import describes_all_rows, scored_in_stages

        if describes_all_rows(data.test):
            return scored_in_stages(model, data.test)
    return *data.scores(model), None


def model_for(request: TrainRequest, columns: Columns, calibration: str | None) -> Any:
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
    is_rare: NDArray[np.bool_], scores: Floats, rule: Rule, amounts: Floats | None
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


def _common_label(label: Any, has_it: NDArray[np.bool_]) -> list[str]:
    """A warning if most rows have the label to find that the user has named."""
    n_rows = int(has_it.sum())
    if 2 * n_rows <= has_it.size:
        return []
    return [
        f"{label!r}, the label to find, is not rare: {n_rows:,} of {has_it.size:,} held-out rows have it. The scores "
        "are about this label. Train with a rare label for --pos-label, or without the option."
    ]


# A warning names a column whose tree reaches at least this AUCPRC on held-out rows.
NEARLY_DECIDES = 0.85
# If more rows than this share are rare, a high AUCPRC is easy to reach and means little.
MOST_POSITIVES = 0.5
LEAVES = 8
FEWEST_POSITIVES = 10


@dataclass(frozen=True)
class Leak:
    """A column that nearly decides the target, and the AUCPRC that it reaches alone.

    >>> Leak("closed", 0.98).warning()[:70]
    "column 'closed' alone nearly determines the target (AUCPRC 0.98). If i"
    """

    name: str
    aucprc: float

    def warning(self) -> str:
        return (
            f"column {self.name!r} alone nearly determines the target (AUCPRC {self.aucprc:.2f}). If its values are "
            f"not known when the model is used, exclude it: --exclude {self.name!r}"
        )


def find_leaks(frame: Any, is_rare: NDArray[np.bool_], seed: int) -> list[Leak]:
    """Try each column alone: train a small tree on half of the rows and judge it on the other half."""
    from sklearn.metrics import average_precision_score
    from sklearn.tree import DecisionTreeClassifier

    order = np.random.default_rng(seed).permutation(len(frame))
    order = order[np.argsort(is_rare[order], kind="stable")]
    one, other = order[::2], order[1::2]
    if min(is_rare[one].sum(), is_rare[other].sum()) < FEWEST_POSITIVES or is_rare.mean() > MOST_POSITIVES:
        return []
    leaks = []
    for name in frame.columns:
        column = _numbers(frame[name]).reshape(-1, 1)
        tree = DecisionTreeClassifier(max_leaf_nodes=LEAVES, class_weight="balanced", random_state=seed)
        scores = tree.fit(column[one], is_rare[one]).predict_proba(column[other])[:, 1]
        found = float(average_precision_score(is_rare[other], scores))
        if found >= NEARLY_DECIDES:
            leaks.append(Leak(str(name), found))
    return leaks


def by_column(leaks: list[Leak], sources: Mapping[str, str]) -> list[Leak]:
    """One leak for each column of the table, the clearest: several features are made of a date.

    >>> by_column([Leak("paid", 0.9), Leak("paid.hour", 0.95)], {"paid": "paid", "paid.hour": "paid"})
    [Leak(name='paid', aucprc=0.95)]
    """
    best: dict[str, float] = {}
    for leak in leaks:
        name = sources.get(leak.name, leak.name)
        best[name] = max(leak.aucprc, best.get(name, 0.0))
    return [Leak(name, aucprc) for name, aucprc in best.items()]


def _numbers(column: Any) -> NDArray[np.float64]:
    values = column.cat.codes if hasattr(column, "cat") else column
    return np.asarray(values, dtype=np.float64)


def leaks_in(data: TrainingData, model: Any, seed: int, n_others: int = ROWS_SAMPLED) -> list[Leak]:
    """The columns that nearly decide the target among all rare rows to train on and some others."""
    frame, is_rare = data.rare_and_others(model, n_others, seed)
    sources = {column.name: column.source for column in data.facts.schema.columns}
    return by_column(find_leaks(frame, is_rare, seed), sources)


def run(options: Namespace) -> None:
    check_engine_options(options, supported=["group"])
    talk, engine = Talk(options), options.engine
    output = check_output(options.output, [".skops"])
    page = None if options.report is None else check_output(options.report, [".html"])
    callbacks = talk.callbacks() if engine is None else ([] if talk.is_quiet else [RoundLines()])
    request = TrainRequest.of(options, callbacks)
    request.check()
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
        save_model(trained.model, output, metrics=metrics, reference=reference)
    scores = "scores.parquet" if engine is None else "scores --engine ..."
    talk.say(f"\nThe model is in {output}. Score rows: selfpaced predict {output} DATA -o {scores}")
    if page is not None:
        from selfpaced.cli.commands.report import report_of_training

        report_of_training(trained).save(page)
        talk.say(f"The report is in {page}.")
    recipes = [asdict(one) for one in recipes_of(trained.model)]
    written = {"model": str(output), "report": None if page is None else str(page)}
    talk.result({**written, **metrics, "recipes": recipes})


def metrics_of(trained: Trained) -> dict[str, Any]:
    """The quality of the model, for its card and for scripts."""
    found, facts, choice = trained.evaluation, trained.facts, trained.choice
    return {
        **vars(found),
        **({} if choice is None else choice.as_facts()),
        "unmet": trained.unmet,
        "calibration": trained.model.calibration_,
        "chance": found.n_positives / found.n_rows,
        "judged_on": judged_on(trained.request),
        "suspicious": {leak.name: leak.aucprc for leak in trained.leaks},
        "training": training_of(trained.request),
        "seconds": trained.seconds,
        "phases": trained.phases | {"rounds": _seconds_of_rounds(trained.model)},
        "amount": None if trained.unmet else trained.request.amount,
        "dropped": {column.name: column.reason for column in facts.dropped},
        "n_unlabelled": facts.n_unlabelled,
        "not_used": facts.not_used,
        "repeating": {one.name: one.share for one in facts.repeating},
        "warnings": [*facts.warnings, *trained.warnings],
    }


def _seconds_of_rounds(model: Any) -> Mapping[str, float]:
    """The seconds of training by task. For a blend, the seconds of all its recipes are added up."""
    return seconds_by_phase([note for ensemble in ensembles_of(model) for note in ensemble.rounds_])


# The options that a card keeps: `refit` trains with them again, and `suspects` finds the training rows by them.
TRAINING = ("seed", "holdout", "time_column", "delay", "group", "id", "drop_unlabelled")


def training_of(request: TrainRequest) -> dict[str, Any]:
    """How the model was trained, as its card keeps it."""
    kept = {name: getattr(request, name) for name in TRAINING}
    others = {"valid": request.valid, "engine": request.engine}
    return kept | {name: str(value) for name, value in others.items() if value is not None}


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
    facts, found = trained.facts, trained.evaluation
    talk.say(f"{facts.n_rows:,} rows: {_counts(trained)}. {len(facts.schema.columns)} features.")
    if not facts.in_memory:
        why = "" if trained.request.out_of_core else "The table is too large for the memory. "
        talk.say(f"{why}The files were not loaded, but read once for each member.")
    if facts.n_unlabelled:
        talk.say(f"  dropped {facts.n_unlabelled:,} rows without a label")
    for column in facts.dropped:
        talk.say(f"  dropped column {column.name!r}: {column.reason}")
    for reason, n_not_used in facts.not_used.items():
        talk.say(f"  not used: {n_not_used:,} rows, {reason}")
    for warning in (*trained.cautions, *trained.warnings):
        talk.warn(warning)
    if facts.few_cases:
        talk.warn(
            f"the rarest class has only {min(facts.counts.values())} rows, so the figures below are not reliable."
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
    talk.say(meaning(trained))
    if recipes := recipes_of(trained.model):
        talk.say(f"\n{WHAT_THEY_ARE}\n\n{recipe_table(recipes)}")


def meaning(trained: Trained) -> str:
    """What the scores mean."""
    calibration, judged = trained.model.calibration_, trained.evaluation
    if calibration is None:
        few = "" if trained.request.calibration == "none" else "There are too few rare rows for a calibration. "
        return f"{few}Scores only rank rows. They are not probabilities."
    found = f"Scores are calibrated ({calibration}). On the held-out rows they {expected(judged)}."
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
